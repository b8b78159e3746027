"""A small running study: two sites, one member for each role, and short ways to ask for something."""

import itertools
import random
from datetime import UTC, datetime, timedelta

from peerfront.live.codes import new_code
from peerfront.live.events import CouponsIssued, PlannedCoupons, PlanProposed
from peerfront.live.journal import Journal
from peerfront.live.permissions import Action, Member, Role
from peerfront.live.requests import (
    AddSeed,
    AddSite,
    ApprovePlan,
    BeginStudy,
    EnrolPerson,
    IssueCoupons,
    ProposePlan,
    RecordAnswers,
    Request,
    Wish,
)
from peerfront.live.rules import OF_THE_STUDY, Accepted, Answer
from peerfront.live.settings import Settings

MONDAY = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
PREFIX = "K7"
SETTINGS = Settings(
    budget=20, cap=3, active_after_days=1, valid_days=14, interview_payment=2000, recruiting_payment=500
)
ANSWERS = (("age", "34"), ("district", "north"))


class SmallStudy:
    """A journal with a clock; whoever is allowed asks."""

    def __init__(self, settings: Settings = SETTINGS) -> None:
        self.journal = Journal()
        self.now = MONDAY
        self.codes = random.Random(1)
        self.keys = itertools.count(1)
        self.ask(BeginStudy(settings, PREFIX))
        self.ask(AddSite("north", "North clinic"))
        self.ask(AddSite("south", "South street"))

    @property
    def state(self):
        return self.journal.state

    def draw(self, prefix: str) -> str:
        return new_code(prefix, self.codes.choice)

    def request(
        self,
        wish: Wish,
        *,
        role: Role | None = None,
        own_site: str | None = None,
        site: str | None = "north",
        key: str | None = None,
        device_time: datetime | None = None,
    ) -> Request:
        if role is None:
            role = role_for(wish.action)
        key = key or f"request-{next(self.keys)}"
        return Request(key, Member(f"the {role}", role, own_site), site, device_time, wish)

    def ask(self, wish: Wish, **how) -> Answer:
        return self.journal.answer(self.request(wish, **how), self.now, self.draw)

    def do(self, wish: Wish, **how) -> Accepted:
        answer = self.ask(wish, **how)
        assert isinstance(answer, Accepted), f"{wish}: {answer}"
        return answer

    def days(self, number: float) -> None:
        self.now += timedelta(days=number)

    def seed(self, person: str, site: str = "north") -> str:
        """A seed who has answered."""
        (event,) = self.do(AddSeed(person), site=site).events
        self.do(RecordAnswers(person, 10, ANSWERS), site=site)
        return event.fact.code

    def plan(self, **coupons: int) -> int:
        """Propose a plan."""
        lines = tuple(PlannedCoupons(person, number, "north", 0.5, "expected") for person, number in coupons.items())
        (event,) = self.do(ProposePlan("model-1", 7, lines)).events
        assert isinstance(event.fact, PlanProposed)
        return event.fact.plan

    def approve(self, **coupons: int) -> int:
        """Propose and approve a plan."""
        plan = self.plan(**coupons)
        self.do(ApprovePlan(plan))
        return plan

    def issue(self, person: str, site: str = "north", **how) -> tuple[str, ...]:
        (event,) = self.do(IssueCoupons(person, **how), site=site).events
        assert isinstance(event.fact, CouponsIssued)
        return event.fact.codes

    def enrol(self, person: str, code: str, site: str = "north") -> None:
        """A person comes with a coupon and answers."""
        self.do(EnrolPerson(code, person), site=site)
        self.do(RecordAnswers(person, 5, ANSWERS), site=site)


def role_for(action: Action) -> Role:
    """The role whose task this is."""
    if action is Action.PAY:
        return Role.CASHIER
    if action in (Action.BEGIN_STUDY, Action.ADD_SITE, Action.CHANGE_SETTINGS):
        return Role.MANAGER
    if action in OF_THE_STUDY or action in (
        Action.ADD_SEED,
        Action.VOID_COUPON,
        Action.EXTEND_COUPON,
        Action.OVERRIDE_COUPONS,
        Action.CORRECT_ANSWERS,
        Action.WITHDRAW_PERSON,
    ):
        return Role.COORDINATOR
    return Role.INTERVIEWER
