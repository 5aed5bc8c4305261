"""A second implementation of Kolkhoz: plain, slow, one game at a time, written for reading.

It shares no code with `kolkhoz_env` and imports nothing from it. The engine is held against it at
every decision, and it is itself held against the games recorded by an independent reference.
"""

from .deals import DealProvider, RecordedDeals, ShuffledDeals
from .game import PlainGame, Position
from .plain_rules import PlainRules
from .replay import replay_record

__all__ = [
    "DealProvider",
    "PlainGame",
    "PlainRules",
    "Position",
    "RecordedDeals",
    "ShuffledDeals",
    "replay_record",
]
