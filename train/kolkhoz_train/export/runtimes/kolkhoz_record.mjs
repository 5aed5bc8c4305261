// A recorded game in plain JavaScript: from kolkhoz-record/1 to the view of the seat to act before
// every move. No dependencies.
//
//     import { nextView, viewsOfRecord } from "./kolkhoz_record.mjs";
//     viewsOfRecord(record);          // one view a move, in order; the record may end anywhere
//     nextView(record);               // the view for the move to come; null where a year has ended
//
// A front end that deals the cards itself needs no bookkeeping of what a seat may know: it keeps
// the record of the game so far (hands, reward piles, moves) and asks for the next view. The rules
// are here only as far as views need them; moves are taken to be legal.

const CROPS = "WSPB";
const SEATS_QUOTA = { 2: 24, 3: 32, 4: 40 };
const DEFAULTS = {
  players: 4, quota: null, hero_of_labor: true, first_planner: null, years: 5, famine_year: 5,
  swaps: true, saboteur: true, auto_forced: false, crops: 4, ranks: 13, tricks: 4, low_rewards: 4,
};

const rank = (card) => Number(card.slice(1));
const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);
const sorted = (cards) => [...cards].sort();
const without = (cards, card) => cards.filter((other) => other !== card);

/** One game in progress: what lies where, and what each seat may know of it. */
class Table {
  constructor(record) {
    this.record = record;
    this.rules = { ...DEFAULTS, ...record.rules };
    this.seats = [...Array(this.rules.players).keys()];
    this.crops = [...CROPS].slice(0, this.rules.crops);
    this.quota = this.rules.quota ?? SEATS_QUOTA[this.rules.players];
    this.planner = record.first_planner;
    this.year = 0;
    this.plots = this.seats.map(() => []);
    this.cellars = this.seats.map(() => []);
    this.north = [];
    this.seen = this.seats.map(() => ({}));
    this.revealed = Object.fromEntries(this.crops.map((crop) => [crop, []]));
  }

  beginYear({ hands, famine_card: famine }) {
    this.year += 1;
    if (this.year > 1) this.planner = this.after(this.planner);
    this.famine = this.year === this.rules.famine_year;
    this.tricks = this.rules.tricks - (this.famine ? 1 : 0);
    this.hands = hands.map((hand) => [...hand]);
    this.known = this.seats.map(() => []);
    this.voids = this.seats.map(() => []);
    this.swaps = this.seats.map(() => null);
    this.medals = this.seats.map(() => 0);
    this.taken = null;
    this.trick = [];
    this.done = 0;
    this.assigned = 0;
    this.failed = [];
    this.inspected = [];
    this.toSend = 0;
    this.trump = null;
    this.leader = this.after(this.planner);
    this.fields = Object.fromEntries(
      this.crops.map((crop) => {
        const reward = this.record.reward_piles[crop][this.year - 1];
        this.revealed[crop].push(reward);
        return [crop, { hours: 0, reward, claimed: false, cards: [] }];
      }),
    );
    if (this.famine && famine) {
      this.north.push(famine);
      this.trump = famine === "X0" ? null : famine[0];
    }
    const open = this.cellars.flat().filter((place) => place.public).map((place) => place.card);
    const rewards = this.crops.map((crop) => this.fields[crop].reward);
    this.show([...rewards, ...this.north, ...this.plots.flat(), ...open]);
    this.seats.forEach((seat) => this.hands[seat].forEach((card) => (this.seen[seat][card] = this.year)));
    this.cursor = 0;
    if (this.famine) this.nextSwap();
    else this.turn = { seat: this.planner, phase: "trump" };
  }

  after(seat) {
    return (seat + 1) % this.rules.players;
  }

  /** The cards' places are known to everybody this year. */
  show(cards) {
    this.seen.forEach((seen) => cards.forEach((card) => (seen[card] = this.year)));
  }

  apply(move) {
    const { seat, phase } = this.turn;
    if (phase === "trump") {
      this.trump = move;
      this.nextSwap();
    } else if (phase === "swap_take") this.take(seat, move);
    else if (phase === "swap_give") this.give(seat, move);
    else if (phase === "play") this.play(seat, move);
    else if (phase === "assign") this.assign(seat, move);
    else this.send(seat, move);
  }

  // Swaps

  nextSwap() {
    const swapping = this.rules.swaps && this.year > 1;
    for (; swapping && this.cursor < this.rules.players; this.cursor++) {
      const seat = (this.planner + 1 + this.cursor) % this.rules.players;
      if (this.plots[seat].length || this.cellars[seat].length) {
        this.turn = { seat, phase: "swap_take" };
        return;
      }
    }
    this.turn = { seat: this.leader, phase: "play" };
  }

  take(seat, move) {
    if (move === "pass") {
      this.swaps[seat] = "pass";
      this.cursor += 1;
      this.nextSwap();
      return;
    }
    const place = this.cellars[seat].find(({ card }) => card === move);
    this.taken = move;
    this.swaps[seat] = place ? { zone: "cellar", banked: place.banked } : { zone: "plot" };
    this.turn = { seat, phase: "swap_give" };
  }

  give(seat, card) {
    const place = this.cellars[seat].find((other) => other.card === this.taken);
    this.hands[seat] = [...without(this.hands[seat], card), this.taken];
    if (!place || place.public) this.known[seat] = [this.taken];
    if (place) {
      const highest = Object.fromEntries(this.crops.map((crop) => [crop, 13]));
      Object.assign(place, { card, since: this.year, public: false, highest, saboteur: true });
    } else {
      this.plots[seat] = [...without(this.plots[seat], this.taken), card];
      this.show([card]);
    }
    this.taken = null;
    this.cursor += 1;
    this.nextSwap();
  }

  // Tricks

  get led() {
    return this.trick.length && this.trick[0].card !== "X0" ? this.trick[0].card[0] : null;
  }

  play(seat, card) {
    const led = this.led;
    if (led && card[0] !== led && card !== "X0" && !this.voids[seat].includes(led)) {
      this.voids[seat].push(led);
    }
    this.hands[seat] = without(this.hands[seat], card);
    this.known[seat] = without(this.known[seat], card);
    this.trick.push({ seat, card, assigned: false });
    this.show([card]);
    this.turn = { seat: this.after(seat), phase: "play" };
    if (this.trick.length === this.rules.players) {
      const brigadier = this.winner();
      this.medals[brigadier] += 1;
      this.turn = { seat: brigadier, phase: "assign" };
    }
  }

  winner() {
    const strength = ({ card }) => {
      if (card === "X0") return 20;
      if (card[0] === this.trump) return 20 + rank(card);
      return card[0] === this.led ? rank(card) : 0;
    };
    return this.trick.reduce((best, played) => (strength(played) > strength(best) ? played : best)).seat;
  }

  assign(seat, crop) {
    const played = this.trick[this.assigned];
    const field = this.fields[crop];
    played.assigned = true;
    this.assigned += 1;
    field.cards.push(played.card);
    field.hours += rank(played.card);
    if (field.hours >= this.quota && !field.claimed) {
      field.claimed = true;
      this.plots[seat].push(field.reward);
      field.reward = null;
    }
    if (this.assigned < this.rules.players) return;
    this.leader = seat;
    this.trick = [];
    this.assigned = 0;
    this.done += 1;
    this.turn = { seat, phase: "play" };
    if (this.done === this.tricks) this.bank();
  }

  // The end of the year

  bank() {
    this.seats.forEach((seat) => {
      const [card] = this.hands[seat];
      const voids = this.voids[seat];
      const highest = Object.fromEntries(this.crops.map((crop) => [crop, voids.includes(crop) ? 0 : 13]));
      const isKnown = this.known[seat].length > 0;
      const place = { banked: this.year, since: this.year, card, public: isKnown, highest };
      this.cellars[seat].push({ ...place, saboteur: voids.length === 0 });
      this.hands[seat] = [];
      this.known[seat] = [];
    });
    this.failed = this.crops.filter((crop) => {
      const { hours, cards } = this.fields[crop];
      return hours < this.quota || cards.includes("X0");
    });
    const hero = this.rules.hero_of_labor ? this.medals.indexOf(this.tricks) : -1;
    this.inspected = this.seats.filter((seat) => (hero < 0 ? this.medals[seat] > 0 : seat !== hero));
    this.cursor = 0;
    this.requisition();
  }

  holdings(seat) {
    return [...this.plots[seat], ...this.cellars[seat].map(({ card }) => card)];
  }

  requisition() {
    for (; this.cursor < this.rules.players; this.cursor++) {
      const seat = (this.planner + 1 + this.cursor) % this.rules.players;
      if (this.failed.length && this.inspected.includes(seat) && this.inspect(seat)) return;
    }
    this.cleanUp();
  }

  /** Send what is certain; true if the owner has a choice left. */
  inspect(seat) {
    const count = this.failed.length;
    const pool = this.holdings(seat)
      .filter((card) => card === "X0" || this.failed.includes(card[0]))
      .sort((a, b) => rank(b) - rank(a));
    const cut = pool.length > count ? rank(pool[count]) : -1;
    const sure = pool.slice(0, count).filter((card) => rank(card) > cut);
    const tied = sure.length < count ? pool.filter((card) => rank(card) === cut) : [];
    this.sendNorth(seat, sure);
    const lowest = pool.length < count ? 0 : Math.min(14, ...sure.map(rank));
    this.conclude(seat, lowest - 1);
    if (!tied.length) return false;
    this.tied = tied;
    this.toSend = count - sure.length;
    this.turn = { seat, phase: "requisition" };
    return true;
  }

  send(seat, card) {
    this.sendNorth(seat, [card]);
    this.conclude(seat, rank(card));
    this.tied = without(this.tied, card);
    this.toSend -= 1;
    if (this.toSend) return;
    this.cursor += 1;
    this.requisition();
  }

  sendNorth(seat, cards) {
    this.plots[seat] = this.plots[seat].filter((card) => !cards.includes(card));
    this.cellars[seat] = this.cellars[seat].filter(({ card }) => !cards.includes(card));
    this.north.push(...cards);
    this.show(cards);
  }

  /** The seat's Cellar keeps no card of a failed crop above a rank; below 0, nothing eligible. */
  conclude(seat, highest) {
    this.cellars[seat].forEach((place) => {
      this.failed.forEach((crop) => {
        place.highest[crop] = Math.min(place.highest[crop], Math.max(highest, 0));
      });
      if (highest < 0) place.saboteur = false;
    });
  }

  cleanUp() {
    const unclaimed = this.crops.map((crop) => this.fields[crop].reward).filter(Boolean);
    this.north.push(...unclaimed);
    this.crops.forEach((crop) => (this.fields[crop].reward = null));
    const next = this.record.years[this.year];
    if (this.year < this.rules.years && next) this.beginYear(next);
    else this.turn = { seat: null, phase: "over" };
  }

  // What a seat may know

  legal() {
    const { seat, phase } = this.turn;
    if (phase === "trump") return this.crops;
    if (phase === "swap_take") return [...sorted(this.holdings(seat)), "pass"];
    if (phase === "swap_give") return sorted(this.hands[seat]);
    if (phase === "requisition") return sorted(this.tied);
    if (phase === "assign") {
      const cards = this.trick.map(({ card }) => card);
      return this.crops.filter((crop) => cards.some((card) => card === "X0" || card[0] === crop));
    }
    const follow = this.hands[seat].filter((card) => card === "X0" || card[0] === this.led);
    return sorted(this.led && follow.length ? follow : this.hands[seat]);
  }

  view(seat) {
    const copy = (value) => JSON.parse(JSON.stringify(value));
    const ended = ["requisition", "over"].includes(this.turn.phase);
    const assigning = this.turn.phase === "assign";
    const own = this.turn.seat === seat;
    const swap = this.turn.phase === "swap_give" ? this.swaps[this.turn.seat] : null;
    const picked = swap && this.cellars[this.turn.seat].find(({ card }) => card === this.taken);
    const hidden = swap && !own && picked && !picked.public;
    return copy({
      format: "kolkhoz-view/1",
      rules: this.rules,
      seat,
      turn: this.turn,
      year: this.year,
      planner: this.planner,
      trump: this.trump,
      trick_number: this.done + (ended ? 0 : 1),
      leader: this.leader,
      hand: sorted(this.hands[seat]),
      hand_sizes: this.hands.map((hand) => hand.length),
      known_in_hand: this.known,
      voids: this.voids.map((shown) => this.crops.filter((crop) => shown.includes(crop))),
      plots: this.plots.map(sorted),
      cellars: this.cellars.map((places, other) =>
        places.map((place) => ({ ...place, card: other === seat || place.public ? place.card : null })),
      ),
      fields: Object.fromEntries(
        this.crops.map((crop) => [crop, { ...this.fields[crop], cards: sorted(this.fields[crop].cards) }]),
      ),
      trick: this.trick,
      assign_card: assigning ? this.trick[this.assigned].card : null,
      swaps: this.swaps,
      taken: hidden ? null : this.taken,
      medals: this.medals,
      north: sorted(this.north),
      rewards_revealed: this.revealed,
      last_seen: Object.fromEntries(sorted(Object.keys(this.seen[seat])).map((c) => [c, this.seen[seat][c]])),
      failed: this.failed,
      inspected: this.inspected,
      to_send: this.toSend,
      legal: own ? this.legal() : [],
    });
  }
}

/** The view of the seat to act before each move of a record, whole or cut short anywhere. */
export function viewsOfRecord(record) {
  const views = [];
  replay(record, (table) => views.push(table.view(table.turn.seat)));
  return views;
}

/**
 * The view of the seat that is to act after the moves of a record. Null where nobody is: the year
 * has ended, and the next one (if it was not the last) is to be dealt and put into the record.
 */
export function nextView(record) {
  const table = replay(record, () => {});
  return table === null || table.turn.seat === null ? null : table.view(table.turn.seat);
}

/** The table after all moves, null before the first deal; `before` hears of it before each move. */
function replay(record, before) {
  if (record?.format !== "kolkhoz-record/1") throw new Error('format: must be "kolkhoz-record/1"');
  if (!record.years.length) return null;
  const table = new Table(record);
  table.beginYear(record.years[0]);
  for (const { moves } of record.years) {
    for (const { move } of moves) {
      if (table.turn.seat === null) throw new Error("the record goes on after its last year");
      before(table);
      table.apply(move);
    }
  }
  return table;
}
