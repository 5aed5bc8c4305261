"""What can be wrong with a bundle."""

from __future__ import annotations

from typing import NoReturn

from kolkhoz_env.errors import KolkhozError


class BundleError(KolkhozError):
    """A bundle is damaged, hostile, or a bot cannot be exported; one line names file and key."""


def refuse(place: str, what: str) -> NoReturn:
    """Raise :class:`BundleError` with the text ``PLACE: WHAT``."""
    raise BundleError(f"{place}: {what}")
