"""A Kolkhoz bot in plain Python: from a seat's view to a move. The standard library alone.

    from kolkhoz_bot import load, load_folder
    bot = load(manifest, weights)            # parsed manifest.json; bytes of weights.bin
    bot = load_folder("bundle")              # the same from a bundle's folder
    bot.move(view)                           # "W5": the best move
    bot.move(view, temperature=1, seed=7)    # a sample of its policy
    bot.evaluate(view)                       # {"move": .., "moves": [..], "value": ..}

A view is described in FRONT-ENDS.md. Everything about the observation (which block stands where,
how it is scaled, how the crops are sorted) is read from the manifest.
"""

# ruff: noqa: B905 (zip has no `strict` in the older Pythons that this runs on)
from __future__ import annotations

import itertools
import json
import math
import struct
from pathlib import Path
from typing import Any

FORMAT = "kolkhoz-bundle/1"
VIEW_FORMAT = "kolkhoz-view/1"

CROPS = "WSPB"
SABOTEUR = 52
CARDS = [f"{crop}{rank}" for crop in CROPS for rank in range(1, 14)] + ["X0"]
_NUMBERS = {name: number for number, name in enumerate(CARDS)}
_CROP = [number // 13 for number in range(53)]  # the Saboteur's is 4, which is none
_RANK = [number % 13 + 1 for number in range(52)] + [0]
_LARGEST_FILE = 1 << 26


class KolkhozBotError(ValueError):
    """What is wrong with a bundle or a view, in one line that names the file or field."""


def _refuse(field: str, what: str) -> Any:
    raise KolkhozBotError(f"{field}: {what}")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


# A view, with its fields checked as far as the observation needs them --------------------------


def _list(value: Any, field: str, length: int | None = None) -> list[Any]:
    if not isinstance(value, list):
        _refuse(field, "is missing or not a list")
    if length is not None and len(value) != length:
        _refuse(field, f"{len(value)} entries instead of {length}")
    return value


def _object(value: Any, field: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        _refuse(field, "is missing or not an object")
    return value


def _whole(value: Any, field: str, low: int, high: int) -> int:
    if type(value) is not int or not low <= value <= high:
        _refuse(field, f"{_short(value)} is not a whole number from {low} to {high}")
    return value


def _card(value: Any, field: str) -> int:
    number = _NUMBERS.get(value) if isinstance(value, str) else None
    if number is None:
        return _refuse(field, f"{_short(value)} is not a card (W1 .. B13 or X0)")
    return number


def _cards(value: Any, field: str) -> list[int]:
    return [_card(name, field) for name in _list(value, field)]


def _card_or_none(value: Any, field: str) -> int | None:
    return None if value is None else _card(value, field)


def _crop(value: Any, field: str) -> int:
    if not isinstance(value, str) or len(value) != 1 or value not in CROPS:
        _refuse(field, f"{_short(value)} is not one of W S P B")
    return CROPS.index(value)


def _crops(value: Any, field: str) -> list[int]:
    return [_crop(name, field) for name in _list(value, field)]


class _Game:
    """A view in numbers, seats counted clockwise from the seat that knows."""

    def __init__(self, view: dict[str, Any], manifest: dict[str, Any]) -> None:
        if _object(view, "view").get("format") != VIEW_FORMAT:
            _refuse("format", f"must be {VIEW_FORMAT!r}")
        _check_rules(_object(view.get("rules"), "rules"), manifest["rules"])
        self.players = players = manifest["rules"]["players"]
        self.seat = _whole(view.get("seat"), "seat", 0, players - 1)
        self.crops, self.quota, self.deck = manifest["crops"], manifest["quota"], manifest["deck"]
        get = view.get
        turn = _object(get("turn"), "turn")
        phases = [*manifest["phases"], "over"]
        if turn.get("phase") not in phases:
            _refuse("turn.phase", f"{_short(turn.get('phase'))} is no phase")
        self.phase = phases.index(turn["phase"])
        self.over = turn["phase"] == "over"
        finished = self.over or turn["phase"] == "requisition"
        self.year = _whole(get("year"), "year", 1, 5)
        self.to_act = None if self.over else self._seat(turn.get("seat"), "turn.seat")
        self.planner = self._seat(get("planner"), "planner")
        self.leader = self._seat(get("leader"), "leader")
        self.trump = 4 if get("trump") is None else _crop(view["trump"], "trump")
        number = _whole(get("trick_number"), "trick_number", 1, 4)
        self.tricks_done = number - (not finished)
        self.hand = _cards(get("hand"), "hand")
        self.hand_sizes = self._by_seat(view, "hand_sizes", _count)
        self.known_in_hand = self._by_seat(view, "known_in_hand", _cards)
        self.voids = self._by_seat(view, "voids", _crops)
        self.plots = self._by_seat(view, "plots", _cards)
        self.cellars = self._by_seat(view, "cellars", self._cellar)
        if any(place["card"] is None for place in self.cellars[0]):
            _refuse(f"cellars[{self.seat}]", "the seat's own cards must be named")
        fields = _object(get("fields"), "fields")
        self.fields = [self._field(fields, crop) for crop in CROPS]
        self.trick = self._trick(_list(get("trick"), "trick"))
        self.assign_card = _card_or_none(get("assign_card"), "assign_card")
        self.swaps = self._by_seat(view, "swaps", _swap)
        self.taken = _card_or_none(get("taken"), "taken")
        self.medals = self._by_seat(view, "medals", _count)
        self.north = _cards(get("north"), "north")
        revealed = _object(get("rewards_revealed"), "rewards_revealed")
        self.revealed = [_cards(revealed.get(c), f"rewards_revealed.{c}") for c in self.crops]
        self.last_seen = [
            (_card(name, "last_seen"), _whole(year, f"last_seen.{name}", 1, 5))
            for name, year in _object(get("last_seen"), "last_seen").items()
        ]
        self.failed = _crops(get("failed"), "failed")
        inspected = _list(get("inspected"), "inspected")
        self.inspected = [self._seat(other, "inspected") for other in inspected]
        self.to_send = _whole(get("to_send"), "to_send", 0, 4)

    def _seat(self, value: Any, field: str) -> int:
        return (_whole(value, field, 0, self.players - 1) - self.seat) % self.players

    def _by_seat(self, view: dict[str, Any], name: str, read: Any) -> list[Any]:
        entries = _list(view.get(name), name, self.players)
        seats = [(self.seat + step) % self.players for step in range(self.players)]
        return [read(entries[seat], f"{name}[{seat}]") for seat in seats]

    def _cellar(self, places: Any, field: str) -> list[dict[str, Any]]:
        read = []
        for i, place in enumerate(_list(places, field)):
            at = f"{field}[{i}]"
            highest = _object(_object(place, at).get("highest"), f"{at}.highest")
            banked = _whole(place.get("banked"), f"{at}.banked", 1, 5)
            since = _whole(place.get("since"), f"{at}.since", 1, 5)
            ranks = [
                _whole(highest.get(c), f"{at}.highest.{c}", 0, 13) if c in self.crops else 13
                for c in CROPS
            ]
            facts = [since, place.get("public") is True, since > banked, *ranks]
            card = _card_or_none(place.get("card"), f"{at}.card")
            facts.append(place.get("saboteur") is True)
            read.append({"banked": banked, "card": card, "facts": facts})
        return read

    def _field(self, fields: dict[str, Any], crop: str) -> dict[str, Any]:
        if crop not in self.crops:
            return {"hours": 0, "reward": None, "claimed": False, "cards": []}
        field = _object(fields.get(crop), f"fields.{crop}")
        return {
            "hours": _whole(field.get("hours"), f"fields.{crop}.hours", 0, 400),
            "reward": _card_or_none(field.get("reward"), f"fields.{crop}.reward"),
            "claimed": field.get("claimed") is True,
            "cards": _cards(field.get("cards"), f"fields.{crop}.cards"),
        }

    def _trick(self, trick: list[Any]) -> list[tuple[int, int, bool]]:
        """Seat, card and whether it is assigned, as played."""
        played = []
        for i, entry in enumerate(trick):
            seat = self._seat(_object(entry, f"trick[{i}]").get("seat"), f"trick[{i}].seat")
            card = _card(entry.get("card"), f"trick[{i}].card")
            played.append((seat, card, entry.get("assigned") is True))
        return played

    def winner(self) -> int:
        """The seat that wins the trick as it lies: trumps 20 + rank, the Saboteur 20, led rank."""
        led = _CROP[self.trick[0][1]]

        def strength(card: int) -> int:
            if card == SABOTEUR or _CROP[card] == self.trump:
                return 20 + _RANK[card]
            return _RANK[card] if _CROP[card] == led else 0

        return max(self.trick, key=lambda played: strength(played[1]))[0]

    def unseen(self) -> list[int]:
        """Cards whose place the seat does not know."""
        located = {*self.hand, *self.north, *itertools.chain(*self.plots, *self.known_in_hand)}
        located |= {place["card"] for places in self.cellars for place in places}
        for field in self.fields:
            located |= {*field["cards"], field["reward"]}
        located |= {card for _, card, _ in self.trick}
        return [number for name in self.deck if (number := _NUMBERS[name]) not in located]


def _count(value: Any, field: str) -> int:
    return _whole(value, field, 0, 255)


def _swap(swap: Any, field: str) -> int:
    """0 none yet, 1 declined, 2 .. 6 Cellar place, 7 Plot."""
    if swap is None or swap == "pass":
        return int(swap is not None)
    zone = _object(swap, field).get("zone")
    if zone not in ("plot", "cellar"):
        _refuse(f"{field}.zone", "is neither 'plot' nor 'cellar'")
    return 7 if zone == "plot" else 1 + _whole(swap.get("banked"), f"{field}.banked", 1, 5)


_PRINTED_RULES = {
    "players": 4, "hero_of_labor": True, "years": 5, "famine_year": 5, "swaps": True,
    "saboteur": True, "crops": 4, "ranks": 13, "tricks": 4, "low_rewards": 4,
}  # fmt: skip
_PRINTED_QUOTAS = {2: 24, 3: 32, 4: 40}


def _check_rules(rules: dict[str, Any], own: dict[str, Any]) -> None:
    """A bot knows its own rules alone; who plans first and forced moves are all one to it.

    A rule that is left out is that of the printed game.
    """
    for key, value in own.items():
        if key in ("first_planner", "auto_forced"):
            continue
        given = rules.get(key, _PRINTED_RULES.get(key))
        if key == "quota":
            printed = _PRINTED_QUOTAS[own["players"]]
            given, value = (printed if quota is None else quota for quota in (given, value))
        if given != value or isinstance(given, bool) != isinstance(value, bool):
            _refuse(f"rules.{key}", f"{_short(given)}, but the bot plays with {value!r}")


# The observation, block by block ---------------------------------------------------------------


def _ones(out: bytearray, at: int, numbers: Any) -> None:
    for number in numbers:
        out[at + number] = 1


def _code(out: bytearray, at: int, card: int | None) -> None:
    """Writes a card's code: four crop flags, Saboteur, rank, "a card is here", "face unknown"."""
    out[at + 6] = 1
    if card is None:
        out[at + 7] = 1
    else:
        out[at + _CROP[card]] = 1
        out[at + 5] = _RANK[card]


def _known_code(out: bytearray, at: int, known: list[int]) -> None:
    for card in known[:1]:
        _code(out, at, card)


def _each(length: int, write: Any, entries: str) -> Any:
    """A writer of a block that has a run of `length` columns for each entry of a list."""

    def writer(out: bytearray, at: int, game: _Game) -> None:
        for step, entry in enumerate(getattr(game, entries)):
            write(out, at + length * step, entry)

    return writer


def _places(write: Any) -> Any:
    def writer(out: bytearray, at: int, game: _Game) -> None:
        for seat, places in enumerate(game.cellars):
            for place in places:
                write(out, at + 8 * (5 * seat + place["banked"] - 1), place)

    return writer


def _place_code(out: bytearray, at: int, place: dict[str, Any]) -> None:
    _code(out, at, place["card"])


def _facts(out: bytearray, at: int, place: dict[str, Any]) -> None:
    out[at : at + 8] = bytes(place["facts"])


def _last_seen(out: bytearray, at: int, game: _Game) -> None:
    for card, year in game.last_seen:
        out[at + card] = year


def _trick_cards(out: bytearray, at: int, game: _Game) -> None:
    for seat, card, _ in game.trick:
        _code(out, at + 8 * seat, card)


def _card_code(name: str) -> Any:
    def writer(out: bytearray, at: int, game: _Game) -> None:
        card = getattr(game, name)
        if card is not None:
            _code(out, at, card)

    return writer


def _revealed(out: bytearray, at: int, game: _Game) -> None:
    for crop, pile in enumerate(game.revealed):
        for year, card in enumerate(pile):
            out[at + 5 * crop + year] = _RANK[card]


def _by_crop(value: Any) -> Any:
    def writer(out: bytearray, at: int, game: _Game) -> None:
        out[at : at + 4] = bytes(int(value(field, game)) for field in game.fields)

    return writer


def _flags(numbers: Any) -> Any:
    def writer(out: bytearray, at: int, game: _Game) -> None:
        _ones(out, at, numbers(game))

    return writer


def _led(game: _Game) -> list[int]:
    return [_CROP[card] for _, card, _ in game.trick[:1] if card != SABOTEUR]


def _trick_crops(game: _Game) -> set[int]:
    crops = {_CROP[card] for _, card, _ in game.trick}
    return {0, 1, 2, 3} if 4 in crops else crops


_WRITERS: dict[str, Any] = {
    "hand": _flags(lambda game: game.hand),
    "cellar": _flags(lambda game: [place["card"] for place in game.cellars[0]]),
    "plots": _each(53, _ones, "plots"),
    "north": _flags(lambda game: game.north),
    "unseen": _flags(_Game.unseen),
    "fields": _each(53, lambda out, at, field: _ones(out, at, field["cards"]), "fields"),
    "last_seen": _last_seen,
    "cellar_cards": _places(_place_code),
    "cellar_places": _places(_facts),
    "trick": _trick_cards,
    "known_in_hand": _each(8, _known_code, "known_in_hand"),
    "swaps": _each(8, lambda out, at, swap: _ones(out, at, [swap]), "swaps"),
    "assign_card": _card_code("assign_card"),
    "taken": _card_code("taken"),
    "hours": _by_crop(lambda field, game: min(field["hours"], 255)),
    "short": _by_crop(lambda field, game: max(min(game.quota, 255) - field["hours"], 0)),
    "claimed": _by_crop(lambda field, game: field["claimed"]),
    "sabotaged": _by_crop(lambda field, game: SABOTEUR in field["cards"]),
    "failed": _flags(lambda game: game.failed),
    "led": _flags(_led),
    "trick_crops": _flags(_trick_crops),
    "revealed": _revealed,
    "voids": _each(4, _ones, "voids"),
    "hand_sizes": _each(1, lambda out, at, size: out.__setitem__(at, size), "hand_sizes"),
    "medals": _each(1, lambda out, at, medals: out.__setitem__(at, medals), "medals"),
    "assigned": _flags(lambda game: [seat for seat, _, assigned in game.trick if assigned]),
    "inspected": _flags(lambda game: game.inspected),
    "winning": _flags(lambda game: [game.winner()] if game.trick else []),
    "planner": _flags(lambda game: [game.planner]),
    "leader": _flags(lambda game: [game.leader]),
    "to_act": _flags(lambda game: [] if game.over else [game.to_act]),
    "trump": _flags(lambda game: [game.trump] if game.phase and not game.over else []),
    "year": _flags(lambda game: [game.year - 1]),
    "phase": _flags(lambda game: [] if game.over else [game.phase]),
    "trick_number": _flags(lambda game: [min(game.tricks_done, 3)]),
    "to_send": _flags(lambda game: [game.to_send - 1] if game.to_send else []),
}  # fmt: skip


def observe(view: dict[str, Any], manifest: dict[str, Any]) -> bytearray:
    """The observation of a view as the network was trained on it, one byte a column."""
    game = _Game(view, manifest)
    out = bytearray(manifest["observation"]["size"])
    for block in manifest["observation"]["blocks"]:
        _WRITERS[block["name"]](out, block["offset"], game)
    return out


# Layers on whole numbers -----------------------------------------------------------------------


class _Layer:
    """A layer whose weights lie as fixed-point numbers in lanes of 64 bits of long whole numbers.

    One multiplication of Python's then serves all outputs of an input, which is what makes plain
    Python fast enough. Inputs are whole numbers below 2**30 times `unit`.
    """

    def __init__(self, weight: list[list[float]], bias: list[float]) -> None:
        self.outputs = len(bias)
        largest = max(sum(map(abs, row)) for row in weight) + 1e-9
        # 62 bits hold the largest sum of products: 30 for the input, the rest for the weights.
        self.bits = min(30, 32 - math.ceil(math.log2(largest)))
        self.bias = bias
        self.offset = sum(1 << (64 * lane + 63) for lane in range(self.outputs))
        unit = 2.0**self.bits
        self.columns = [self._pack([round(w * unit) for w in column]) for column in zip(*weight)]
        self._unpack = struct.Struct(f"<{self.outputs}Q").unpack

    def _pack(self, lanes: list[int]) -> int:
        signed = struct.pack(f"<{len(lanes)}Q", *[lane + (1 << 63) for lane in lanes])
        return int.from_bytes(signed, "little") - self.offset

    def run(self, inputs: Any, unit: float) -> list[float]:
        """Outputs for pairs (input number, whole number); a whole number counts in units."""
        columns = self.columns
        total = self.offset
        for number, value in inputs:
            total += columns[number] * value if value != 1 else columns[number]
        lanes = self._unpack(total.to_bytes(8 * self.outputs, "little"))
        scale, half = unit * 2.0**-self.bits, 1 << 63
        return [(lane - half) * scale + b for lane, b in zip(lanes, self.bias)]

    def run_floats(self, inputs: list[float]) -> list[float]:
        """Outputs for floats, which are rounded to 30 bits of the largest."""
        exponent = math.frexp(max(map(abs, inputs)))[1]
        times = 2.0 ** (29 - exponent)
        pairs = [(i, round(x * times)) for i, x in enumerate(inputs) if x]
        return self.run(pairs, 2.0 ** (exponent - 29))


def _relu(values: list[float]) -> list[float]:
    return [x if x > 0 else 0.0 for x in values]


def _silu(values: list[float]) -> list[float]:
    return [x / (1 + math.exp(-x)) if x > -700 else 0.0 for x in values]


# Loading ---------------------------------------------------------------------------------------


def _check_manifest(manifest: Any) -> None:
    where = "manifest.json"
    if _object(manifest, where).get("format") != FORMAT:
        _refuse(f"{where}: format", f"must be {FORMAT!r}")
    offset = 0
    for block in _list(manifest["observation"]["blocks"], f"{where}: observation.blocks"):
        if block["name"] not in _WRITERS:
            _refuse(f"{where}: observation.blocks", f"block {block['name']} is not known here")
        if block["offset"] != offset or block["length"] != math.prod(block["shape"]):
            _refuse(f"{where}: observation.blocks.{block['name']}", "offset or length is wrong")
        offset += block["length"]
    if offset != manifest["observation"]["size"] or offset > 100_000:
        _refuse(f"{where}: observation.size", f"is wrong: the blocks make {offset}")
    network = manifest["network"]
    known = {"kind": ["mlp"], "activation": ["relu", "silu"], "trunk": ["shared", "separate"],
             "heads": ["shared", "phase"]}  # fmt: skip
    for key, allowed in known.items():
        if network[key] not in allowed:
            _refuse(f"{where}: network.{key}", f"{_short(network[key])} is not known here")


def _check_numbers(manifest: dict[str, Any]) -> None:
    """Whatever is used as a size or an index is within its bounds."""
    where = "manifest.json"
    _whole(manifest["rules"]["players"], f"{where}: rules.players", 2, 4)
    for size in _list(manifest["network"]["hidden"], f"{where}: network.hidden"):
        _whole(size, f"{where}: network.hidden", 1, 8192)
    _check_symmetry(manifest)


def _check_symmetry(manifest: dict[str, Any]) -> None:
    """Keys of columns that exist; places along axes and among the actions, the same by crop."""
    where, observation = "manifest.json: symmetry", manifest["observation"]
    symmetry, crops = _object(manifest["symmetry"], where), len(manifest["crops"])
    weights = _list(symmetry["key_weights"], f"{where}.key_weights")
    for weight in weights:
        _whole(weight, f"{where}.key_weights", 0, 2**24)
    for columns in _list(symmetry["key_columns"], f"{where}.key_columns", crops):
        for column in _list(columns, f"{where}.key_columns", len(weights)):
            _whole(column, f"{where}.key_columns", 0, observation["size"] - 1)
    lengths = {
        name: length
        for block in observation["blocks"]
        for name, length in zip(block["axes"], block["shape"])
    }
    lists = [("actions", symmetry["actions"], len(manifest["actions"]))]
    for name, parts in _object(symmetry["axes"], f"{where}.axes").items():
        lists.append((f"axes.{_short(name)}", parts, lengths.get(name, 0)))
    for field, parts, length in lists:
        field, seen = f"{where}.{field}", []
        for part in _list(parts, field, crops):
            seen += _list(part, field, len(parts[0]))
        for entry in seen:
            _whole(entry, field, 0, length - 1)
        if len(set(seen)) != len(seen):
            _refuse(field, "holds an entry twice")


def _put(length: int, parts: list[list[int]], order: tuple[int, ...]) -> list[int]:
    """Entry of the plain order that comes to each place, with crop order[i] at place i."""
    index = list(range(length))
    for place, crop in enumerate(order):
        for to, entry in zip(parts[place], parts[crop]):
            index[to] = entry
    return index


def _columns(manifest: dict[str, Any], order: tuple[int, ...]) -> list[int]:
    """Plain column of each one of the network's order, the crops being in `order`."""
    axes, index = manifest["symmetry"]["axes"], []
    for block in manifest["observation"]["blocks"]:
        run = [0]
        for name, length in zip(block["axes"], block["shape"]):
            along = _put(length, axes[name], order) if name in axes else range(length)
            run = [start * length + i for start in run for i in along]
        index += [block["offset"] + i for i in run]
    return index


def _read_tensors(manifest: dict[str, Any], data: bytes) -> dict[str, tuple[list[int], tuple]]:
    weights = manifest["weights"]
    letter, width = {"float16": ("e", 2), "float32": ("f", 4)}.get(weights["storage"], ("", 0))
    if not width:
        _refuse("manifest.json: weights.storage", f"{_short(weights['storage'])} is not known here")
    found, offset = {}, 0
    for tensor in weights["tensors"]:
        name, shape = tensor["name"], tensor["shape"]
        size = math.prod(shape)
        if size < 0 or offset + size * width > len(data):
            _refuse("weights.bin", f"ends before {name} does")
        values = struct.unpack_from(f"<{size}{letter}", data, offset)
        if not all(map(math.isfinite, values)):
            _refuse("weights.bin", f"{name} holds what is no finite number")
        found[name] = (shape, values)
        offset += size * width
    if offset != len(data):
        _refuse("weights.bin", f"{len(data) - offset} bytes too many")
    return found


# Playing ---------------------------------------------------------------------------------------


def uniform(seed: int) -> float:
    """A number in (0, 1) for a seed of 0 .. 4294967295: the 32-bit finaliser of MurmurHash3."""
    h = (seed + 0x9E3779B9) & 0xFFFFFFFF
    h = (h ^ (h >> 16)) * 0x85EBCA6B & 0xFFFFFFFF
    h = (h ^ (h >> 13)) * 0xC2B2AE35 & 0xFFFFFFFF
    return ((h ^ (h >> 16)) + 0.5) / 2**32


class Bot:
    """A loaded bot; make it with `load` or `load_folder`."""

    def __init__(self, manifest: dict[str, Any], weights: bytes) -> None:
        _check_manifest(manifest)
        _check_numbers(manifest)
        self.manifest = manifest
        self._tensors = _read_tensors(manifest, weights)
        network, blocks = manifest["network"], manifest["observation"]["blocks"]
        self._act = {"relu": _relu, "silu": _silu}[network["activation"]]
        self._actions = {name: number for number, name in enumerate(manifest["actions"])}
        (phase,) = [block for block in blocks if block["name"] == "phase"]
        self._phase = slice(phase["offset"], phase["offset"] + phase["length"])
        seen = network["inputs"]
        columns = [
            column for block in blocks if seen is None or block["name"] in seen
            for column in range(block["offset"], block["offset"] + block["length"])
        ]  # fmt: skip
        self._seen = columns
        self._orders: dict[tuple[int, ...], tuple[dict[int, int], list[int]]] = {}
        scale = [
            entry for block in blocks
            for entry in itertools.islice(itertools.cycle(
                block["scale"] if isinstance(block["scale"], list) else [block["scale"]]),
                block["length"])
        ]  # fmt: skip
        self._make_layers([scale[column] for column in columns])

    def _make_layers(self, scale: list[float]) -> None:
        manifest, network = self.manifest, self.manifest["network"]
        hidden = network["hidden"]

        def stack(name: str) -> list[_Layer]:
            first = [self._layer(f"{name}.0", scale)]
            return first + [
                self._layer(f"{name}.{i}", [1.0] * hidden[i - 1]) for i in range(1, len(hidden))
            ]

        self._trunk = stack("trunk")
        self._value_trunk = stack("value_trunk") if network["trunk"] == "separate" else None
        count = len(manifest["actions"])
        phases = len(manifest["phases"]) if network["heads"] == "phase" else 1
        ones = [1.0] * hidden[-1]
        rows = [slice(count * phase, count * (phase + 1)) for phase in range(phases)]
        if len(self._tensors["policy.bias"][1]) != count * phases:
            _refuse("manifest.json: weights.tensors", "policy has the wrong size")
        self._policies = [self._layer("policy", ones, part) for part in rows]
        self._value = self._layer("value", ones)

    def _layer(self, name: str, scale: list[float], rows: slice = slice(None)) -> _Layer:
        try:
            shape, values = self._tensors[f"{name}.weight"]
            _, bias = self._tensors[f"{name}.bias"]
        except KeyError as error:
            _refuse("manifest.json: weights.tensors", f"{error.args[0]} is missing")
        width = len(scale)
        if list(shape) != [len(bias), width]:
            _refuse("manifest.json: weights.tensors", f"{name} has the wrong shape")
        weight = [
            [w * s for w, s in zip(values[width * row : width * (row + 1)], scale)]
            for row in range(len(bias))[rows]
        ]
        return _Layer(weight, list(bias[rows]))

    def observe(self, view: dict[str, Any]) -> bytearray:
        """The observation of a view."""
        return observe(view, self.manifest)

    def run(self, observation: bytes | bytearray) -> tuple[list[float], float]:
        """Unmasked logits by action number and the value, from an observation."""
        inputs, actions = self._order(observation)
        pairs = [
            (inputs[column], value)
            for column, value in enumerate(observation)
            if value and column in inputs
        ]
        hidden = self._hidden(self._trunk, pairs)
        phase = max(observation[self._phase].find(1), 0) if len(self._policies) > 1 else 0
        canonical = self._policies[phase].run_floats(hidden)
        logits = [0.0] * len(canonical)
        for action, logit in zip(actions, canonical):
            logits[action] = logit
        last = self._hidden(self._value_trunk, pairs) if self._value_trunk else hidden
        return logits, self._value.run_floats(last)[0]

    def _order(self, observation: bytes | bytearray) -> tuple[dict[int, int], list[int]]:
        """With the crops sorted: the input of each plain column seen, the action of each output."""
        symmetry = self.manifest["symmetry"]
        weights = symmetry["key_weights"]
        keys = [
            sum(weight * observation[column] for weight, column in zip(weights, columns))
            for columns in symmetry["key_columns"]
        ]
        order = tuple(sorted(range(len(keys)), key=keys.__getitem__, reverse=True))
        if order not in self._orders:
            index = _columns(self.manifest, order)
            inputs = {index[column]: number for number, column in enumerate(self._seen)}
            actions = _put(len(self._actions), symmetry["actions"], order)
            self._orders[order] = inputs, actions
        return self._orders[order]

    def _hidden(self, layers: list[_Layer], pairs: list[tuple[int, int]]) -> list[float]:
        values = self._act(layers[0].run(pairs, 1.0))
        for layer in layers[1:]:
            values = self._act(layer.run_floats(values))
        return values

    def evaluate(
        self, view: dict[str, Any], temperature: float = 0, seed: int = 0
    ) -> dict[str, Any]:
        """The bot's move, every legal move with its probability, and the value."""
        observation = self.observe(view)
        names = _list(view.get("legal"), "legal")
        if not names:
            _refuse("legal", "is empty: it is not this seat's turn")
        for name in names:
            if not isinstance(name, str) or name not in self._actions:
                _refuse("legal", f"{_short(name)} is no move")
        logits, value = self.run(observation)
        legal = sorted(names, key=self._actions.__getitem__)
        chosen = [logits[self._actions[name]] for name in legal]
        highest = max(chosen)
        log_total = math.log(sum(math.exp(logit - highest) for logit in chosen))
        logs = [logit - highest - log_total for logit in chosen]
        moves = [
            {"move": name, "probability": math.exp(entry), "log_probability": entry}
            for name, entry in zip(legal, logs)
        ]
        return {"move": legal[_pick(logs, temperature, seed)], "moves": moves, "value": value}

    def move(self, view: dict[str, Any], temperature: float = 0, seed: int = 0) -> str:
        """The bot's move: the best one, or a sample of its policy at a temperature."""
        return self.evaluate(view, temperature, seed)["move"]


def _pick(logs: list[float], temperature: float, seed: int) -> int:
    """Index of the highest entry (the first of equals), or of a sample at a temperature."""
    if not temperature >= 0:
        _refuse("temperature", "must be 0 or more")
    _whole(seed, "seed", 0, 2**32 - 1)
    highest = max(logs)
    if temperature == 0:
        return logs.index(highest)
    weights = [math.exp((entry - highest) / temperature) for entry in logs]
    left = uniform(seed) * sum(weights)
    for number, weight in enumerate(weights):
        left -= weight
        if left < 0:
            return number
    return len(weights) - 1


def load(manifest: dict[str, Any], weights: bytes) -> Bot:
    """A bot from the parsed manifest.json and the bytes of weights.bin; raises KolkhozBotError."""
    try:
        return Bot(manifest, bytes(weights))
    except (AttributeError, IndexError, KeyError, OverflowError, TypeError, ValueError) as error:
        if isinstance(error, KolkhozBotError):
            raise
        raise KolkhozBotError(f"manifest.json: damaged ({_short(error)})") from None


def load_folder(folder: str | Path) -> Bot:
    """A bot from a bundle's folder."""
    files = []
    for name in ("manifest.json", "weights.bin"):
        path = Path(folder) / name
        if not path.is_file() or path.stat().st_size > _LARGEST_FILE:
            _refuse(str(path), "is missing or too large to be a bot's")
        files.append(path.read_bytes())
    try:
        manifest = json.loads(files[0])
    except (ValueError, RecursionError):
        _refuse("manifest.json", "is not JSON")
    return load(manifest, files[1])
