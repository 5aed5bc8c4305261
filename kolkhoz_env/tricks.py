"""Which crops a card stands for, and which card of a trick is strongest."""

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
