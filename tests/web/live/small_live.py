"""A small running study: two sites, one member for each role, and short ways to ask for something."""

import itertools
import random
from datetime import UTC, datetime, timedelta

from peerfront.web.live.rules.actions import Action, Member, Role, roles_allowed
from peerfront.web.live.rules.codes import new_code
from peerfront.web.live.rules.deciding import Accepted, Answer, Journal
from peerfront.web.live.rules.events import CouponsIssued, ImportedCoupon, PlannedCoupons, PlanProposed
from peerfront.web.live.rules.requests import (
    AddSeed,
    AddSite,
    ApprovePlan,
    BeginStudy,
    EnrolPerson,
    ImportedPerson,
    ImportPeople,
    IssueCoupons,
    ProposePlan,
    RecordAnswers,
    Request,
    Wish,
)
from peerfront.web.live.rules.study_settings import Settings

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
        return Request(key, Member(f"the {role}", (role,), own_site), site, device_time, wish)

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


def imported_coupon(code: str, void: bool = False) -> ImportedCoupon:
    """A coupon of a file, valid for weeks around the Monday on which the small study begins."""
    first_day = (MONDAY - timedelta(days=10)).date()
    return ImportedCoupon(code, MONDAY - timedelta(days=10), first_day, first_day + timedelta(days=60), void)


def imported(person: str, recruiter: str | None = None, code: str = "", *coupons: str, **more) -> ImportedPerson:
    """A person of a file, who came before the small study began."""
    fields = {"site": "north", "enrolled_at": MONDAY - timedelta(days=5), "network_size": 7, "answers": ANSWERS} | more
    return ImportedPerson(
        person, code=code, recruiter=recruiter, coupons=tuple(imported_coupon(each) for each in coupons), **fields
    )


def importing(*people: ImportedPerson) -> ImportPeople:
    return ImportPeople(people, "study.xlsx")


def role_for(action: Action) -> Role:
    """The role whose task this is."""
    return roles_allowed(action)[0]
