"""Options in an agent's text: `key=value,key=value`, checked against what the agent declares.

A value that has commas of its own (another agent with options) goes in parentheses:
`mix:play=(search:ms=100,worlds=8),rest=random`.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping, Sequence
from typing import Any

from kolkhoz_agents.errors import AgentError
from kolkhoz_agents.protocol import Option

TRUE = ("true", "yes", "on", "1")
FALSE = ("false", "no", "off", "0")


def split_options(text: str, where: str) -> dict[str, str]:
    """`a=1,b=(x:c=2,d=3)` as {"a": "1", "b": "x:c=2,d=3"}; AgentError says what is wrong."""
    result: dict[str, str] = {}
    for part in _split_at_commas(text, where):
        key, equals, value = part.partition("=")
        key, value = key.strip(), value.strip()
        if not equals or not key or not value:
            raise AgentError(f"{where}: {part.strip()!r} should have the form option=value")
        if key in result:
            raise AgentError(f"{where}: option {key!r} is given twice")
        result[key] = _without_parentheses(value)
    return result


def _split_at_commas(text: str, where: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for place, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth < 0:
            break
        if letter == "," and depth == 0:
            parts.append(text[start:place])
            start = place + 1
    if depth != 0:
        raise AgentError(f"{where}: the parentheses in {text!r} don't match")
    return [*parts, text[start:]]


def _without_parentheses(value: str) -> str:
    if not (value.startswith("(") and value.endswith(")")):
        return value
    depth = 0
    for place, letter in enumerate(value):
        depth += (letter == "(") - (letter == ")")
        if depth == 0 and place < len(value) - 1:
            return value
    return value[1:-1].strip()


def check_options(
    given: Mapping[str, str], declared: Sequence[Option], where: str
) -> dict[str, Any]:
    """The options as keyword arguments, of their declared kinds, defaults filled in.

    Raises AgentError for an unknown name, a value of another kind and a missing required option;
    the message says what is possible.
    """
    by_name = {option.name: option for option in declared}
    for name in given:
        if name not in by_name:
            raise AgentError(f"{where}: {unknown('option', name, list(by_name))}")
    result = {}
    for option in declared:
        if option.name in given:
            result[option.name] = _convert(given[option.name], option, where)
        elif option.required:
            raise AgentError(f"{where}: option {option.name!r} is missing: {option.help}")
        else:
            result[option.name] = option.default
    return result


def unknown(what: str, name: str, possible: Sequence[str]) -> str:
    """`unknown option 'mz'; did you mean 'ms'? allowed: ms, worlds`."""
    close = difflib.get_close_matches(name, possible, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ";"
    listed = ", ".join(possible) if possible else "none"
    return f"unknown {what} {name!r}{hint} allowed: {listed}"


def _convert(text: str, option: Option, where: str) -> Any:
    try:
        value = _parse(text, option.kind)
    except ValueError:
        wanted = {int: "a whole number", float: "a finite number", bool: "true or false"}[
            option.kind
        ]
        raise AgentError(f"{where}: option {option.name}={text} should be {wanted}") from None
    if option.choices and value not in option.choices:
        possible = ", ".join(map(str, option.choices))
        raise AgentError(f"{where}: option {option.name}={text} should be one of: {possible}")
    if option.minimum is not None and not value >= option.minimum:
        raise AgentError(
            f"{where}: option {option.name}={text} should be at least {option.minimum:g}"
        )
    if option.maximum is not None and not value <= option.maximum:
        raise AgentError(
            f"{where}: option {option.name}={text} should be at most {option.maximum:g}"
        )
    return value


def _parse(text: str, kind: type) -> Any:
    if kind is bool:
        if text.lower() not in TRUE + FALSE:
            raise ValueError(text)
        return text.lower() in TRUE
    value = kind(text)
    if kind is float and not math.isfinite(value):
        raise ValueError(text)
    return value
