"""Errors that a user of the agents can cause, each with a message that says what would be right."""

from __future__ import annotations

from kolkhoz_env.errors import KolkhozError


class AgentError(KolkhozError):
    """An agent's name, option or folder is wrong."""


class EvaluationError(KolkhozError):
    """A referee's argument or file is wrong."""
