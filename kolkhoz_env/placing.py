"""Even draws of cards for slots that do not take every card.

The slots are filled one after the other, the tightest first, each with an even draw of the cards
that fit and are left. That alone is not even over all fillings: one whose draws were made from few
cards comes too often. So a filling is accepted with probability ``product of (cards that were there
to draw from / the most there can ever be)`` and drawn anew otherwise, which makes it exactly even.
Most are accepted at once, because slots tend to hold one another's cards and the most is then
what there is.

Where slots crowd each other most draws are refused. After :data:`ATTEMPTS` of them such a
world is filled anyhow and then shuffled by many exchanges of two or three cards between slots, made
with probability one half wherever all of them may lie in their new slots. Such exchanges leave the
even distribution as it is, whatever the fill.

All draws are hashes of a world's key, so it is the same in any batch.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from kolkhoz_env.cards import BIT, ONE, U64, cards_in
from kolkhoz_env.deal import GOLDEN, mix
from kolkhoz_env.errors import KolkhozError
from kolkhoz_env.state import Bool, Int64, UInt64

#: Draws of all slots of a world before exchanges have to do.
ATTEMPTS = 256
#: Draws that are made at once for the worlds whose first was refused.
_AT_ONCE = 512
#: Rounds of exchanges; each offers one to every slot.
ROUNDS = 48
#: What a hash is for, besides the exchanges (which count from 0).
_ACCEPT, _DRAW, _FILL = 1 << 20, 2 << 20, 3 << 20

_BYTES = U64(0x0101010101010101)
_HIGH = U64(0x8080808080808080)
_8, _32, _56, _255 = U64(8), U64(32), U64(56), U64(255)
#: ``uint64[256 * 8]``: by a byte and a rank, the bit of that rank among those set; 0 if none.
_NTH = np.zeros(256 * 8, dtype=U64)
for _byte in range(256):
    for _rank, _bit in enumerate(bit for bit in range(8) if _byte >> bit & 1):
        _NTH[_byte * 8 + _rank] = 1 << _bit


def draw(keys: UInt64, purpose: UInt64 | int) -> UInt64:
    """Hashes of the worlds' keys for a purpose; both may be arrays, as for broadcasting."""
    step = np.atleast_1d(np.asarray(purpose, dtype=U64)) * GOLDEN
    return mix(keys ^ mix(step + GOLDEN))


def random_bit(zones: UInt64, draws: UInt64) -> UInt64:
    """One card of each zone, drawn evenly by random numbers, as a bit; 0 for an empty zone."""
    return _random_bit(zones, draws)[0]


def _random_bit(zones: UInt64, draws: UInt64) -> tuple[UInt64, UInt64]:
    """The same, and the number of cards in each zone."""
    in_byte = np.bitwise_count(zones.view(np.uint8)).view(U64)
    # Counts up to and with each byte; none passes 64, so that bytes don't run over.
    running = in_byte * _BYTES
    count = running >> _56
    # The high half of the draw times the count is an even choice to within 2**-32.
    rank = ((draws >> _32) * count) >> _32
    # Bytes whose running count does not pass the rank come before the card's.
    before = np.bitwise_count(((rank * _BYTES | _HIGH) - running) & _HIGH)
    shift = before.astype(U64) * _8
    rank -= ((running << _8) >> shift) & _255
    rank += ((zones >> shift) & _255) * _8
    return _NTH[rank.view(np.int64)] << shift, count


def place_cards(
    packed: UInt64, bounds: Int64, cards: UInt64, game: Int64, keys: UInt64
) -> tuple[UInt64, UInt64]:
    """Fill the slots of ``N`` worlds, every way to fill them as likely as any other.

    Args:
        packed: ``uint64[n, K]``, cards that fit each slot of a game; 0 for no slot.
        bounds: ``int64[n, K]``, see :class:`~kolkhoz_env.slots.Slots`.
        cards: ``uint64[n]``, the cards of each game.
        game: ``int64[N]``, the game of each world.
        keys: ``uint64[N]``, what a world's draws are hashed from.

    Returns:
        The card of each slot as a bit, ``uint64[K + 1, N]``, 0 for no slot and in the last row;
        and the cards that are left, ``uint64[N]``.

    Raises:
        KolkhozError: the slots of a game can't be filled.
    """
    slots = packed.shape[1]
    filled = np.zeros((slots + 1, keys.size), dtype=U64)
    if not slots:
        return filled, cards[game]
    allowed = np.prod(bounds, axis=1, dtype=np.float64)
    filled[:slots], left, accepted = _attempt(
        packed, allowed, cards, game, keys, np.zeros(1, dtype=np.int64)
    )
    refused = np.flatnonzero(~accepted)
    attempt = 1
    while refused.size and attempt < ATTEMPTS:
        # Several draws for each at once: how many changes nothing, the first accepted counts.
        many = min(max(_AT_ONCE // refused.size, 1), ATTEMPTS - attempt)
        rows = np.tile(refused, many)
        number = np.repeat(np.arange(attempt, attempt + many), refused.size)
        again, rest, accepted = _attempt(packed, allowed, cards, game[rows], keys[rows], number)
        accepted = accepted.reshape(many, refused.size)
        found = np.flatnonzero(accepted.any(axis=0))
        column = accepted.argmax(axis=0)[found] * refused.size + found
        filled[:slots, refused[found]] = again[:, column]
        left[refused[found]] = rest[column]
        refused = np.delete(refused, found)
        attempt += many
    for crowded in np.unique(game[refused]):
        rows = refused[game[refused] == crowded]
        masks = packed[crowded][packed[crowded] != 0]
        filled[: masks.size, rows] = exchanged(masks, cards[crowded], keys[rows])
        left[rows] = cards[crowded] ^ np.bitwise_or.reduce(filled[:, rows], axis=0)
    return filled, left


def _attempt(
    packed: UInt64,
    allowed: NDArray[np.float64],
    cards: UInt64,
    game: Int64,
    keys: UInt64,
    number: Int64,
) -> tuple[UInt64, UInt64, Bool]:
    """A draw for every slot ``uint64[K, N]``, what is left, and whether it is accepted."""
    purpose = number.astype(U64) * U64(64)
    one = packed.shape[0] == 1
    masks = packed.T if one else packed[game].T
    filled = np.empty((packed.shape[1], keys.size), dtype=U64)
    left = cards[game]
    ways = np.ones(keys.size)
    steps = np.arange(_DRAW, _DRAW + packed.shape[1], dtype=U64)[:, None]
    draws = draw(keys, steps + purpose)
    for slot, mask in enumerate(masks):
        filled[slot], count = _random_bit(mask & left, draws[slot])
        left ^= filled[slot]
        # No slot is no choice; a slot without a card that fits makes the product 0.
        ways *= count if one else np.where(mask != 0, count, ONE)
    chance = (draw(keys, purpose + U64(_ACCEPT)) >> U64(11)).astype(np.float64) * 2.0**-53
    return filled, left, chance * allowed[game] < ways


# Where slots crowd each other -------------------------------------------------------------------


def exchanged(masks: UInt64, cards: U64, keys: UInt64) -> UInt64:
    """Slots of one game filled for ``N`` worlds and exchanged, ``uint64[K, N]``.

    ``masks`` is ``uint64[K]``, the tightest slot first.
    """
    rest = int(np.bitwise_count(cards)) - masks.size
    filled = np.empty((masks.size + rest, keys.size), dtype=U64)
    left = np.full(keys.size, cards)
    for slot in range(masks.size):
        filled[slot] = random_bit(masks[slot] & left, draw(keys, _FILL + slot))
        left ^= filled[slot]
    dead = np.flatnonzero((filled[: masks.size] == 0).any(axis=0))
    if dead.size:
        filled[: masks.size, dead] = matching(masks, int(cards))[:, None]
        left[dead] = cards ^ np.bitwise_or.reduce(filled[: masks.size, dead[:1]])
    # The other cards take part from random places: each must meet any slot alike.
    for place in range(rest):
        filled[masks.size + place] = random_bit(left, draw(keys, _FILL + 64 + place))
        left ^= filled[masks.size + place]
    whole = np.concatenate([masks, np.full(rest, cards, dtype=U64)])
    _exchange(filled, whole[:, None], keys)
    return filled[: masks.size]


@lru_cache(maxsize=64)
def _orders(slots: int) -> tuple[NDArray[np.int64], ...]:
    """A fixed random order of the slots for every round, which says who exchanges with whom."""
    generator = np.random.default_rng(slots)
    return tuple(generator.permutation(slots) for _ in range(ROUNDS))


def _exchange(filled: UInt64, masks: UInt64, keys: UInt64) -> None:
    """Random exchanges between slots, in place; ``filled`` ``uint64[M, N]``, ``masks`` [M, 1].

    Every fourth round moves three cards in a circle, because exchanges of two alone can't reach
    every world. Either direction is as likely, so each move is as likely as its reverse.
    """
    for number, order in enumerate(_orders(filled.shape[0])):
        group = 3 if number % 4 == 3 else 2
        size = filled.shape[0] // group
        coins = draw(keys, number)
        agreed = _coin(coins, size, 0)
        parts = [order[part * size : (part + 1) * size] for part in range(group)]
        cards = [filled[part] for part in parts]
        moved = cards[1:] + cards[:1]
        if group == 3:
            onward = _coin(coins, size, 32)
            back = cards[-1:] + cards[:-1]
            moved = [np.where(onward, *pair) for pair in zip(moved, back, strict=True)]
        for part, card in zip(parts, moved, strict=True):
            agreed &= (masks[part] & card) != 0
        for part, card, old in zip(parts, moved, cards, strict=True):
            filled[part] = np.where(agreed, card, old)


def _coin(draws: UInt64, size: int, first: int) -> Bool:
    """Bits ``first`` .. ``first + size - 1`` of draws ``uint64[N]`` as ``bool[size, N]``."""
    return (draws & (ONE << np.arange(first, first + size, dtype=U64))[:, None]) != 0


def matching(masks: UInt64, cards: int) -> UInt64:
    """One way to fill the slots, found by augmenting paths; for worlds that no draw could fill."""
    holder: dict[int, int] = {}

    def place(slot: int, tried: set[int]) -> bool:
        for card in cards_in(int(masks[slot]) & cards):
            if card not in tried:
                tried.add(card)
                if card not in holder or place(holder[card], tried):
                    holder[card] = slot
                    return True
        return False

    for slot in range(len(masks)):
        if not place(slot, set()):
            raise KolkhozError("worlds: no world agrees with what the seat knows")
    filled = np.zeros(len(masks), dtype=U64)
    for card, slot in holder.items():
        filled[slot] = BIT[card]
    return filled
