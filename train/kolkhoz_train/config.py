"""Configs as text: reading a file, setting keys of it from the command line, writing it out.

A config is YAML (safe loading), one mapping with the parts of `config_model.TrainingConfig`.
Unknown keys are refused; an error names the file, the key, the value and what is allowed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from .config_messages import Source, is_list, problem
from .config_model import TrainingConfig
from .config_parts import ConfigError, shown

#: YAML 1.1 takes 2e7 and 1e-4 for texts: its numbers have a point, and a sign in the exponent.
_EXPONENT = re.compile(r"[-+]?(?:[0-9][0-9_]*(?:\.[0-9_]*)?|\.[0-9][0-9_]*)[eE][-+]?[0-9]+")


class _Loader(yaml.SafeLoader):
    """The safe loader; a key that is given twice is an error instead of the last one's win."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
            if key.value in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key.value!r} is given twice", key.start_mark
                )
            seen.add(key.value)
        return super().construct_mapping(node, deep)


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(f"^{_EXPONENT.pattern}$"), list("-+.0123456789")
)


def read_config(path: Path, overrides: Sequence[str] = ()) -> TrainingConfig:
    """Read a config file and apply ``key.path=value`` overrides. Raises `ConfigError`."""
    try:
        data = _load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not YAML: not UTF-8 text (byte {error.start + 1})") from error
    except RecursionError as error:
        raise ConfigError(f"{path}: not YAML: nested too deeply") from error
    except (yaml.YAMLError, ValueError) as error:
        text = " ".join(str(error).split()).replace('in "<unicode string>", ', "")
        raise ConfigError(f"{path}: not YAML: {text}") from error
    if not isinstance(data, dict):
        raise ConfigError(f"{path}: should hold a mapping with keys like game, network, budget")
    for override in overrides:
        _override(data, override)
    return parse_config(data, str(path), overrides)


def parse_config(data: dict[str, Any], where: str, overrides: Sequence[str] = ()) -> TrainingConfig:
    """Validate a config's content. Raises `ConfigError`.

    Errors name `where`, or the override that a wrong value comes from.
    """
    try:
        return TrainingConfig.model_validate(data)
    except ValidationError as error:
        source = Source(where, tuple(overrides))
        found = [dict(each) for each in error.errors(include_url=False)]
        problems = [problem(data, each, source) for each in found if not _echoes(each, found)]
        raise ConfigError("; ".join(problems)) from error


def _echoes(error: dict[str, Any], others: list[dict[str, Any]]) -> bool:
    """Whether an error follows from another: a list is too short without its wrong entries."""
    place = error["loc"]
    inner = (other["loc"] for other in others if len(other["loc"]) > len(place))
    return error["type"] == "too_short" and any(loc[: len(place)] == place for loc in inner)


def dump_config(config: TrainingConfig) -> str:
    """The resolved config as YAML, every key written out."""
    values = config.model_dump(mode="json")
    return yaml.safe_dump(values, sort_keys=False, width=100, allow_unicode=True)


def _load(text: str) -> Any:
    loader = _Loader(text)
    try:
        return loader.get_single_data()
    finally:
        loader.dispose()


def _override(data: dict[str, Any], text: str) -> None:
    """Apply one ``a.b=c`` to the raw content; the value is read as YAML."""
    path, equals, value = text.partition("=")
    keys = path.strip().split(".")
    if not equals or not all(keys):
        raise ConfigError(f"--set {text}: should be key.path=value")
    try:
        parsed = _load(value)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ConfigError(f"--set {text}: the value is not YAML") from error
    place: Any = data
    for number, key in enumerate(keys[:-1]):
        if isinstance(place, dict) and not place.get(key) and is_list(data, keys[: number + 1]):
            name = ".".join(keys[: number + 1])
            raise ConfigError(
                f"--set {text}: the file gives no list {name}; set all of it: {name}=[...]"
            )
        place = _descend(place, key, text)
    if isinstance(place, list):
        place[_index(place, keys[-1], text)] = parsed
    else:
        place[keys[-1]] = parsed


def _descend(place: Any, key: str, text: str) -> Any:
    if isinstance(place, list):
        inner = place[_index(place, key, text)]
    else:
        inner = place.setdefault(key, {})
    if inner is None:
        inner = place[key] = {}
    if not isinstance(inner, dict | list):
        raise ConfigError(f"--set {text}: {key} holds {shown(inner)}, which has no parts")
    return inner


def _index(place: list[Any], key: str, text: str) -> int:
    if not key.isdigit() or int(key) >= len(place):
        allowed = f"an entry from 0 to {len(place) - 1}" if place else "in a list with entries"
        raise ConfigError(f"--set {text}: {key} should be {allowed}")
    return int(key)


__all__ = ["ConfigError", "TrainingConfig", "dump_config", "parse_config", "read_config"]
