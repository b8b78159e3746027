"""What a plan changes against the one approved before: who gets more or fewer, big changes, what is new since."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import fmean

from peerfront.web.live.records.models import Event, Person, Plan
from peerfront.web.live.rules.study_settings import QuestionKind, Settings
from peerfront.web.live.screens.audit import settings_before

MANY = 2
"""From so many coupons to none, or the other way, is a big change."""
_FEW = 0.5  # on average: as good as none for a group
_FEWEST = 5  # people of a group in each plan
_FOR_PLANS = (
    "budget", "cap", "valid_days", "active_after_days", "target", "deadline", "at_least_one", "rounds", "plan_strata",
    "plan_randomise",
)  # fmt: skip


@dataclass(frozen=True)
class Line:
    """A person of a plan."""

    person: str
    coupons: int
    answers: Mapping[str, str]


@dataclass(frozen=True)
class PersonFlip:
    """Somebody who goes from many coupons to none, or the other way."""

    person: str
    before: int
    now: int


@dataclass(frozen=True)
class GroupFlip:
    """People with the same answer, most of whom go from many coupons to none, or the other way: averages."""

    question: str
    answer: str
    people: int
    before: float
    now: float


@dataclass(frozen=True)
class News:
    """What happened between two plans: reasons why numbers change."""

    people: int
    """Who came."""
    corrected: int
    """Corrections of answers."""
    other_model: bool
    settings: tuple[str, ...]
    """Settings that plans use and that were changed."""


@dataclass(frozen=True)
class Changes:
    """People of a plan by what they got in the plan before, if they wait still."""

    new: int
    more: int
    fewer: int
    same: int
    people: tuple[PersonFlip, ...]
    groups: tuple[GroupFlip, ...]


def changes_between(before: Iterable[Line], now: Iterable[Line], questions: Iterable[str]) -> Changes:
    """Compare the lines of two plans; groups are people with the same answer to one of these questions."""
    was, lines = {line.person: line for line in before}, tuple(now)
    both = [(was[line.person].coupons, line) for line in lines if line.person in was]
    return Changes(
        new=len(lines) - len(both),
        more=sum(line.coupons > old for old, line in both),
        fewer=sum(line.coupons < old for old, line in both),
        same=sum(line.coupons == old for old, line in both),
        people=tuple(
            PersonFlip(line.person, old, line.coupons)
            for old, line in both
            if min(old, line.coupons) == 0 and max(old, line.coupons) >= MANY
        ),
        groups=tuple(flip for name in questions for flip in _group_flips(name, was.values(), lines)),
    )


def _group_flips(question: str, before: Iterable[Line], now: Iterable[Line]) -> Iterable[GroupFlip]:
    numbers: list[dict[str, list[int]]] = []
    for lines in (before, now):
        by_answer = defaultdict(list)
        for line in lines:
            if answer := line.answers.get(question):
                by_answer[answer].append(line.coupons)
        numbers.append(by_answer)
    for answer in sorted(numbers[0].keys() & numbers[1].keys()):
        old, new = (each[answer] for each in numbers)
        low, high = sorted((fmean(old), fmean(new)))
        if min(len(old), len(new)) >= _FEWEST and low <= _FEW and high >= MANY:
            yield GroupFlip(question, answer, len(new), fmean(old), fmean(new))


def asked_for_plans(settings: Settings) -> list[str]:
    """Questions whose answers may make people differ in a plan, and have few enough answers for groups."""
    return [each.name for each in settings.questions if each.for_planning and each.kind is QuestionKind.CHOICE]


def plan_before(plan: Plan) -> Plan | None:
    """The plan that was approved last before this one: by it people would go on."""
    return Plan.objects.filter(plan__lt=plan.plan, round__isnull=False).order_by("-plan").first()


def news_between(before: Plan, now: Plan) -> News:
    """What happened between the days on which two plans were made."""
    since = (before.proposed_at, now.proposed_at)
    old, new = (settings_before(at__lte=at) for at in since)
    return News(
        people=Person.objects.filter(enrolled_at__gt=since[0], enrolled_at__lte=since[1]).count(),
        corrected=Event.objects.filter(kind="answers_corrected", at__gt=since[0], at__lte=since[1]).count(),
        other_model=before.model != now.model,
        settings=tuple(name for name in _FOR_PLANS if getattr(old, name, None) != getattr(new, name, None)),
    )
