"""Numbers in sentences."""

from __future__ import annotations


def counted(count: int, one: str) -> str:
    """`1 deal`, `2,000 deals`."""
    return f"{count:,} {one}{'' if count == 1 else 's'}"
