"""What config models are made of: strict parts, kinds of numbers, and how a value is shown."""

from __future__ import annotations

import math
import reprlib
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from kolkhoz_env.errors import KolkhozError


class ConfigError(KolkhozError):
    """A config file or override is wrong; its text names file, key, value and what is allowed."""


def shown(value: Any) -> str:
    """A value as YAML would have it, for a message: short, whatever it holds."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return _short.repr(value)


_short = reprlib.Repr()
_short.maxstring, _short.maxother, _short.maxlong, _short.maxlevel = 60, 60, 40, 2
_short.maxlist = 40


def _real(value: Any) -> Any:
    """A number; neither true nor a text is one."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{shown(value)} should be a number")
    return value


def _whole(value: Any) -> Any:
    """A whole number, also one that is written as 2e7; neither true nor a text is one."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or value != int(value):
        raise ValueError(f"{shown(value)} should be a whole number")
    return int(value)


Whole = Annotated[int, BeforeValidator(_whole)]
Real = Annotated[float, BeforeValidator(_real)]
Seed = Annotated[Whole, Field(ge=0, le=2**63 - 1)]
Count = Annotated[Whole, Field(ge=1)]
Several = Annotated[Whole, Field(ge=2)]
#: A number of games or decisions that are held in memory at once, some 100 KB a game.
Batch = Annotated[Whole, Field(ge=1, le=1_000_000)]
#: A number of deals whose figures get an interval, which one deal has not.
Deals = Annotated[Whole, Field(ge=2, le=10_000_000)]
Weight = Annotated[Real, Field(ge=-1000, le=1000)]
Natural = Annotated[Real, Field(ge=0)]
Fraction = Annotated[Real, Field(ge=0, le=1)]
Positive = Annotated[Real, Field(gt=0)]


class Part(BaseModel):
    """A part of the config: immutable, and strict about its keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)
