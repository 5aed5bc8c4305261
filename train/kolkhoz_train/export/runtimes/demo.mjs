// The demo page: draws a view as a table and shows what the bot makes of it.

const { load, viewsOfRecord } = globalThis.kolkhoz;
const data = JSON.parse(document.getElementById("data").textContent);
const bytes = Uint8Array.from(atob(data.weights), (letter) => letter.charCodeAt(0));
const bot = load(data.manifest, bytes);
const NAMES = { W: "Wheat", S: "Sunflower", P: "Potato", B: "Beet" };
const RANKS = { 1: "A", 11: "J", 12: "Q", 13: "K" };
const PHASES = {
  trump: "names the trump crop",
  swap_take: "may take a card of its Plot or Cellar into its hand",
  swap_give: "gives a hand card in exchange",
  play: "plays a card",
  assign: "assigns a Worker to a field",
  requisition: "chooses a card for the North",
  over: "the game is over",
};
let views = data.views;
let shown = 0;

const $ = (id) => document.getElementById(id);

/** An element with classes and children; text goes in as text, never as HTML. */
function el(tag, classes = "", ...children) {
  const made = document.createElement(tag);
  made.className = classes;
  made.append(...children.filter((child) => child !== null));
  return made;
}

function drawn(crop) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const use = document.createElementNS("http://www.w3.org/2000/svg", "use");
  use.setAttribute("href", `#${crop}`);
  svg.append(use);
  return svg;
}

function card(text, classes = "") {
  if (text === null) return el("span", `card back ${classes}`);
  const rank = text.slice(1);
  const made = el("span", `card ${text[0]} ${classes}`, RANKS[rank] ?? rank, drawn(text[0]));
  made.title = text === "X0" ? "Saboteur" : `${NAMES[text[0]]} ${rank}`;
  return made;
}

const byValue = (a, b) => "WSPBX".indexOf(a[0]) - "WSPBX".indexOf(b[0]) || a.slice(1) - b.slice(1);
const row = (label, cards) => el("div", "cards", el("span", "label", label), ...cards);

function drawFields(view) {
  return Object.entries(view.fields).map(([crop, field]) => {
    const bar = el("div", "bar", el("i"));
    bar.firstChild.style.width = `${Math.min(100, (100 * field.hours) / data.manifest.quota)}%`;
    const failed = view.failed.includes(crop) ? " · failed" : "";
    const trump = view.trump === crop ? " · trump" : "";
    const hours = el("span", "note", `${field.hours} of ${data.manifest.quota} hours${failed}`);
    return el(
      "div", `panel ${crop}`,
      el("div", "title", el("span", "", NAMES[crop] + trump), hours), bar,
      row("reward", [field.reward ? card(field.reward, "small") : el("span", "note", field.claimed ? "claimed" : "North")]),
      row("workers", field.cards.sort(byValue).map((text) => card(text, "small"))),
    );
  });
}

function drawTrick(view) {
  const cards = view.trick.map(({ seat, card: text, assigned }) => {
    const classes = assigned ? "done" : text === view.assign_card ? "tied" : "";
    return el("span", "", card(text, classes), el("div", "note", `seat ${seat}`));
  });
  const info = `trick ${view.trick_number} · led by seat ${view.leader}`;
  return el("div", "panel", el("div", "title", "Trick", el("span", "note", info)), el("div", "cards", ...cards));
}

function drawSeat(view, seat, best) {
  const own = seat === view.seat;
  const turn = view.turn.seat === seat;
  const medals = view.medals[seat];
  const notes = [`${medals} ${medals === 1 ? "Medal" : "Medals"}`];
  if (view.planner === seat) notes.push("Planner");
  if (view.inspected.includes(seat)) notes.push("inspected");
  if (view.voids[seat].length) notes.push(`no ${view.voids[seat].join(" ")}`);
  const hidden = view.hand_sizes[seat] - view.known_in_hand[seat].length;
  const hand = own ? [...view.hand].sort(byValue) : [...view.known_in_hand[seat], ...Array(hidden).fill(null)];
  const size = own ? "" : "small";
  const mark = (text) => `${size} ${own && text === best ? "chosen" : ""}`;
  return el(
    "div", `panel ${turn ? "turn" : ""}`,
    el("div", "title", el("span", "", own ? `Seat ${seat} (this seat)` : `Seat ${seat}`), el("span", "note", notes.join(" · "))),
    row("hand", hand.map((text) => card(text, mark(text)))),
    row("Plot", [...view.plots[seat]].sort(byValue).map((text) => card(text, mark(text)))),
    row("Cellar", view.cellars[seat].map((place) => card(place.card, mark(place.card)))),
  );
}

function drawTable(view, best) {
  const seats = view.hand_sizes.map((_, step) => (view.seat + step) % view.hand_sizes.length);
  const north = el(
    "div", "panel", el("div", "title", "North", el("span", "note", `${view.north.length} cards`)),
    el("div", "cards", ...[...view.north].sort(byValue).map((text) => card(text, "small"))),
  );
  $("table").replaceChildren(
    el("div", "row", ...drawFields(view)),
    drawTrick(view),
    el("div", "row", ...seats.map((seat) => drawSeat(view, seat, best))),
    north,
  );
}

function moveText(move) {
  if (move === "pass") return "pass";
  return move.length === 1 ? NAMES[move] : card(move, "small");
}

function drawMoves(answer) {
  const sorted = [...answer.moves].sort((a, b) => b.probability - a.probability);
  const rows = sorted.map(({ move, probability }) => {
    const bar = el("div", "bar", el("i"));
    bar.firstChild.style.width = `${100 * probability}%`;
    const classes = `move ${move === answer.move ? "best" : ""}`;
    return el("div", classes, el("span", "", moveText(move)), bar, el("span", "", `${(100 * probability).toFixed(1)}%`));
  });
  $("moves").replaceChildren(...rows);
  const share = answer.value + 1 / data.manifest.rules.players;
  $("value").textContent = `It values the position at ${answer.value.toFixed(3)}: about ${Math.round(100 * share)}% of a win.`;
}

/** Draw one view, and the bot's answer where it is the seat's turn. */
function draw(view) {
  const turn = view.turn.seat === null ? "" : `Seat ${view.turn.seat} `;
  $("decision").textContent = `Year ${view.year}. ${turn}${PHASES[view.turn.phase]}.`;
  const answer = view.legal.length ? bot.evaluate(view) : null;
  drawTable(view, answer?.move);
  if (answer) drawMoves(answer);
  else {
    $("moves").replaceChildren();
    $("value").textContent = "It is not this seat's turn.";
  }
}

function go(place) {
  shown = Math.max(0, Math.min(views.length - 1, place));
  $("slider").max = views.length - 1;
  $("slider").value = shown;
  $("place").textContent = `decision ${shown + 1} of ${views.length}`;
  draw(views[shown]);
}

/** Views of a pasted text: views or recorded games, one value or one a line. */
function parse(text) {
  const values = text.trim().startsWith("[") ? JSON.parse(text) : parseLines(text);
  return values.flatMap((value) => (value?.format === "kolkhoz-record/1" ? viewsOfRecord(value) : [value]));
}

function parseLines(text) {
  try {
    return [JSON.parse(text)];
  } catch {
    return text.split("\n").filter((line) => line.trim()).map((line) => JSON.parse(line));
  }
}

/** Show a pasted text, or say what is wrong with it and leave all as it was. */
function show(text) {
  const [before, at] = [views, shown];
  try {
    const pasted = parse(text);
    pasted.forEach((view) => bot.observe(view));
    if (!pasted.length) throw new Error("there is nothing in it");
    views = pasted;
    go(0);
    $("problem").textContent = "";
  } catch (error) {
    views = before;
    $("problem").textContent = String(error.message ?? error).slice(0, 300);
    go(at);
  }
}

$("back").onclick = () => go(shown - 1);
$("next").onclick = () => go(shown + 1);
$("slider").oninput = (event) => go(Number(event.target.value));
$("show").onclick = () => show($("text").value);
document.addEventListener("keydown", (event) => {
  if (["TEXTAREA", "INPUT"].includes(event.target.tagName)) return;
  if (event.key === "ArrowLeft") go(shown - 1);
  if (event.key === "ArrowRight") go(shown + 1);
});
const { rules, lab } = data.manifest;
$("about").textContent = `Made by ${lab} for ${rules.players} players. Everything runs in this page; it asks no network.`;
go(Math.min(24, views.length - 1));
Object.assign(globalThis.kolkhoz, { bot, show, go, views: () => views });
