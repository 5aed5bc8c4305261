// Types of kolkhoz_bot.mjs.

/** A card (`"W1"` .. `"B13"`, `"X0"`), a crop (`"W"`, `"S"`, `"P"`, `"B"`) or `"pass"`. */
export type Move = string;
export type Card = string;
export type Crop = "W" | "S" | "P" | "B";
export type Phase =
  | "trump" | "swap_take" | "swap_give" | "play" | "assign" | "requisition" | "over";

export interface Place {
  banked: number;
  since: number;
  card: Card | null;
  public: boolean;
  highest: Partial<Record<Crop, number>>;
  saboteur: boolean;
}

export interface Field {
  hours: number;
  reward: Card | null;
  claimed: boolean;
  cards: Card[];
}

export type Swap = null | "pass" | { zone: "plot" } | { zone: "cellar"; banked: number };

/** What a seat may know, format `kolkhoz-view/1`; FRONT-ENDS.md explains every field. */
export interface View {
  format: "kolkhoz-view/1";
  rules: { players: number; [rule: string]: number | boolean | null };
  seat: number;
  turn: { seat: number | null; phase: Phase };
  year: number;
  planner: number;
  trump: Crop | null;
  trick_number: number;
  leader: number;
  hand: Card[];
  hand_sizes: number[];
  known_in_hand: Card[][];
  voids: Crop[][];
  plots: Card[][];
  cellars: Place[][];
  fields: Partial<Record<Crop, Field>>;
  trick: { seat: number; card: Card; assigned: boolean }[];
  assign_card: Card | null;
  swaps: Swap[];
  taken: Card | null;
  medals: number[];
  north: Card[];
  rewards_revealed: Partial<Record<Crop, Card[]>>;
  last_seen: Record<Card, number>;
  failed: Crop[];
  inspected: number[];
  to_send: number;
  legal: Move[];
}

export interface Options {
  /** 0 (default) plays the best move, 1 samples the policy, more is wilder. */
  temperature?: number;
  /** 0 .. 4294967295: the same seed gives the same sample. */
  seed?: number;
}

export interface Evaluation {
  move: Move;
  /** Every legal move in the order of action numbers. */
  moves: { move: Move; probability: number; logProbability: number }[];
  /** What the seat can expect: its win share less an equal share, as far as the bot can tell. */
  value: number;
}

export interface Bot {
  readonly manifest: Manifest;
  move(view: View, options?: Options): Move;
  evaluate(view: View, options?: Options): Evaluation;
  observe(view: View): Uint8Array;
  /** Unmasked logits by action number, and the value, from an observation. */
  run(observation: Uint8Array): { logits: Float64Array; value: number };
}

/** The parsed content of manifest.json. */
export interface Manifest {
  format: "kolkhoz-bundle/1";
  rules: View["rules"];
  actions: Move[];
  phases: Phase[];
  [key: string]: unknown;
}

/** A mistake in a bundle or a view; the message begins with the file or field. */
export class KolkhozBotError extends Error {}

export const FORMAT: "kolkhoz-bundle/1";
export const VIEW_FORMAT: "kolkhoz-view/1";
export function load(manifest: Manifest, weights: ArrayBuffer | Uint8Array): Bot;
export function observe(view: View, manifest: Manifest): Uint8Array;
export function cardNumber(text: Card, field?: string): number;
export function uniform(seed: number): number;
