"""Why something is refused, in words: what was found, and what to do.

A refusal is a reason and its arguments. The English sentences stand in one table; translations are looked up by them
and fill in the same arguments, which are plain text and never markup. Days are written as 2026-03-02; arguments in
`TERMS` are words of the program, to be translated as well.
"""

from dataclasses import dataclass
from enum import StrEnum

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


ENGLISH: dict[Reason, tuple[str, str]] = {
    Reason.MISTYPED: (
        "This is no coupon code: a character is wrong, missing, or two are swapped.",
        "Compare it with the coupon, character by character, and type it again. A code looks like K7M-4RT9-XC0.",
    ),
    Reason.OTHER_STUDY: (
        "Coupon {code} is a coupon of another study; coupons of this one begin with {prefix}.",
        "Do not enrol the person with it. Ask whether they have a coupon of this study.",
    ),
    Reason.UNKNOWN: (
        "No coupon with the code {code} was handed out in this study.",
        "Check that nothing was copied or made up, keep the coupon, and tell the coordinator.",
    ),
    Reason.UNLISTED: (
        "No coupon has the code that was typed.",
        "Compare it with the coupon, character by character, and type it again. Codes look like K7M-4RT9-XC0; if the"
        " coupon has a code of another form and it is typed as it stands, keep the coupon and tell the coordinator.",
    ),
    Reason.NOT_YET_ACTIVE: (
        "Coupon {code} is valid from {first_day}; today is {today}.",
        "Ask the person to come back on {first_day} or later, with the same coupon.",
    ),
    Reason.EXPIRED: (
        "Coupon {code} was valid until {last_day}; today is {today}.",
        "Do not enrol the person. The coordinator can extend the coupon.",
    ),
    Reason.USED: (
        "Coupon {code} was used on {day} at {site}.",
        "A coupon is for one person. If this is the same person, look them up; otherwise tell the coordinator.",
    ),
    Reason.VOIDED: (
        "Coupon {code} was made void on {day}.",
        "Do not enrol the person with it. The coordinator knows why.",
    ),
    Reason.OWN_COUPON: (
        "Coupon {code} was handed out to {person}, the person who shows it.",
        "People cannot use their own coupons. Explain that coupons are for others.",
    ),
    Reason.CYCLE: (
        "Coupon {code} comes from somebody whom {person} recruited, directly or through others.",
        "{person} takes part already and cannot be recruited by their own recruits. Do not enrol them again.",
    ),
    Reason.ALREADY_ENROLLED: (
        "{person} takes part already, since {day} at {site}.",
        "Nobody is enrolled twice. Open the person's page instead; the coupon stays unused.",
    ),
    Reason.OVER_CAP: (
        "{person} would have {coupons} coupons in all; nobody gets more than {cap}.",
        "Give a smaller number.",
    ),
    Reason.OVER_BUDGET: (
        "{coupons} coupons are asked for; {free} of the budget are free.",
        "Give a smaller number, or ask the manager for a larger budget.",
    ),
    Reason.OVER_DECISION: (
        "{coupons} coupons are asked for; {decided} were decided for {person}.",
        "Hand out at most {decided}, or ask the coordinator for another number.",
    ),
    Reason.SECOND_TIME: (
        "{person} got {coupons} coupons in round {round} already, on {day}.",
        "Nobody gets coupons twice in a round. If they were lost, tell the coordinator.",
    ),
    Reason.NO_APPROVED_PLAN: (
        "There is no approved plan.",
        "Ask the coordinator to approve a plan; then hand out the coupons.",
    ),
    Reason.NO_DECISION: (
        "The approved plan has no number of coupons for {person}.",
        "Ask for a plan for this person, or ask the coordinator for a number.",
    ),
    Reason.OTHER_MODEL: (
        "The number for {person} was planned with model {model}; approved is {approved}.",
        "Plan again with the approved model.",
    ),
    Reason.PLAN_NOT_OPEN: (
        "Plan {plan} is {status}.",
        "A proposed plan can be changed, approved or stopped; an approved one can be stopped. Open the newest plan.",
    ),
    Reason.PLAN_OUTDATED: (
        "Since plan {plan} was made, {person} got coupons or withdrew.",
        "Make the plan again, or give this person 0 coupons in it.",
    ),
    Reason.ROLE: (
        "The role {role} does not allow this ({action}).",
        "Ask somebody who may: {allowed}.",
    ),
    Reason.SITE: (
        "This belongs to {site}; your role is for {own_site}.",
        "Ask somebody of that site, or somebody with a role for all sites.",
    ),
    Reason.WHOLE_STUDY: (
        "This concerns all sites; your role is for {own_site}.",
        "Ask somebody with a role for all sites.",
    ),
    Reason.CLOCK: (
        "The clock of this device says {device_time}; the server's says {server_time}.",
        "Set the clock that is wrong, then try again.",
    ),
    Reason.SERVER_CLOCK: (
        "The server's clock says {server_time}, but something was recorded at {last_time} already.",
        "Ask the manager to set the server's clock.",
    ),
    Reason.NOT_BEGUN: ("The study has not begun.", "Ask the manager to begin it."),
    Reason.BEGUN: ("The study has begun already.", "Change its settings instead."),
    Reason.NO_SITE: ("There is no site {site}.", "Choose one of the study's sites, or ask the manager to add it."),
    Reason.SITE_EXISTS: ("There is a site {site} already.", "Choose another short name."),
    Reason.NO_PERSON: ("There is no person {person}.", "Look the person up in the list."),
    Reason.WITHDRAWN: (
        "{person} withdrew from the study on {day}.",
        "Do nothing more for them; what they are owed can still be paid.",
    ),
    Reason.NOT_WITHDRAWN: (
        "{person} takes part in the study.",
        "Answers are erased of people who withdrew. Record the withdrawal first; or correct the answers.",
    ),
    Reason.NO_ANSWERS: ("The answers of {person} are not recorded yet.", "Record them first."),
    Reason.ANSWERS_RECORDED: (
        "The answers of {person} are recorded already.",
        "Ask the coordinator to correct them, with a reason.",
    ),
    Reason.NO_PLAN: ("There is no plan {plan}.", "Open the newest plan."),
    Reason.NOT_IN_PLAN: (
        "Plan {plan} has no line for {person}.",
        "Make the plan again with this person; or approve it, and then decide on a number for this person.",
    ),
    Reason.PAID: (
        "The {kind} payment for coupon {code} was made on {day} at {site}.",
        "It is paid once. Show the receipt.",
    ),
    Reason.NOT_OWED: (
        "No {kind} payment is owed for coupon {code}.",
        "An interview is paid once its answers are recorded; recruiting once the recruit's answers are recorded.",
    ),
    Reason.NOT_ISSUED: (
        "Code {code} is the code of a seed, not a coupon that was handed out.",
        "Choose a coupon that somebody got.",
    ),
    Reason.NOT_LATER: (
        "Coupon {code} is valid until {last_day} already.",
        "Choose a later day, at most {latest}.",
    ),
    Reason.NO_REASON: ("No reason was given.", "Write in a few words why."),
    Reason.OUT_OF_RANGE: ("The {name} given is {value}.", "Allowed is {least} to {most}."),
    Reason.TEXT_LENGTH: ("The {name} given has {length} characters.", "Allowed are {least} to {most}."),
    Reason.BAD_NAME: (
        "The {name} given, of {length} characters, cannot be used.",
        "Use 1 to 40 letters, digits, hyphens and underscores; begin with a letter or a digit.",
    ),
    Reason.TWICE: ("A {name} is given twice.", "Give each once."),
    Reason.CURRENCY: ("The currency given is not written as one.", "Use three capital letters, such as EUR."),
    Reason.TIMEZONE: ("The time zone given is not known.", "Use a name such as Europe/Lisbon."),
    Reason.QUESTIONS: (
        "The questions cannot be used: {name}.",
        "Give each question its own name (small letters, digits, underscores), a text, and two or more different"
        " choices if people choose; groups of plans are made of questions.",
    ),
    Reason.KEY_REUSED: (
        "This form was sent before with other entries.",
        "Look at what was recorded, then open the form anew.",
    ),
    Reason.IMPORT_ENTRY: (
        "The {name} of person number {entry} in the file cannot be used.",
        "Correct it in the file. Ids have 1 to 40 letters, digits, hyphens and underscores, codes 1 to 40 visible"
        " characters; network sizes are 0 to 1000000; days lie between 1900 and today; a coupon's last day is not"
        " before its first and at most ten years ahead; only recruits bring a recruiting payment.",
    ),
    Reason.IMPORT_PERSON_TWICE: ("{person} stands in the file twice.", "Keep one of the two, and import again."),
    Reason.IMPORT_COUPON_TWICE: (
        "{person} has a coupon code that {other} has, too, in the file or in the study.",
        "A code is issued to one person, and one person comes with it. Compare the codes of both; correct the file.",
    ),
    Reason.IMPORT_RECRUITER: (
        "{recruiter}, who recruited {person}, is neither in the file nor in the study.",
        "Add the recruiter to the file, or leave the recruiter of {person} empty if {person} is a seed.",
    ),
    Reason.IMPORT_CYCLE: (
        "{person} was recruited by one of their own recruits, directly or through others.",
        "Look who came first, and correct the recruiters in the file.",
    ),
    Reason.IMPORT_CODE: (
        "{person} came with a code that is no valid coupon of {recruiter}: it is void, or somebody else's, or unknown.",
        "Correct the code or the recruiter in the file; or leave the code empty if it is not known.",
    ),
    Reason.IMPORT_CONFLICT: (
        "{person} takes part already, with another {name} than in the file.",
        "Find out which is right. Correct the file, or leave {person} out of it and correct the person's page.",
    ),
}

TERMS = frozenset({"action", "allowed", "kind", "name", "role", "status"})
"""Arguments whose values are names of actions, roles, kinds of payment, states of a plan, or fields of a form."""


@dataclass(frozen=True)
class Refusal:
    """A reason with what fills its sentences."""

    reason: Reason
    arguments: tuple[tuple[str, str], ...] = ()

    @property
    def found(self) -> str:
        """What was found, in English."""
        return ENGLISH[self.reason][0].format_map(self._shown())

    @property
    def what_to_do(self) -> str:
        """What to do, in English."""
        return ENGLISH[self.reason][1].format_map(self._shown())

    def __str__(self) -> str:
        return f"{self.found} {self.what_to_do}"

    def _shown(self) -> dict[str, str]:
        return {name: visible(value.replace("_", " ") if name in TERMS else value) for name, value in self.arguments}


def refusal(reason: Reason, **arguments: object) -> Refusal:
    """Make a refusal; numbers, days and names become text."""
    return Refusal(reason, tuple((name, str(value)) for name, value in sorted(arguments.items())))
