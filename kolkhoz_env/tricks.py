"""Which crops a card stands for, which card of a trick is strongest, and who comes next."""

from __future__ import annotations

import numpy as np

from kolkhoz_env.cards import CROP, NO_CROP, NUM_CROPS, SABOTEUR

#: Crops that a card stands for as bits: its own, or all four for the Saboteur.
CROP_SET = np.array([1 << int(c) if c < NO_CROP else 15 for c in CROP], dtype=np.uint8)
#: ``uint8[5, 5, 53]`` by trump, led crop and card: the higher strength wins the trick, 0 never
#: wins. Every trump beats the Saboteur, which beats every nontrump.
STRENGTH = np.zeros((5, 5, 53), dtype=np.uint8)
for _crop in range(NUM_CROPS):
    _cards = slice(13 * _crop, 13 * _crop + 13)
    STRENGTH[:, _crop, _cards] = np.arange(1, 14)
    STRENGTH[_crop, :, _cards] = np.arange(21, 34)
STRENGTH[:, :, SABOTEUR] = 20
#: ``uint8[4, 5]`` by Planner and cursor, for each number of players: the seats that are still to
#: come in the order that begins left of the Planner, as bits.
STILL_TO_COME = {
    players: np.array(
        [
            [
                sum(1 << (planner + 1 + place) % players for place in range(cursor, players))
                for cursor in range(5)
            ]
            for planner in range(4)
        ],
        dtype=np.uint8,
    )
    for players in (2, 3, 4)
}
#: ``int8[4, 16]`` by Planner and seats as bits: which place in that order comes first, 0 for none.
FIRST_IN_ORDER = {
    players: np.array(
        [
            [
                next((p for p in range(players) if seats >> (planner + 1 + p) % players & 1), 0)
                for seats in range(16)
            ]
            for planner in range(4)
        ],
        dtype=np.int8,
    )
    for players in (2, 3, 4)
}
