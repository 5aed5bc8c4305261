"""A config documented from its model: every key, its meaning, and its value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml
from pydantic_core import PydanticUndefined

from .config_algorithms import BeliefPart, Sb3Part
from .config_model import TrainingConfig, part_models
from .config_parts import Part


def explain(config: TrainingConfig | None) -> str:
    """YAML with a comment on every key: the values of `config`, or the defaults."""
    lines = ["# Every key of a training config. A key that is left out has the value shown here."]
    lines += _part(TrainingConfig, config, 0)
    return "\n".join(lines)


def _part(model: type[Part], value: Part | None, depth: int) -> Iterator[str]:
    """The lines of one part, indented by its depth."""
    margin = "  " * depth
    for key, info in model.model_fields.items():
        given = getattr(value, key) if value is not None else info.get_default(
            call_default_factory=True
        )  # fmt: skip
        comment = info.description or ""
        inner = _inner(info.annotation, given)
        if inner is None:
            yield f"{margin}{key}: {_flow(given)}  # {comment}"
            if given is None and part_models(info.annotation):
                yield from _keys(part_models(info.annotation)[0], f"{margin}  # ")
        elif isinstance(given, tuple):
            yield f"{margin}{key}:  # {comment}"
            for entry in given:
                yield from _entry(inner, entry, depth + 1)
        elif getattr(info.annotation, "__origin__", None) is tuple:
            yield f"{margin}{key}:  # {comment}"
            yield from _entry(inner, None, depth + 1)
        else:
            yield f"{margin}{key}:  # {comment}"
            yield from _part(inner, given if isinstance(given, Part) else None, depth + 1)
            if key == "algorithm" and value is None:
                yield from _other_algorithm("with MaskablePPO", Sb3Part, depth + 1)
                yield from _other_algorithm("a belief for search", BeliefPart, depth + 1)


def _entry(model: type[Part], value: Any, depth: int) -> Iterator[str]:
    """One part in a list, with a dash before its first key."""
    lines = list(_part(model, value, depth + 1))
    margin = "  " * depth
    yield f"{margin}- {lines[0].lstrip()}"
    yield from lines[1:]


def _other_algorithm(what: str, model: type[Part], depth: int) -> Iterator[str]:
    """The keys of another algorithm, as comments: they stand in place of PPO's."""
    margin, name = "  " * depth, model.model_fields["name"]
    yield f"{margin}# or, {what}:"
    yield f"{margin}# name: {_flow(_only(name.annotation))}  # {name.description}"
    yield from list(_keys(model, f"{margin}# "))[1:]


def _only(annotation: Any) -> Any:
    """The one value that a Literal allows."""
    return annotation.__args__[0]


def _keys(model: type[Part], margin: str) -> Iterator[str]:
    """The keys of a part that is not there, as comments."""
    yield from (f"{margin}{line}" for line in _part(model, None, 0))


def _inner(annotation: Any, value: Any) -> type[Part] | None:
    """The part that a key holds, if it holds one."""
    if isinstance(value, Part):
        return type(value)
    if value is None or value is PydanticUndefined:
        models = part_models(annotation)
        return models[0] if value is PydanticUndefined and models else None
    if isinstance(value, tuple) and value and isinstance(value[0], Part):
        return type(value[0])
    return None


def _flow(value: Any) -> str:
    """A plain value as YAML on one line."""
    if value is PydanticUndefined:
        return "..."
    if isinstance(value, tuple):
        value = list(value)
    text = yaml.safe_dump(value, default_flow_style=True, width=1000)
    return text.removesuffix("\n").removesuffix("\n...").strip()
