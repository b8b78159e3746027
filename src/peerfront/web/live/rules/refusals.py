"""Why something is refused: a reason and its arguments.

The sentences (what was found, what to do) stand in `words/messages/live_refusals.toml`. Arguments are plain text, never
markup. Days are written as 2026-03-02; arguments in `TERMS` are words of the program, to be translated as well.
"""

from dataclasses import dataclass
from enum import StrEnum

from peerfront.foundation.messages import Message
from peerfront.foundation.shown import visible


class Reason(StrEnum):
    """Why a request is refused."""

    MISTYPED = "mistyped"
    OTHER_STUDY = "other_study"
    UNKNOWN = "unknown"
    UNLISTED = "unlisted"
    NOT_YET_ACTIVE = "not_yet_active"
    EXPIRED = "expired"
    USED = "used"
    VOIDED = "voided"
    OWN_COUPON = "own_coupon"
    CYCLE = "cycle"
    ALREADY_ENROLLED = "already_enrolled"
    PSEUDONYM_TAKEN = "pseudonym_taken"
    OVER_CAP = "over_cap"
    OVER_BUDGET = "over_budget"
    OVER_DECISION = "over_decision"
    SECOND_TIME = "second_time"
    NO_APPROVED_PLAN = "no_approved_plan"
    NO_DECISION = "no_decision"
    OTHER_MODEL = "other_model"
    PLAN_NOT_OPEN = "plan_not_open"
    PLAN_OUTDATED = "plan_outdated"
    ROLE = "role"
    SITE = "site"
    WHOLE_STUDY = "whole_study"
    CLOCK = "clock"
    SERVER_CLOCK = "server_clock"
    CLOCK_JUMP = "clock_jump"
    CLOCK_GAP = "clock_gap"
    NOT_BEGUN = "not_begun"
    BEGUN = "begun"
    NO_SITE = "no_site"
    SITE_EXISTS = "site_exists"
    NO_PERSON = "no_person"
    WITHDRAWN = "withdrawn"
    NOT_WITHDRAWN = "not_withdrawn"
    NO_ANSWERS = "no_answers"
    ANSWERS_RECORDED = "answers_recorded"
    NO_PLAN = "no_plan"
    NOT_IN_PLAN = "not_in_plan"
    PAID = "paid"
    NOT_OWED = "not_owed"
    NOT_ISSUED = "not_issued"
    NOT_LATER = "not_later"
    NO_REASON = "no_reason"
    OUT_OF_RANGE = "out_of_range"
    TEXT_LENGTH = "text_length"
    BAD_NAME = "bad_name"
    TWICE = "twice"
    SETTINGS_CHANGED = "settings_changed"
    CURRENCY = "currency"
    TIMEZONE = "timezone"
    QUESTIONS = "questions"
    KEY_REUSED = "key_reused"
    IMPORT_ENTRY = "import_entry"
    IMPORT_PERSON_TWICE = "import_person_twice"
    IMPORT_COUPON_TWICE = "import_coupon_twice"
    IMPORT_RECRUITER = "import_recruiter"
    IMPORT_CYCLE = "import_cycle"
    IMPORT_CODE = "import_code"
    IMPORT_CONFLICT = "import_conflict"


TERMS = frozenset({"action", "allowed", "kind", "name", "role", "status"})
"""Arguments whose values are names of actions, roles, kinds of payment, states of a plan, or fields of a form."""


@dataclass(frozen=True)
class Refusal:
    """A reason with the values of its sentences."""

    reason: Reason
    arguments: tuple[tuple[str, str], ...] = ()

    @property
    def messages(self) -> tuple[Message, Message]:
        """Two messages: why the request is refused, and what to do about it."""
        values = {name: visible(value.replace("_", " ") if name in TERMS else value) for name, value in self.arguments}
        return Message(f"refusal_found.{self.reason}", values), Message(f"refusal_to_do.{self.reason}", values)

    def __str__(self) -> str:
        return " ".join(map(str, self.messages))


def refusal(reason: Reason, **arguments: object) -> Refusal:
    """Make a refusal; numbers, days and names become text."""
    return Refusal(reason, tuple((name, str(value)) for name, value in sorted(arguments.items())))


class Refuse(Exception):
    """Raised by a rule that refuses the request."""

    def __init__(self, reason: Reason, **arguments: object) -> None:
        super().__init__(reason)
        self.refusal = refusal(reason, **arguments)
