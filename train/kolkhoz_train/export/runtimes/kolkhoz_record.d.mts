// Types of kolkhoz_record.mjs.

import type { Card, Crop, Move, Phase, View } from "./kolkhoz_bot.mjs";

/** A game, whole or cut short anywhere, format `kolkhoz-record/1`. */
export interface GameRecord {
  format: "kolkhoz-record/1";
  /** A rule that is left out has its default. */
  rules: { players: number; [rule: string]: number | boolean | null };
  first_planner: number;
  /** By crop: the pile's cards in the order in which they are revealed. */
  reward_piles: Partial<Record<Crop, Card[]>>;
  years: {
    year: number;
    planner: number;
    /** By seat, as dealt. */
    hands: Card[][];
    famine_card: Card | null;
    moves: { seat?: number; phase?: Phase; move: Move }[];
  }[];
}

/** The view of the seat to act before each move. Moves are taken to be legal. */
export function viewsOfRecord(record: GameRecord): View[];

/**
 * The view for the move to come. Null where nobody is to act: the year has ended, and the next one
 * (if it was not the last) is to be dealt and put into the record.
 */
export function nextView(record: GameRecord): View | null;
