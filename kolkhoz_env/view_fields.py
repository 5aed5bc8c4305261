"""The fields of a view, one by one: from JSON values to numbers, refusing what has another form.

Every function takes a value and the name of its field and raises
:class:`~kolkhoz_env.errors.ViewError` with a text that begins with that name.
"""

from __future__ import annotations

import json
import reprlib
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from kolkhoz_env.cards import CROPS, NO_CROP, action_number, card_name, card_number
from kolkhoz_env.errors import ViewError

#: Longest text that is taken for a view; a long one has some 6,000 characters.
MAX_TEXT = 1 << 20

_repr = reprlib.Repr()
_repr.maxstring, _repr.maxlong, _repr.maxdict, _repr.maxlist, _repr.maxlevel = 40, 24, 3, 4, 2
#: A value for a message: never long, whatever was sent.
short = _repr.repr


def refuse(field: str, what: str) -> NoReturn:
    """Raise :class:`ViewError` with the text ``FIELD: WHAT``."""
    raise ViewError(f"{field}: {what}")


def parse_text(text: str) -> Any:
    """The JSON value of a text; refuses a key that stands twice, NaN and too much of anything."""
    if len(text) > MAX_TEXT:
        refuse("view", f"a text of {len(text)} characters; at most {MAX_TEXT} are read")
    try:
        return json.loads(text, object_pairs_hook=_object, parse_constant=_no_number)
    except ViewError:
        raise
    except RecursionError:
        refuse("view", "JSON nested too deeply")
    except ValueError as error:
        refuse("view", f"not JSON: {error}")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        refuse("view", f"key {short(twice)} stands twice in one object")
    return value


def _no_number(text: str) -> NoReturn:
    refuse("view", f"{text} is not a number of JSON")


def table(value: Any, field: str, keys: Sequence[str]) -> Mapping[str, Any]:
    """An object with exactly these keys."""
    if not isinstance(value, Mapping):
        refuse(field, f"{short(value)} is not an object")
    if len(value) != len(keys) or any(key not in value for key in keys):
        for key in keys:
            if key not in value:
                refuse(_inside(field, key), "is missing")
        for key in value:
            if key not in keys:
                refuse(_inside(field, str(short(key)).strip("'")), "no such field")
    return value


def _inside(field: str, key: str) -> str:
    return key if field == "view" else f"{field}.{key}"


def whole(value: Any, field: str, low: int, high: int) -> int:
    """A whole number within bounds."""
    if type(value) is not int or not low <= value <= high:
        refuse(field, f"{short(value)} is not a whole number from {low} to {high}")
    return value


def flag(value: Any, field: str) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        refuse(field, f"{short(value)} is not true or false")
    return value


def listed(value: Any, field: str, length: int | None = None) -> list[Any]:
    """A list, of a given length if one is given."""
    if not isinstance(value, list):
        refuse(field, f"{short(value)} is not a list")
    if length is not None and len(value) != length:
        refuse(field, f"{len(value)} entries instead of {length}")
    return value


def card(value: Any, field: str, deck: int) -> int:
    """The number of a card of the deck."""
    try:
        number = card_number(value)
    except ValueError:
        refuse(field, f"{short(value)} is not a card (W1 .. B13 or X0)")
    if not deck >> number & 1:
        refuse(field, f"{value} is not in the deck of these rules")
    return number


def zone(value: Any, field: str, deck: int) -> int:
    """The bitboard of a list of different cards."""
    bits = 0
    for name in listed(value, field):
        bit = 1 << card(name, field, deck)
        if bits & bit:
            refuse(field, f"{name} stands twice")
        bits |= bit
    return bits


def crop(value: Any, field: str, crops: str) -> int:
    """The number of a crop; null is :data:`NO_CROP`."""
    if value is None:
        return NO_CROP
    if not isinstance(value, str) or len(value) != 1 or value not in crops:
        refuse(field, f"{short(value)} is not one of {' '.join(crops)}")
    return CROPS.index(value)


def crop_set(value: Any, field: str, crops: str) -> int:
    """Bits of a list of different crops."""
    bits = 0
    for name in listed(value, field):
        number = crop(name, field, crops)
        if number == NO_CROP or bits >> number & 1:
            refuse(field, f"{short(name)} stands twice or is no crop")
        bits |= 1 << number
    return bits


def moves(value: Any, field: str) -> int:
    """Bits of a list of different moves."""
    bits = 0
    for name in listed(value, field):
        try:
            bit = 1 << action_number(name)
        except ValueError:
            refuse(field, f"{short(name)} is not a move (a card, one of W S P B, or pass)")
        if bits & bit:
            refuse(field, f"{name} stands twice")
        bits |= bit
    return bits


def card_text(bits: int) -> str:
    """The first card of a zone, for a message."""
    return card_name((bits & -bits).bit_length() - 1)
