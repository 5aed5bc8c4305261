"""The errors that the lab expects.

Every error that a user can cause (a wrong rule, move, record, file, agent, option) is a
`KolkhozError` whose message is one complete line: what is wrong, where, and what would be right.
The command line prints that line and exits with 2. Anything else is a defect of the lab and keeps
its traceback. The packages `kolkhoz_agents` and `kolkhoz_train` derive their own errors from it.
"""

from __future__ import annotations


class KolkhozError(ValueError):
    """Base of all expected errors; its text is one line that a user can act on."""


class RulesError(KolkhozError):
    """A rules option has an unknown name or an impossible value."""


class IllegalActionError(KolkhozError):
    """An action that is not legal; names game, seat, phase, action and what was legal."""


class RecordError(KolkhozError):
    """A record of a game is malformed, cut short, or disagrees with the engine."""


class ViewError(KolkhozError):
    """A seat's view is malformed or describes no possible position."""


class MissingExtraError(KolkhozError):
    """A part of the lab needs packages that an optional extra installs."""

    def __init__(self, what: str, extra: str, module: str) -> None:
        """`what` needs `module`, which `pip install 'kolkhoz-lab[extra]'` brings."""
        super().__init__(
            f"{what} needs the package {module!r}, which is not installed: "
            f"pip install 'kolkhoz-lab[{extra}]'"
        )
        self.extra = extra
        self.module = module
