"""Kolkhoz in numpy: rules, batches of games, environments, records."""

from kolkhoz_env.aec import env, raw_env
from kolkhoz_env.errors import (
    IllegalActionError,
    KolkhozError,
    RecordError,
    RulesError,
    ViewError,
)
from kolkhoz_env.game import KolkhozGame, make_game
from kolkhoz_env.knowledge import Knowledge
from kolkhoz_env.observation import OBSERVATION_VERSION, observation_table
from kolkhoz_env.registration import register
from kolkhoz_env.rules import PHASES, Rules
from kolkhoz_env.scoring import Outcome
from kolkhoz_env.vector import StepResult, VectorKolkhoz

__version__ = "0.1.0"

__all__ = [
    "OBSERVATION_VERSION",
    "PHASES",
    "IllegalActionError",
    "Knowledge",
    "KolkhozError",
    "KolkhozGame",
    "Outcome",
    "RecordError",
    "Rules",
    "RulesError",
    "StepResult",
    "VectorKolkhoz",
    "ViewError",
    "env",
    "make_game",
    "observation_table",
    "raw_env",
    "register",
]

register()
