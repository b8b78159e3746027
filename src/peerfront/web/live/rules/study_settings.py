"""The settings of a running study: name, budget, cap, coupons and their text, payments, questions, planning, clocks."""

import re
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

LARGEST_BUDGET = 10_000_000
LARGEST_CAP = 100
LONGEST_DAYS = 3_650
LARGEST_AMOUNT = 100_000_000
LONGEST_TEXT = 1_000
"""Characters of a reason, an answer or a name."""
MOST_QUESTIONS = 100
MOST_CHOICES = 100
_QUESTION_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")


class QuestionKind(StrEnum):
    """How a question is answered."""

    CHOICE = "choice"
    NUMBER = "number"
    TEXT = "text"


@dataclass(frozen=True)
class Question:
    """A question asked at enrolment; its answers are a column of the export and may be used for planning."""

    name: str
    """The column: small letters, digits and underscores."""
    text: str
    """The wording for the interviewer."""
    kind: QuestionKind = QuestionKind.CHOICE
    choices: tuple[str, ...] = ()
    """The choices; empty for other kinds."""
    for_planning: bool = True
    """Whether plans may use the answers. Sensitive ones should not be used without a reason."""

    @property
    def fault(self) -> str | None:
        """Name what is wrong with the question; None if nothing is."""
        if not _QUESTION_NAME.fullmatch(self.name):
            return "question_name"
        if not 0 < len(self.text.strip()) <= LONGEST_TEXT:
            return "question_text"
        if self.kind is QuestionKind.CHOICE:
            stripped = [each.strip() for each in self.choices]
            fits = 2 <= len(stripped) <= MOST_CHOICES and len(set(stripped)) == len(stripped)
            return None if fits and all(0 < len(each) <= 100 for each in stripped) else "choices"
        return "choices" if self.choices else None


@dataclass(frozen=True)
class CouponText:
    """The study's own text on its coupons, beside code and days; what is empty is left out, or as in other studies."""

    language: str = ""
    """Its code, such as es; empty for all languages that have no text of their own."""
    title: str = ""
    """Instead of the study's name."""
    text: str = ""
    reward: str = ""
    address: str = ""
    hours: str = ""
    telephone: str = ""
    below: str = ""
    """The last line, such as "Bring this coupon"."""


COUPON_LENGTHS = {
    "title": 60, "text": 300, "reward": 80, "address": 160, "hours": 80, "telephone": 40, "below": 160, "language": 20,
}  # fmt: skip
"""Most characters of each part of the text on a coupon."""


@dataclass(frozen=True)
class Settings:
    """The settings that the manager decides before the study begins, and may change later with a reason."""

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
    """The time zone of the days on coupons, such as Europe/Lisbon."""
    clock_ahead_minutes: int = 15
    """The most by which a device's clock may be ahead of the server's."""
    clock_behind_hours: int = 72
    """The most by which a device's clock may be behind, or by which it may send a record late."""
    name: str = "Study"
    """The study's name on pages, coupons and reports."""
    questions: tuple[Question, ...] = ()
    """The questions, in this order; the number of acquaintances is always asked."""
    rounds: int = 5
    """Rounds for which plans look ahead, this one included."""
    target: int | None = None
    """Target number of recruits; None if there is none."""
    deadline: date | None = None
    """The last day of recruitment; None if it is open."""
    plan_strata: tuple[str, ...] = ()
    """Questions that form the strata: everybody in a stratum is planned alike, so that estimates stay valid."""
    plan_randomise: float = 0.0
    """Share of people who get a random number of coupons, which shows what a coupon does."""
    at_least_one: bool | None = field(default=None, metadata={"later": True})
    """Whether plans give everybody at least one coupon while coupons last; None: not decided, and plans ask."""
    coupon_texts: tuple[CouponText, ...] = field(default=(), metadata={"later": True})
    """The study's own text on coupons, at most one in each language."""

    def coupon_text(self, language: str) -> CouponText | None:
        """The text in this language, otherwise that for all, otherwise the first; None without any."""
        by_language = {each.language: each for each in self.coupon_texts}
        return by_language.get(language) or by_language.get("") or next(iter(self.coupon_texts), None)

    def limits(self) -> dict[str, tuple[float, float]]:
        """Return the smallest and the largest value of each setting that is a number."""
        return {
            "budget": (0, LARGEST_BUDGET),
            "cap": (1, LARGEST_CAP),
            "active_after_days": (0, LONGEST_DAYS),
            "valid_days": (1, LONGEST_DAYS),
            "interview_payment": (0, LARGEST_AMOUNT),
            "recruiting_payment": (0, LARGEST_AMOUNT),
            "clock_ahead_minutes": (1, 24 * 60),
            "clock_behind_hours": (1, 24 * 30),
            "rounds": (1, 100),
            "target": (1, LARGEST_BUDGET),
            "plan_randomise": (0, 0.5),
        }

    @property
    def has_currency(self) -> bool:
        """Whether the currency consists of three capital letters."""
        return (
            len(self.currency) == 3 and self.currency.isascii() and self.currency.isalpha() and self.currency.isupper()
        )

    @property
    def has_timezone(self) -> bool:
        """Whether the time zone exists."""
        try:
            ZoneInfo(self.timezone)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            return False
        return True

    @property
    def fault_of_questions(self) -> str | None:
        """Name what is wrong with the questions or the groups made of them; None if nothing is."""
        names = [each.name for each in self.questions]
        if len(names) > MOST_QUESTIONS or len(set(names)) != len(names):
            return "questions"
        fault = next((each.fault for each in self.questions if each.fault), None)
        return fault or (None if set(self.plan_strata) <= set(names) else "plan_strata")
