"""What is wrong with a config, in one line: where the value stands, the value, what is allowed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from .config_algorithms import PpoPart, Sb3Part
from .config_model import TrainingConfig, part_models
from .config_parts import shown

#: The validator's kinds of errors in the lab's words, filled in with the limits of the key.
WORDS = {
    "greater_than": "should be above {gt}",
    "greater_than_equal": "should be at least {ge}",
    "less_than": "should be below {lt}",
    "less_than_equal": "should be at most {le}",
    "finite_number": "should be a finite number",
    "string_type": "should be a text",
    "bool_type": "should be true or false",
    "tuple_type": "should be a list",
    "dict_type": "should be a mapping",
    "literal_error": "should be {expected}",
    "union_tag_invalid": "should be one of {expected_tags}",
    "too_short": "should have at least {min_length} entry",
}
#: Kinds of errors that say that a part is no mapping.
NO_MAPPING = ("model_type", "model_attributes_type")


@dataclass(frozen=True)
class Source:
    """Where a config's values stand: in its file, or in a text of `--set` that went before it."""

    file: str
    settings: tuple[str, ...] = ()

    def place(self, key: str) -> str:
        """The place of a key for a message: ``x.yaml: a.b``, or ``--set a.b=1: a.b``."""
        for text in reversed(self.settings):
            name = text.partition("=")[0].strip()
            if f"{key}.".startswith(f"{name}.") or f"{name}.".startswith(f"{key}."):
                return f"--set {text}: {key}"
        return f"{self.file}: {key}"


def problem(data: dict[str, Any], error: dict[str, Any], source: Source) -> str:
    """One error of the validator as `place: key: value and what is allowed`."""
    location = [str(part) for part in error["loc"]]
    if len(location) > 1 and location[0] == "algorithm":
        del location[1]  # the name of the algorithm, by which its part was chosen
    kind, message = error["type"], str(error["msg"]).removeprefix("Value error, ")
    if kind == "union_tag_invalid":
        location.append("name")
    if location[-1:] == ["[key]"]:
        location, message, kind = location[:-2], "a key should be a text", "value_error"
    place = source.place(".".join(location)) if location else source.file
    if kind == "extra_forbidden":
        return f"{place}: unknown key; allowed: {', '.join(allowed_keys(data, location[:-1]))}"
    if kind == "invalid_key":
        return f"{place}: a key should be a text"
    if kind == "missing":
        return f"{place}: missing; it must be given"
    if kind == "value_error":
        return f"{place}: {message}"
    value = shown(data["algorithm"]["name"] if kind == "union_tag_invalid" else error["input"])
    if kind in NO_MAPPING:
        keys = ", ".join(allowed_keys(data, location))
        return f"{place}: {value} should be a mapping with keys of these: {keys}"
    if kind in WORDS:
        return f"{place}: {value} {WORDS[kind].format(**error.get('ctx', {}))}"
    return f"{place}: {value} is wrong: {message[0].lower()}{message[1:]}"


def allowed_keys(data: dict[str, Any], location: Sequence[str]) -> list[str]:
    """Keys that the part at `location` knows."""
    model: type[BaseModel] = TrainingConfig
    for part in location:
        if not part.isdigit():
            model = _part_model(model, part, data)
    return list(model.model_fields)


def is_list(data: dict[str, Any], location: Sequence[str]) -> bool:
    """Whether the key at `location` holds a list."""
    model: type[BaseModel] = TrainingConfig
    for part in location[:-1]:
        if part not in model.model_fields:
            return False
        model = _part_model(model, part, data)
    info = model.model_fields.get(location[-1])
    return info is not None and "tuple[" in str(info.annotation)


def _part_model(model: type[BaseModel], key: str, data: dict[str, Any]) -> type[BaseModel]:
    if key == "algorithm":
        part = data.get("algorithm")
        name = part.get("name") if isinstance(part, dict) else None
        return Sb3Part if name == "sb3_maskable_ppo" else PpoPart
    inner = part_models(model.model_fields[key].annotation)
    return inner[0] if inner else model
