"""Cards, zones and actions as numbers, and their text forms.

Card numbers run crop by crop::

    W1 .. W13   S1 .. S13   P1 .. P13   B1 .. B13   X0 (Saboteur)
     0 .. 12    13 .. 25    26 .. 38    39 .. 51    52

A *zone* (hand, Plot, field, North ...) is a bitboard: one ``uint64`` whose bit ``c`` says whether
card ``c`` lies there, so a whole batch of zones is one array and following suit is three bitwise
operations.

Action numbers, one ``Discrete(58)`` space for every phase::

    0 .. 52    a card   (swap_take, swap_give, play, requisition)
    53 .. 56   a crop   (trump, assign)
    57         pass     (swap_take)
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

U64 = np.uint64

CROPS = "WSPB"
CROP_NAMES = {"W": "Wheat", "S": "Sunflower", "P": "Potato", "B": "Beet"}
NUM_CROPS = 4
NUM_RANKS = 13
SABOTEUR = 52
NUM_CARDS = 53

CROP_ACTION = 53
PASS = 57
NUM_ACTIONS = 58

#: Crop number of "no crop": no trump, no led crop, the Saboteur's crop.
NO_CROP = 4

ONE = U64(1)
#: ``uint64[55]``: the bitboard of each single card; indices -1 (no card) and -2 (a hidden card)
#: are empty.
BIT = np.array([1 << c for c in range(NUM_CARDS)] + [0, 0], dtype=U64)
#: ``uint64[5]``: all cards of a crop; the last entry is empty.
CROP_BITS = np.array([((1 << 13) - 1) << (13 * c) for c in range(NUM_CROPS)] + [0], dtype=U64)
#: ``uint64[14]``: all ordinary cards of a rank; index 0 is the Saboteur, whose rank is 0.
RANK_BITS = np.array(
    [1 << SABOTEUR] + [sum(1 << (13 * c + r - 1) for c in range(NUM_CROPS)) for r in range(1, 14)],
    dtype=U64,
)
SABOTEUR_BIT = BIT[SABOTEUR]
ALL_CARDS = U64((1 << NUM_CARDS) - 1)

#: ``int8[55]``: rank by card (Saboteur 0); indices -1 and -2 as in :data:`BIT`.
RANK = np.array([c % 13 + 1 for c in range(52)] + [0, 0, 0], dtype=np.int8)
#: ``int8[55]``: crop by card; :data:`NO_CROP` for the Saboteur and for no or a hidden card.
CROP = np.array([c // 13 for c in range(52)] + [NO_CROP] * 3, dtype=np.int8)



def _codes() -> NDArray[np.uint64]:
    codes = np.zeros((NUM_CARDS + 2, 8), dtype=np.uint8)
    codes[np.arange(52), CROP[:52]] = 1
    codes[SABOTEUR, NO_CROP] = 1
    codes[:, 5] = RANK
    codes[:NUM_CARDS, 6] = 1
    codes[-2, 6:] = 1
    return codes.view(np.uint64)[:, 0]


#: ``uint64[55]``, eight octets each: cards as observations show them; -1 no card, -2 a hidden one.
CODE = _codes()

_CARD_NAMES = [f"{crop}{rank}" for crop in CROPS for rank in range(1, 14)] + ["X0"]
_ACTION_NAMES = [*_CARD_NAMES, *CROPS, "pass"]
_CARD_NUMBERS = {name: number for number, name in enumerate(_CARD_NAMES)}
_ACTION_NUMBERS = {name: number for number, name in enumerate(_ACTION_NAMES)}


def card_name(card: int) -> str:
    """Text form of a card number: ``"W1"`` .. ``"B13"``, ``"X0"`` for the Saboteur."""
    return _CARD_NAMES[card]


def card_number(name: str) -> int:
    """Card number of a text form; raises ``ValueError`` for anything else."""
    try:
        return _CARD_NUMBERS[name]
    except (KeyError, TypeError):
        raise ValueError(f"{name!r} is not a card (W1 .. B13 or X0)") from None


def action_name(action: int) -> str:
    """Text form of an action: a card, a crop letter or ``"pass"``."""
    return _ACTION_NAMES[action]


def action_number(name: str) -> int:
    """Action number of a text form; raises ``ValueError`` for anything else."""
    try:
        return _ACTION_NUMBERS[name]
    except (KeyError, TypeError):
        raise ValueError(f"{name!r} is not a move (a card, one of W S P B, or pass)") from None


def cards_in(zone: int) -> list[int]:
    """Card numbers of one zone in rising order."""
    zone = int(zone)
    return [card for card in range(NUM_CARDS) if zone >> card & 1]


def names_in(zone: int) -> list[str]:
    """Text forms of the cards of one zone, in the order of card names that records use."""
    return sorted(_CARD_NAMES[card] for card in cards_in(zone))


def zone_of(cards: list[str] | tuple[str, ...]) -> int:
    """Bitboard (a Python int) of cards given as text; raises ``ValueError`` for a card twice."""
    zone = 0
    for name in cards:
        bit = 1 << card_number(name)
        if zone & bit:
            raise ValueError(f"card {name} stands twice")
        zone |= bit
    return zone


def single_card(zones: NDArray[np.uint64]) -> NDArray[np.int8]:
    """Card number of zones that hold exactly one card, ``int8`` of the same shape.

    A power of two up to 2**52 is exact in ``float64``, so its exponent is the card.
    """
    return (np.frexp(zones.astype(np.float64))[1] - 1).astype(np.int8)


def zone_with(cards: NDArray[np.int8]) -> NDArray[np.uint64]:
    """Zones that hold the cards of each row, ``int8[n, ...]`` to ``uint64[n]``; -1 and -2 are none.

    Turned first: numpy joins long rows many at a time, and short ones one by one.
    """
    bits = BIT.take(cards.reshape(len(cards), math.prod(cards.shape[1:])).T)
    return np.asarray(np.bitwise_or.reduce(bits, axis=0))


def union(zones: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Cards of all zones along the last axis: ``uint64[..., k]`` to ``uint64[...]``.

    Axes here have 4 to 20 entries, for which numpy's own reduction is several times slower.
    """
    joined = zones[..., 0].copy()
    for number in range(1, zones.shape[-1]):
        joined |= zones[..., number]
    return joined
