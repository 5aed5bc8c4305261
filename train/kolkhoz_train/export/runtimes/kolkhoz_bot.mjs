// A Kolkhoz bot in plain JavaScript: from a seat's view to a move. No dependencies.
//
//     import { load } from "./kolkhoz_bot.mjs";
//     const bot = load(manifest, weights);      // parsed manifest.json; bytes of weights.bin
//     bot.move(view);                           // "W5": the best move
//     bot.move(view, { temperature: 1, seed: 7 });   // a sample of its policy
//     bot.evaluate(view);                       // { move, moves: [{move, probability, ..}], value }
//
// A view is described in FRONT-ENDS.md. Everything about the observation (which block stands where,
// how it is scaled, how the crops are sorted) is read from the manifest.

export const FORMAT = "kolkhoz-bundle/1";
export const VIEW_FORMAT = "kolkhoz-view/1";

const CROPS = "WSPB";
const SABOTEUR = 52;

/** What is wrong with a bundle or a view, in one line that names the file or field. */
export class KolkhozBotError extends Error {
  constructor(message) {
    super(message);
    this.name = "KolkhozBotError";
  }
}

function refuse(field, what) {
  throw new KolkhozBotError(`${field}: ${what}`);
}

// Cards -----------------------------------------------------------------------------------------

/** Number of a card's text: W1 .. W13, S, P, B, then the Saboteur X0; 0 .. 52. */
export function cardNumber(text, field = "card") {
  const number = CARD_NUMBERS.get(text);
  if (number === undefined) refuse(field, `${JSON.stringify(text)} is not a card (W1 .. B13 or X0)`);
  return number;
}

const CARD_NUMBERS = new Map();
for (let crop = 0; crop < 4; crop++) {
  for (let rank = 1; rank <= 13; rank++) CARD_NUMBERS.set(CROPS[crop] + rank, 13 * crop + rank - 1);
}
CARD_NUMBERS.set("X0", SABOTEUR);

const cropOf = (card) => (card === SABOTEUR ? 4 : Math.floor(card / 13));
const rankOf = (card) => (card === SABOTEUR ? 0 : (card % 13) + 1);

/** Strength of a card in a trick: the highest wins; trumps 21 .. 33, the Saboteur 20, led 1 .. 13. */
function strength(card, trump, led) {
  if (card === SABOTEUR) return 20;
  if (cropOf(card) === trump) return 20 + rankOf(card);
  return cropOf(card) === led ? rankOf(card) : 0;
}

// A view, with its fields checked as far as the observation needs them --------------------------

function list(value, field, length) {
  if (!Array.isArray(value)) refuse(field, "is missing or not a list");
  if (length !== undefined && value.length !== length) {
    refuse(field, `${value.length} entries instead of ${length}`);
  }
  return value;
}

function object(value, field) {
  if (value === null || typeof value !== "object" || Array.isArray(value)) {
    refuse(field, "is missing or not an object");
  }
  return value;
}

function whole(value, field, low, high) {
  if (!Number.isInteger(value) || value < low || value > high) {
    refuse(field, `${JSON.stringify(value)} is not a whole number from ${low} to ${high}`);
  }
  return value;
}

const cards = (value, field) => list(value, field).map((text) => cardNumber(text, field));
const cardOrNull = (value, field) => (value === null ? null : cardNumber(value, field));

function crop(value, field) {
  const number = typeof value === "string" && value.length === 1 ? CROPS.indexOf(value) : -1;
  if (number < 0) refuse(field, `${JSON.stringify(value)} is not one of W S P B`);
  return number;
}

const crops = (value, field) => list(value, field).map((text) => crop(text, field));

/** The view in numbers, seats counted clockwise from the seat that knows. */
function readView(view, manifest) {
  object(view, "view");
  if (view.format !== VIEW_FORMAT) refuse("format", `must be ${JSON.stringify(VIEW_FORMAT)}`);
  checkRules(object(view.rules, "rules"), manifest.rules);
  const players = manifest.rules.players;
  const seat = whole(view.seat, "seat", 0, players - 1);
  const relative = (other, field) => (whole(other, field, 0, players - 1) - seat + players) % players;
  const bySeat = (name, read) => {
    const entries = list(view[name], name, players);
    return entries.map((_, step) => {
      const at = (seat + step) % players;
      return read(entries[at], `${name}[${at}]`);
    });
  };
  const turn = object(view.turn, "turn");
  const phase = [...manifest.phases, "over"].indexOf(turn.phase);
  if (phase < 0) refuse("turn.phase", `${JSON.stringify(turn.phase)} is no phase`);
  const over = turn.phase === "over";
  const finished = over || turn.phase === "requisition";
  const count = (value, field) => whole(value, field, 0, 255);
  const game = {
    phase,
    over,
    year: whole(view.year, "year", 1, 5),
    toAct: over ? null : relative(turn.seat, "turn.seat"),
    planner: relative(view.planner, "planner"),
    leader: relative(view.leader, "leader"),
    trump: view.trump === null ? 4 : crop(view.trump, "trump"),
    tricksDone: whole(view.trick_number, "trick_number", 1, 4) - (finished ? 0 : 1),
    hand: cards(view.hand, "hand"),
    handSizes: bySeat("hand_sizes", count),
    knownInHand: bySeat("known_in_hand", cards),
    voids: bySeat("voids", crops),
    plots: bySeat("plots", cards),
    cellars: bySeat("cellars", (places, field) => readCellar(places, field, manifest.crops)),
    fields: readFields(object(view.fields, "fields"), manifest.crops),
    trick: list(view.trick, "trick").map((played, i) => ({
      seat: relative(object(played, `trick[${i}]`).seat, `trick[${i}].seat`),
      card: cardNumber(played.card, `trick[${i}].card`),
      assigned: played.assigned === true,
    })),
    assignCard: cardOrNull(view.assign_card, "assign_card"),
    swaps: bySeat("swaps", readSwap),
    taken: cardOrNull(view.taken, "taken"),
    medals: bySeat("medals", count),
    north: cards(view.north, "north"),
    revealed: manifest.crops.map((name) =>
      cards(object(view.rewards_revealed, "rewards_revealed")[name], `rewards_revealed.${name}`),
    ),
    lastSeen: Object.entries(object(view.last_seen, "last_seen")).map(([name, year]) => [
      cardNumber(name, "last_seen"),
      whole(year, `last_seen.${name}`, 1, 5),
    ]),
    failed: crops(view.failed, "failed"),
    inspected: list(view.inspected, "inspected").map((other) => relative(other, "inspected")),
    toSend: whole(view.to_send, "to_send", 0, 4),
  };
  game.cellars[0].forEach((place, i) => {
    if (place.card === null) refuse(`cellars[${seat}][${i}].card`, "is the seat's own and must be named");
  });
  return game;
}

const PRINTED_RULES = {
  players: 4, quota: null, hero_of_labor: true, years: 5, famine_year: 5, swaps: true,
  saboteur: true, crops: 4, ranks: 13, tricks: 4, low_rewards: 4,
};
const PRINTED_QUOTAS = { 2: 24, 3: 32, 4: 40 };

/**
 * A bot knows its own rules alone. Who plans first and forced moves make no difference to it.
 * A rule that is left out is that of the printed game.
 */
function checkRules(rules, own) {
  for (const [key, value] of Object.entries(own)) {
    if (key === "first_planner" || key === "auto_forced") continue;
    const meant = (rule) => (key === "quota" ? (rule ?? PRINTED_QUOTAS[own.players]) : rule);
    const given = meant(rules[key] === undefined ? PRINTED_RULES[key] : rules[key]);
    if (given !== meant(value)) {
      refuse(`rules.${key}`, `${JSON.stringify(given)}, but the bot plays with ${JSON.stringify(meant(value))}`);
    }
  }
}

function readCellar(places, field, names) {
  return list(places, field).map((place, i) => {
    const at = `${field}[${i}]`;
    const highest = object(object(place, at).highest, `${at}.highest`);
    return {
      banked: whole(place.banked, `${at}.banked`, 1, 5),
      since: whole(place.since, `${at}.since`, 1, 5),
      card: cardOrNull(place.card, `${at}.card`),
      public: place.public === true,
      highest: [...CROPS].map((name) =>
        names.includes(name) ? whole(highest[name], `${at}.highest.${name}`, 0, 13) : 13,
      ),
      saboteur: place.saboteur === true,
    };
  });
}

function readFields(fields, names) {
  return [...CROPS].map((name) => {
    if (!names.includes(name)) return { hours: 0, reward: null, claimed: false, cards: [] };
    const field = object(fields[name], `fields.${name}`);
    return {
      hours: whole(field.hours, `fields.${name}.hours`, 0, 400),
      reward: cardOrNull(field.reward, `fields.${name}.reward`),
      claimed: field.claimed === true,
      cards: cards(field.cards, `fields.${name}.cards`),
    };
  });
}

/** 0 none yet, 1 declined, 2 .. 6 Cellar place, 7 Plot. */
function readSwap(swap, field) {
  if (swap === null) return 0;
  if (swap === "pass") return 1;
  if (object(swap, field).zone === "plot") return 7;
  if (swap.zone !== "cellar") refuse(`${field}.zone`, 'is neither "plot" nor "cellar"');
  return 1 + whole(swap.banked, `${field}.banked`, 1, 5);
}

// The observation, block by block ---------------------------------------------------------------

/** Writes a card's code: four crop flags, Saboteur, rank, "a card is here", "face unknown". */
function writeCode(out, at, card) {
  if (card === undefined) return;
  out[at + 6] = 1;
  if (card === null) {
    out[at + 7] = 1;
    return;
  }
  out[at + cropOf(card)] = 1;
  out[at + 5] = rankOf(card);
}

const flags = (out, at, numbers) => numbers.forEach((number) => (out[at + number] = 1));

function unseen(game, manifest) {
  const located = new Set([...game.hand, ...game.north, ...game.plots.flat()]);
  const add = (card) => card !== null && located.add(card);
  game.knownInHand.flat().forEach(add);
  game.cellars.flat().forEach((place) => add(place.card));
  game.fields.forEach((field) => [...field.cards, field.reward].forEach(add));
  game.trick.forEach((played) => add(played.card));
  return manifest.deck.map((name) => cardNumber(name)).filter((card) => !located.has(card));
}

function winner(game) {
  const led = cropOf(game.trick[0].card);
  const strengths = game.trick.map((played) => strength(played.card, game.trump, led));
  return game.trick[strengths.indexOf(Math.max(...strengths))].seat;
}

/** How each block of the observation is written: (out, offset, game, manifest). */
const WRITERS = {
  hand: (out, at, game) => flags(out, at, game.hand),
  cellar: (out, at, game) => flags(out, at, game.cellars[0].map((place) => place.card)),
  plots: (out, at, game) => game.plots.forEach((plot, s) => flags(out, at + 53 * s, plot)),
  north: (out, at, game) => flags(out, at, game.north),
  unseen: (out, at, game, manifest) => flags(out, at, unseen(game, manifest)),
  fields: (out, at, game) => game.fields.forEach((f, c) => flags(out, at + 53 * c, f.cards)),
  last_seen: (out, at, game) => game.lastSeen.forEach(([card, year]) => (out[at + card] = year)),
  cellar_cards: (out, at, game) =>
    game.cellars.forEach((places, s) =>
      places.forEach((place) => writeCode(out, at + 8 * (5 * s + place.banked - 1), place.card)),
    ),
  cellar_places: (out, at, game) =>
    game.cellars.forEach((places, s) =>
      places.forEach((place) => {
        const facts = [place.since, place.public, place.since > place.banked];
        out.set([...facts, ...place.highest, place.saboteur], at + 8 * (5 * s + place.banked - 1));
      }),
    ),
  trick: (out, at, game) => game.trick.forEach((p) => writeCode(out, at + 8 * p.seat, p.card)),
  known_in_hand: (out, at, game) =>
    game.knownInHand.forEach((known, s) => writeCode(out, at + 8 * s, known[0])),
  swaps: (out, at, game) => game.swaps.forEach((swap, s) => (out[at + 8 * s + swap] = 1)),
  assign_card: (out, at, game) => game.assignCard !== null && writeCode(out, at, game.assignCard),
  taken: (out, at, game) => game.taken !== null && writeCode(out, at, game.taken),
  hours: (out, at, game) => game.fields.forEach((f, c) => (out[at + c] = Math.min(f.hours, 255))),
  short: (out, at, game, manifest) =>
    game.fields.forEach((f, c) => {
      out[at + c] = Math.max(Math.min(manifest.quota, 255) - f.hours, 0);
    }),
  claimed: (out, at, game) => game.fields.forEach((f, c) => (out[at + c] = f.claimed)),
  sabotaged: (out, at, game) =>
    game.fields.forEach((f, c) => (out[at + c] = f.cards.includes(SABOTEUR))),
  failed: (out, at, game) => flags(out, at, game.failed),
  led: (out, at, game) => {
    if (game.trick.length && game.trick[0].card !== SABOTEUR) {
      out[at + cropOf(game.trick[0].card)] = 1;
    }
  },
  trick_crops: (out, at, game) =>
    game.trick.forEach(({ card }) => flags(out, at, card === SABOTEUR ? [0, 1, 2, 3] : [cropOf(card)])),
  revealed: (out, at, game) =>
    game.revealed.forEach((pile, c) => pile.forEach((card, y) => (out[at + 5 * c + y] = rankOf(card)))),
  voids: (out, at, game) => game.voids.forEach((shown, s) => flags(out, at + 4 * s, shown)),
  hand_sizes: (out, at, game) => out.set(game.handSizes, at),
  medals: (out, at, game) => out.set(game.medals, at),
  assigned: (out, at, game) => game.trick.forEach((p) => (out[at + p.seat] = p.assigned)),
  inspected: (out, at, game) => flags(out, at, game.inspected),
  winning: (out, at, game) => game.trick.length && (out[at + winner(game)] = 1),
  planner: (out, at, game) => (out[at + game.planner] = 1),
  leader: (out, at, game) => (out[at + game.leader] = 1),
  to_act: (out, at, game) => !game.over && (out[at + game.toAct] = 1),
  trump: (out, at, game) => {
    if (game.phase !== 0 && !game.over) out[at + game.trump] = 1;
  },
  year: (out, at, game) => (out[at + game.year - 1] = 1),
  phase: (out, at, game) => !game.over && (out[at + game.phase] = 1),
  trick_number: (out, at, game) => (out[at + Math.min(game.tricksDone, 3)] = 1),
  to_send: (out, at, game) => game.toSend && (out[at + game.toSend - 1] = 1),
};

/** The observation of a view as the network was trained on it, Uint8Array of manifest.observation.size. */
export function observe(view, manifest) {
  const game = readView(view, manifest);
  const out = new Uint8Array(manifest.observation.size);
  for (const block of manifest.observation.blocks) {
    WRITERS[block.name](out, block.offset, game, manifest);
  }
  return out;
}

// Loading ---------------------------------------------------------------------------------------

function checkManifest(manifest) {
  object(manifest, "manifest.json");
  if (manifest.format !== FORMAT) refuse("manifest.json: format", `must be ${JSON.stringify(FORMAT)}`);
  let offset = 0;
  for (const block of list(manifest.observation?.blocks, "manifest.json: observation.blocks")) {
    if (!Object.hasOwn(WRITERS, block.name)) {
      refuse("manifest.json: observation.blocks", `this runtime does not know block ${block.name}`);
    }
    const length = block.shape.reduce((a, b) => a * b, 1);
    if (block.offset !== offset || block.length !== length) {
      refuse(`manifest.json: observation.blocks.${block.name}`, "offset or length is wrong");
    }
    offset += length;
  }
  if (offset !== manifest.observation.size || offset > 100000) {
    refuse("manifest.json: observation.size", `${manifest.observation.size}, but its blocks make ${offset}`);
  }
  const { kind, activation, trunk, heads } = object(manifest.network, "manifest.json: network");
  const known = { mlp: kind, "relu silu": activation, "shared separate": trunk, "shared phase": heads };
  for (const [allowed, value] of Object.entries(known)) {
    if (!allowed.split(" ").includes(value)) refuse("manifest.json: network", `${value} is not known here`);
  }
}

/** Whatever is used as a size or an index is within its bounds. */
function checkNumbers({ rules, network, symmetry, observation, crops, actions }) {
  const where = "manifest.json";
  whole(object(rules, `${where}: rules`).players, `${where}: rules.players`, 2, 4);
  for (const size of list(network.hidden, `${where}: network.hidden`)) {
    whole(size, `${where}: network.hidden`, 1, 8192);
  }
  checkSymmetry(symmetry, observation, list(crops, `${where}: crops`).length, actions.length);
}

/** Keys of columns that exist; places along axes and among the actions, the same by crop. */
function checkSymmetry(symmetry, observation, crops, actions) {
  const where = "manifest.json: symmetry";
  const { key_columns: columns, key_weights: weights, axes } = object(symmetry, where);
  for (const weight of list(weights, `${where}.key_weights`)) whole(weight, `${where}.key_weights`, 0, 2 ** 24);
  for (const entries of list(columns, `${where}.key_columns`, crops)) {
    for (const column of list(entries, `${where}.key_columns`, weights.length)) {
      whole(column, `${where}.key_columns`, 0, observation.size - 1);
    }
  }
  const lengths = new Map();
  for (const { axes: names, shape } of observation.blocks) names.forEach((name, i) => lengths.set(name, shape[i]));
  const lists = [["actions", symmetry.actions, actions]];
  for (const [name, parts] of Object.entries(object(axes, `${where}.axes`))) {
    lists.push([`axes.${name.slice(0, 60)}`, parts, lengths.get(name) ?? 0]);
  }
  for (const [name, parts, length] of lists) {
    const field = `${where}.${name}`;
    const seen = list(parts, field, crops).flatMap((part) => list(part, field, list(parts[0], field).length));
    for (const entry of seen) whole(entry, field, 0, length - 1);
    if (new Set(seen).size !== seen.length) refuse(field, "holds an entry twice");
  }
}

/** Entry of the plain order that comes to each place, with crop order[i] at place i. */
function put(length, parts, order) {
  const index = [...Array(length).keys()];
  order.forEach((crop, place) => parts[place].forEach((to, t) => (index[to] = parts[crop][t])));
  return index;
}

/** Plain column of each one of the network's order, the crops being in `order`. */
function columnsInOrder({ observation, symmetry }, order) {
  return observation.blocks.flatMap((block) => {
    let run = [0];
    block.shape.forEach((length, axis) => {
      const parts = Object.hasOwn(symmetry.axes, block.axes[axis]) ? symmetry.axes[block.axes[axis]] : null;
      const along = put(length, parts, parts ? order : []);
      run = run.flatMap((start) => along.map((i) => start * length + i));
    });
    return run.map((i) => block.offset + i);
  });
}

function halfToFloat(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  return exponent === 31 ? NaN : sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

function readTensors(manifest, bytes) {
  const { storage, tensors } = manifest.weights;
  const width = { float16: 2, float32: 4 }[storage];
  if (!width) refuse("manifest.json: weights.storage", `${storage} is not known here`);
  const data = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const found = {};
  let offset = 0;
  for (const { name, shape } of list(tensors, "manifest.json: weights.tensors")) {
    const size = shape.reduce((a, b) => a * b, 1);
    if (offset + size * width > bytes.byteLength) refuse("weights.bin", `ends before ${name} does`);
    const values = new Float32Array(size);
    for (let i = 0; i < size; i++) {
      const at = offset + i * width;
      values[i] = width === 2 ? halfToFloat(data.getUint16(at, true)) : data.getFloat32(at, true);
      if (!Number.isFinite(values[i])) refuse("weights.bin", `${name} holds what is no finite number`);
    }
    found[name] = { shape, values };
    offset += size * width;
  }
  if (offset !== bytes.byteLength) refuse("weights.bin", `${bytes.byteLength - offset} bytes too many`);
  return found;
}

/** A layer with its weights by input, so that inputs that are zero cost nothing. */
function makeLayer(tensors, name, inputs) {
  const weight = tensors[`${name}.weight`];
  const bias = tensors[`${name}.bias`];
  if (!weight || !bias) refuse("manifest.json: weights.tensors", `${name} is missing`);
  const [outputs, width] = weight.shape;
  if (width !== inputs || bias.shape[0] !== outputs) {
    refuse("manifest.json: weights.tensors", `${name} does not fit the layer before it`);
  }
  const byInput = new Float32Array(weight.values.length);
  for (let o = 0; o < outputs; o++) {
    for (let i = 0; i < inputs; i++) byInput[i * outputs + o] = weight.values[o * inputs + i];
  }
  return { outputs, byInput, bias: bias.values };
}

function addInput(layer, sum, input, value) {
  const { outputs, byInput } = layer;
  const start = input * outputs;
  for (let o = 0; o < outputs; o++) sum[o] += value * byInput[start + o];
}

function runLayer(layer, inputs) {
  const sum = Float64Array.from(layer.bias);
  for (let i = 0; i < inputs.length; i++) {
    if (inputs[i] !== 0) addInput(layer, sum, i, inputs[i]);
  }
  return sum;
}

const ACTIVATIONS = { relu: (x) => (x > 0 ? x : 0), silu: (x) => x / (1 + Math.exp(-x)) };

// Playing ---------------------------------------------------------------------------------------

/** A number in (0, 1) for a seed of 0 .. 4294967295: the 32-bit finaliser of MurmurHash3. */
export function uniform(seed) {
  let h = (seed + 0x9e3779b9) >>> 0;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (((h ^ (h >>> 16)) >>> 0) + 0.5) / 2 ** 32;
}

class Bot {
  constructor(manifest, weights) {
    checkManifest(manifest);
    checkNumbers(manifest);
    this.manifest = manifest;
    const tensors = readTensors(manifest, weights);
    const { hidden, trunk, heads } = manifest.network;
    const seen = manifest.network.inputs;
    this.seen = manifest.observation.blocks
      .filter((block) => seen === null || seen.includes(block.name))
      .flatMap((block) => [...Array(block.length).keys()].map((i) => block.offset + i));
    this.orders = new Map();
    this.scale = manifest.observation.blocks.flatMap(({ scale, length }) => {
      const one = Array.isArray(scale) ? scale : [scale];
      return [...Array(length).keys()].map((i) => one[i % one.length]);
    });
    const width = this.seen.length;
    const stack = (name) => hidden.map((_, i) => makeLayer(tensors, `${name}.${i}`, i ? hidden[i - 1] : width));
    this.trunk = stack("trunk");
    this.valueTrunk = trunk === "separate" ? stack("value_trunk") : null;
    this.policy = makeLayer(tensors, "policy", hidden.at(-1));
    this.value = makeLayer(tensors, "value", hidden.at(-1));
    this.byPhase = heads === "phase";
    const outputs = manifest.actions.length * (this.byPhase ? manifest.phases.length : 1);
    if (this.policy.outputs !== outputs || this.value.outputs !== 1) {
      refuse("manifest.json: weights.tensors", "policy or value has the wrong size");
    }
  }

  /** The observation of a view, Uint8Array. */
  observe(view) {
    return observe(view, this.manifest);
  }

  /** Unmasked logits by action number and the value, from an observation. */
  run(observation) {
    const { inputs, actions } = this.#order(observation);
    const hidden = this.#hidden(this.trunk, observation, inputs);
    const all = runLayer(this.policy, hidden);
    const count = this.manifest.actions.length;
    const first = this.byPhase ? count * this.#phase(observation) : 0;
    const logits = new Float64Array(count);
    for (let j = 0; j < count; j++) logits[actions[j]] = all[first + j];
    const last = this.valueTrunk ? this.#hidden(this.valueTrunk, observation, inputs) : hidden;
    return { logits, value: runLayer(this.value, last)[0] };
  }

  #phase(observation) {
    const block = this.manifest.observation.blocks.find(({ name }) => name === "phase");
    return Math.max(observation.subarray(block.offset, block.offset + block.length).indexOf(1), 0);
  }

  /** With the crops sorted: the input of each plain column (-1 not seen), the action of each output. */
  #order(observation) {
    const { key_columns: columns, key_weights: weights, actions } = this.manifest.symmetry;
    const keys = columns.map((entries) => weights.reduce((sum, weight, j) => sum + weight * observation[entries[j]], 0));
    const order = [...keys.keys()].sort((a, b) => keys[b] - keys[a] || a - b);
    const name = order.join();
    if (!this.orders.has(name)) {
      const index = columnsInOrder(this.manifest, order);
      const inputs = new Int32Array(index.length).fill(-1);
      this.seen.forEach((column, input) => (inputs[index[column]] = input));
      this.orders.set(name, { inputs, actions: put(this.manifest.actions.length, actions, order) });
    }
    return this.orders.get(name);
  }

  #hidden(layers, observation, inputs) {
    const act = ACTIVATIONS[this.manifest.network.activation];
    let sum = Float64Array.from(layers[0].bias);
    for (let column = 0; column < observation.length; column++) {
      const value = observation[column];
      if (value && inputs[column] >= 0) addInput(layers[0], sum, inputs[column], value * this.scale[column]);
    }
    sum = sum.map(act);
    for (const layer of layers.slice(1)) sum = runLayer(layer, sum).map(act);
    return sum;
  }

  /** The bot's move, the log-probability and probability of every legal move, and the value. */
  evaluate(view, options = {}) {
    const observation = this.observe(view);
    const legal = list(view.legal, "legal")
      .map((text) => this.manifest.actions.indexOf(text))
      .sort((a, b) => a - b);
    if (!legal.length) refuse("legal", "is empty: it is not this seat's turn");
    if (legal[0] < 0) refuse("legal", "holds what is no move");
    const { logits, value } = this.run(observation);
    const highest = Math.max(...legal.map((action) => logits[action]));
    const total = legal.reduce((sum, action) => sum + Math.exp(logits[action] - highest), 0);
    const moves = legal.map((action) => {
      const logProbability = logits[action] - highest - Math.log(total);
      const probability = Math.exp(logProbability);
      return { move: this.manifest.actions[action], probability, logProbability };
    });
    const weights = moves.map(({ logProbability }) => logProbability);
    return { move: moves[pick(weights, options)].move, moves, value };
  }

  /** The bot's move: the best one, or a sample of its policy at a temperature. */
  move(view, options = {}) {
    return this.evaluate(view, options).move;
  }
}

/** Index of the highest entry (the first of equals), or of a sample at a temperature. */
function pick(logProbabilities, { temperature = 0, seed = 0 }) {
  if (!(temperature >= 0)) refuse("temperature", "must be 0 or more");
  whole(seed, "seed", 0, 2 ** 32 - 1);
  const highest = Math.max(...logProbabilities);
  if (temperature === 0) return logProbabilities.indexOf(highest);
  const weights = logProbabilities.map((entry) => Math.exp((entry - highest) / temperature));
  let left = uniform(seed) * weights.reduce((a, b) => a + b, 0);
  for (let i = 0; i < weights.length; i++) {
    left -= weights[i];
    if (left < 0) return i;
  }
  return weights.length - 1;
}

/**
 * A bot from the parsed manifest.json and the bytes of weights.bin (ArrayBuffer or Uint8Array).
 * Throws KolkhozBotError, whose message names what is wrong.
 */
export function load(manifest, weights) {
  const bytes = weights instanceof ArrayBuffer ? new Uint8Array(weights) : weights;
  if (!ArrayBuffer.isView(bytes)) refuse("weights.bin", "must be an ArrayBuffer or Uint8Array");
  try {
    return new Bot(manifest, new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  } catch (error) {
    if (error instanceof KolkhozBotError) throw error;
    return refuse("manifest.json", `damaged (${error.message})`);
  }
}
