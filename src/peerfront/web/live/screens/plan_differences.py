"""What differs between two plans: who is new, who is there no more, and who gets another number. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

MOST_NAMED = 30
"""People whom a list of differences names."""


@dataclass(frozen=True)
class Differences:
    """A plan beside the one before it."""

    new: tuple[str, ...]
    gone: tuple[str, ...]
    other: tuple[tuple[str, int, int], ...]
    """Person, number before, number now."""
    same: int

    @property
    def is_any(self) -> bool:
        return bool(self.new or self.gone or self.other)

    @property
    def new_named(self) -> tuple[str, ...]:
        return self.new[:MOST_NAMED]

    @property
    def gone_named(self) -> tuple[str, ...]:
        return self.gone[:MOST_NAMED]

    @property
    def other_named(self) -> tuple[tuple[str, int, int], ...]:
        return self.other[:MOST_NAMED]

    @property
    def others_left_out(self) -> int:
        return len(self.other) - len(self.other_named)

    @property
    def new_left_out(self) -> int:
        return len(self.new) - len(self.new_named)

    @property
    def gone_left_out(self) -> int:
        return len(self.gone) - len(self.gone_named)


def differences(before: Mapping[str, int], now: Mapping[str, int]) -> Differences:
    """Compare two plans, each of people with their numbers of coupons."""
    both = sorted(before.keys() & now.keys())
    other = tuple((person, before[person], now[person]) for person in both if before[person] != now[person])
    new, gone = tuple(sorted(now.keys() - before.keys())), tuple(sorted(before.keys() - now.keys()))
    return Differences(new, gone, other, len(both) - len(other))
