"""The settings of a running study: budget, cap, how long coupons are valid, what is paid, how far clocks may be off."""

from dataclasses import dataclass
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

LARGEST_BUDGET = 10_000_000
LARGEST_CAP = 100
LONGEST_DAYS = 3_650
LARGEST_AMOUNT = 100_000_000
LONGEST_TEXT = 1_000
"""Characters of a reason, an answer or a name."""


@dataclass(frozen=True)
class Settings:
    """What the manager decides before the study begins, and may change later with a reason."""

    budget: int
    """Coupons for the whole study; codes of seeds do not count."""
    cap: int
    """Most coupons one person may get in the whole study."""
    active_after_days: int = 0
    """Days from the day of issue to the first day on which a coupon is valid."""
    valid_days: int = 28
    """Number of days on which a coupon is valid."""
    interview_payment: int = 0
    """For an interview, in the smallest unit of the currency."""
    recruiting_payment: int = 0
    """To the holder of a coupon with which somebody came, in the smallest unit of the currency."""
    currency: str = "EUR"
    timezone: str = "UTC"
    """The days on coupons are days here, such as Europe/Lisbon."""
    clock_ahead_minutes: int = 15
    """A device whose clock is further ahead of the server's is refused."""
    clock_behind_hours: int = 72
    """A device whose clock is further behind, or that sends what it recorded longer ago, is refused."""

    def limits(self) -> dict[str, tuple[int, int]]:
        """Smallest and largest value of each setting that is a number."""
        return {
            "budget": (0, LARGEST_BUDGET),
            "cap": (1, LARGEST_CAP),
            "active_after_days": (0, LONGEST_DAYS),
            "valid_days": (1, LONGEST_DAYS),
            "interview_payment": (0, LARGEST_AMOUNT),
            "recruiting_payment": (0, LARGEST_AMOUNT),
            "clock_ahead_minutes": (1, 24 * 60),
            "clock_behind_hours": (1, 24 * 30),
        }

    @property
    def has_currency(self) -> bool:
        """Whether the currency is written as one."""
        return (
            len(self.currency) == 3 and self.currency.isascii() and self.currency.isalpha() and self.currency.isupper()
        )

    @property
    def has_timezone(self) -> bool:
        """Whether the time zone is known."""
        try:
            ZoneInfo(self.timezone)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            return False
        return True
