"""The observation of one game on single numbers, column by column that of `encoder`.

Encoding a single row with arrays spends nearly all its time on starting array operations. Here
bit planes are joined in one whole number, and every other block is a slice of a lookup table.
The tests hold it against the observation table at every decision of many games.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace

import numpy as np

from kolkhoz_env.cards import CODE, NUM_CARDS, SABOTEUR
from kolkhoz_env.observation import observation_table
from kolkhoz_env.rules import OVER, SWAP_GIVE, TRUMP, Rules
from kolkhoz_env.state import EMPTY, PLACE_FACTS, SWAP_CELLAR, SWAP_PLOT, UInt8


def _one_hot(length: int, index: int) -> bytes:
    return bytes(int(i == index) for i in range(length))


#: Eight octets by card; -1 no card and -2 a hidden one index from the end.
_CODE = [row.tobytes() for row in CODE]
_FLAGS = [bytes(value >> c & 1 for c in range(4)) for value in range(16)]
_LED = [_one_hot(4, crop) for crop in range(5)]
_SWAPS = [_one_hot(8, swap) for swap in range(8)]
_YEARS = [_one_hot(5, year - 1) for year in range(6)]
_PHASES = [_one_hot(6, phase) for phase in range(7)]
_TRICKS = [_one_hot(4, min(number, 3)) for number in range(5)]
_TO_SEND = [_one_hot(4, number - 1) for number in range(5)]
#: The last is for a trump that is not chosen yet.
_TRUMPS = [_one_hot(5, crop) for crop in range(6)]
#: One flag by relative seat; the last is nobody's.
_SEATS = {count: [_one_hot(count, seat) for seat in range(count + 1)] for count in (2, 3, 4)}

Part = bytes | memoryview


class OneEncoder:
    """Encodes the game of row 0 of a state, given as flat memoryviews.

    Args:
        numbers: the arrays by name, see :func:`kolkhoz_env.one_game.number_views`.
        rules: the rules of the game.
    """

    def __init__(self, numbers: SimpleNamespace, rules: Rules) -> None:
        self.numbers = numbers
        self.rules = rules
        table = observation_table(rules)
        self.size = table.size
        self.planes_end = table["fields"].offset
        names = [block.name for block in table.blocks]
        self.names = names[names.index("fields") :]
        players = rules.players
        self.orders = [
            [(seat + step) % players for step in range(players)] for seat in range(players)
        ]

    def encode(self, seat: int) -> UInt8:
        """Observation of a seat, ``uint8[size]``."""
        n, players = self.numbers, self.rules.players
        order, leader = self.orders[seat], n.leader[0]
        joined = 0
        for plane in reversed(self._planes(seat, order)):
            joined = joined << NUM_CARDS | plane
        end = self.planes_end
        octets = np.frombuffer(joined.to_bytes((end + 7) // 8, "little"), dtype=np.uint8)

        out = np.empty(self.size, dtype=np.uint8)
        out[:end] = np.unpackbits(octets, count=end, bitorder="little")
        places = [(other - leader) % players for other in order]
        parts: dict[str, list[Part]] = {
            **self._cards(seat, order, places),
            **self._fields(),
            **self._seats(seat, order, places),
            **self._time(),
        }
        rest = b"".join([octet for name in self.names for octet in parts[name]])
        out[end:] = np.frombuffer(rest, dtype=np.uint8)
        return out

    def _planes(self, seat: int, order: list[int]) -> list[int]:
        """Card blocks up to ``unseen`` in the order of the table."""
        n = self.numbers
        hand, cellar = n.hands[seat], n.in_cellar[seat]
        unseen = self.rules.deck & ~(hand | cellar | n.seen[n.year[0] - 1])
        plots = [n.plots[other] for other in order]
        return [hand, cellar, *plots, n.north[0], unseen]

    def _cards(
        self, seat: int, order: list[int], places: list[int]
    ) -> Mapping[str, list[Part]]:
        """Blocks of single cards and of the facts of Cellar places."""
        n, players = self.numbers, self.rules.players
        faces = [n.face_codes[5 * s : 5 * s + 5] for s in order[1:]]
        width = 5 * PLACE_FACTS
        assigning = n.trick_size[0] == players
        card = n.trick[min(n.assigned[0], players - 1)] if assigning else EMPTY
        return {
            "last_seen": [n.last_seen[NUM_CARDS * seat : NUM_CARDS * (seat + 1)]],
            "cellar_cards": [n.cellar_codes[5 * seat : 5 * seat + 5], *faces],
            "cellar_places": [n.places[width * s : width * s + width] for s in order],
            "trick": [_CODE[n.trick[place]] for place in places],
            "known_in_hand": [_CODE[n.known[s]] for s in order],
            "swaps": [_SWAPS[n.swaps[s]] for s in order],
            "assign_card": [_CODE[card]],
            "taken": [_CODE[self._taken(seat)]],
        }

    def _taken(self, seat: int) -> int:
        """Card picked for the swap under way if the seat may know it."""
        n = self.numbers
        if n.phase[0] != SWAP_GIVE:
            return EMPTY
        actor = n.seat[0]
        zone = n.swaps[actor]
        if actor == seat or zone == SWAP_PLOT or n.faces[5 * actor + zone - SWAP_CELLAR] >= 0:
            return int(n.taken[0])
        return EMPTY

    def _fields(self) -> Mapping[str, list[Part]]:
        """Blocks by crop."""
        n, quota = self.numbers, min(self.rules.field_quota, 255)
        hours = n.hours.tolist()
        return {
            "fields": [n.fields],
            "hours": [bytes([min(value, 255) for value in hours])],
            "short": [bytes([max(quota - value, 0) for value in hours])],
            "claimed": [_FLAGS[n.claimed[0]]],
            "sabotaged": [n.fields[SABOTEUR::NUM_CARDS].tobytes()],
            "failed": [_FLAGS[n.failed[0]]],
            "led": [_LED[n.led[0]]],
            "trick_crops": [_FLAGS[n.crops[0]]],
            "revealed": [n.revealed],
        }

    def _seats(self, seat: int, order: list[int], places: list[int]) -> Mapping[str, list[Part]]:
        """Blocks by relative seat."""
        n, players = self.numbers, self.rules.players
        flag = _SEATS[players]
        left = self.rules.hand_size(n.year[0]) - n.trick_number[0]
        size, assigned, inspected = n.trick_size[0], n.assigned[0], n.inspected[0]
        # With one card left after the last trick, it has been banked.
        sizes = bytes(players) if left == 1 else bytes([left - (at < size) for at in places])
        return {
            "voids": [_FLAGS[n.voids[s]] for s in order],
            "hand_sizes": [sizes],
            "medals": [bytes([n.medals[s] for s in order])],
            "assigned": [bytes([at < assigned for at in places])],
            "inspected": [bytes([inspected >> s & 1 for s in order])],
            "winning": [flag[(n.winner[0] - seat) % players if size else players]],
            "planner": [flag[(n.planner[0] - seat) % players]],
            "leader": [flag[(n.leader[0] - seat) % players]],
            "to_act": [flag[(n.seat[0] - seat) % players if n.seat[0] >= 0 else players]],
        }

    def _time(self) -> Mapping[str, list[Part]]:
        """Trump, year, phase and what remains."""
        n = self.numbers
        phase = n.phase[0]
        return {
            "trump": [_TRUMPS[5 if phase in (TRUMP, OVER) else n.trump[0]]],
            "year": [_YEARS[n.year[0]]],
            "phase": [_PHASES[phase]],
            "trick_number": [_TRICKS[n.trick_number[0]]],
            "to_send": [_TO_SEND[n.to_send[0]]],
        }
