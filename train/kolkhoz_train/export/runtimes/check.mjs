// Replays vectors.jsonl in this JavaScript engine: `node check.mjs [FOLDER]`, in a bundle's folder.
// Prints one JSON line; the exit status is 0 if every observation and every move is the same, and
// log-probabilities and values are within 0.001.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { load } from "./kolkhoz_bot.mjs";

/** How far log-probabilities and values may lie apart. */
const TOLERANCE = 1e-3;

/** How a bot's answers differ from the examples, and the median time of one. */
export function check(bot, examples) {
  const wrong = [];
  let difference = 0;
  const times = [];
  const answers = examples.map(({ view }) => {
    const started = performance.now();
    const answer = bot.evaluate(view);
    times.push(performance.now() - started);
    return answer;
  });
  const milliseconds = times.sort((a, b) => a - b)[Math.floor(times.length / 2)];
  examples.forEach((example, i) => {
    const observation = bot.observe(example.view);
    if (!example.observation.every((value, column) => observation[column] === value)) {
      wrong.push(`example ${i + 1}: the observation differs`);
    }
    if (answers[i].move !== example.move) {
      wrong.push(`example ${i + 1}: ${answers[i].move} instead of ${example.move}`);
    }
    const { move, ...options } = example.sampled;
    if (bot.move(example.view, options) !== move) wrong.push(`example ${i + 1}: another sample`);
    for (const { move: text, logProbability } of answers[i].moves) {
      difference = Math.max(difference, Math.abs(logProbability - example.log_probs[text]));
    }
    difference = Math.max(difference, Math.abs(answers[i].value - example.value));
  });
  return { examples: examples.length, wrong, difference, milliseconds };
}

if (process.argv[1]?.endsWith("check.mjs")) {
  const folder = process.argv[2] ?? ".";
  const bot = load(
    JSON.parse(readFileSync(join(folder, "manifest.json"), "utf8")),
    readFileSync(join(folder, "weights.bin")),
  );
  const lines = readFileSync(join(folder, "vectors.jsonl"), "utf8").split("\n").filter(Boolean);
  const examples = lines.map((line) => JSON.parse(line));
  examples.slice(0, 50).forEach(({ view }) => bot.move(view)); // let the engine warm up
  const result = check(bot, examples);
  console.log(JSON.stringify(result));
  const same = result.difference <= TOLERANCE; // not of a NaN
  process.exitCode = examples.length && same && !result.wrong.length ? 0 : 1;
}
