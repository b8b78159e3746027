"""A made-up study in its third week, with one user for each role: for demonstrations and for the tests of pages.

Its events are simulated through the rules: scans, refusals, interviews, payments. Who comes and whom they bring is
drawn from the world of `simulation.demo_study`. All people are invented.
"""

import heapq
import itertools
import json
import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta

import numpy as np
from django.conf import settings as django_settings

from peerfront.foundation.randomness import Luck, fold, named_generator, named_luck
from peerfront.problem import Crowd
from peerfront.simulation.demo_study import FIELDS, demo_world
from peerfront.web.live.operations.backups import load
from peerfront.web.live.operations.staff import CONSOLE, staff_note, write_member
from peerfront.web.live.records.contacts import fingerprint, keep_contact, sealed_contact
from peerfront.web.live.rules import requests
from peerfront.web.live.rules.actions import Action, Member, Role
from peerfront.web.live.rules.codes import new_prefix
from peerfront.web.live.rules.deciding import Accepted, Answer, Journal
from peerfront.web.live.rules.events import CouponsIssued, PaymentKind, PlannedCoupons, PlanProposed, SeedAdded
from peerfront.web.live.rules.records import CouponRow
from peerfront.web.live.rules.requests import NoteAction, PlanForOne, Request, Wish
from peerfront.web.live.rules.study_settings import CouponText, Question, Settings

MODEL = "same-for-all"
"""As `planning.kept_models.SAME_FOR_ALL`, which would load all that a fit needs."""
COUPONS = 3


def _reason(coupons: int) -> str:
    """The stored reason (`words.stored_text.reason_as_text`) "the same for everybody" of a very small study."""
    return json.dumps({"code": "same_for_all", "coupons": coupons})


def planned_for_one() -> PlanForOne:
    """The plan for a person who came after the plan was made."""
    return PlanForOne(MODEL, 1, COUPONS, "", 1.0, _reason(COUPONS))


FIRST_DAY = 16
"""Days since the study began: it is in its third week."""
SITES = {"north": "North clinic", "harbour": "Harbour office"}
_TEXTS = {
    "gender": "What is your gender?",
    "age_group": "How old are you?",
    "district": "Where in the city do you live?",
    "housing": "How do you live at the moment?",
}
SETTINGS = Settings(
    budget=220,  # few enough that it matters who gets them
    cap=3,
    valid_days=11,
    active_after_days=1,
    interview_payment=2000,
    recruiting_payment=500,
    name="Made-up study",
    target=110,
    coupon_texts=(
        CouponText(
            title="Come and talk to us",
            text="An interview of 40 minutes about your health. No names: nobody learns what you said.",
            reward="EUR 20 for your time",
            address="12 Harbour Street, second floor",
            hours="Weekdays, 9 to 17",
            telephone="555-0199",
            below="Bring this coupon. Nobody has to take part.",
        ),
    ),
    questions=tuple(
        Question(field.name, _TEXTS[field.name], choices=field.categories) for field in FIELDS if field.name in _TEXTS
    ),
)
_SEEDS = (16, 8)  # on the first day, and a week later, because few came
_MEAN_RECRUITS = 1.25  # of seeds with unlimited coupons: a study that grows
_ACQUAINTANCES = {"few": (2, 8), "some": (9, 20), "many": (21, 45)}
_NAMES = ("Alex", "Kim", "Robin", "Sam", "Noor", "Jo", "Luca", "Mika", "Rami", "Toni")


@dataclass(frozen=True, eq=False)
class _Somebody:
    """A made-up person before they come: their answers, and how many others they bring."""

    answers: tuple[tuple[str, str], ...]
    acquaintances: int
    site: str
    crowd: Crowd


class History:
    """The events of the made-up study, simulated in order of time."""

    def __init__(self, journal: Journal, first: datetime, now: datetime) -> None:
        self.journal, self.first, self.now = journal, first, now
        self.world, self.rng = demo_world(_MEAN_RECRUITS), named_generator("live demo", 0)
        self.to_do: list[tuple[datetime, int, Callable[[datetime], object]]] = []
        self.numbers, self.names = itertools.count(1), itertools.count(1)
        self.people: dict[str, _Somebody] = {}
        self.open: dict[str, str] = {}  # holders of unused coupons, by code
        self.used: list[str] = []
        self.contacts: dict[str, bytes] = {}

    def play(self) -> None:
        """Simulate all events until now."""
        for number in range(sum(_SEEDS)):
            somebody, day = self._anybody(number), 0.02 if number < _SEEDS[0] else 6.1
            self.at(day + 0.005 * number, lambda at, who=somebody: self.seed(who, at))  # type: ignore[misc]
        for day in (0.2, 7.0):
            self.at(day, self.plan_and_approve)
        for day, incident in (
            (4.0, self.override), (5.1, self.mistype), (6.0, self.lose_one), (8.2, self.scan_used), (9.0, self.correct),
            (10.0, self.lose_one), (11.0, self.withdraw), (12.3, self.mistype), (14.2, self.extend),
            (14.3, self.scan_expired), (15.1, self.scan_used),
        ):  # fmt: skip
            self.at(day, incident)
        last = self.first + timedelta(days=FIRST_DAY - 0.1)
        self.later(min(last, self.now - timedelta(minutes=1)), self.plan)  # also early in the morning
        while self.to_do:
            at, _, do = heapq.heappop(self.to_do)
            if at < self.now:
                do(at)

    def at(self, day: float, do: Callable[[datetime], object]) -> None:
        self.later(self.first + timedelta(days=day), do)

    def later(self, at: datetime, do: Callable[[datetime], object]) -> None:
        heapq.heappush(self.to_do, (at, next(self.numbers), do))

    def office_hour(self, after: datetime, days: float) -> datetime:
        """A time between nine and five, this many days later."""
        day = (after + timedelta(days=days)).date()
        return datetime.combine(day, time(9), after.tzinfo) + timedelta(minutes=float(self.rng.uniform(0, 8 * 60)))

    def ask(self, wish: Wish, role: Role, site: str | None, at: datetime) -> Answer:
        whose = site if role is Role.INTERVIEWER else None
        name = f"interviewer-{site}" if role is Role.INTERVIEWER else role.value
        request = Request(f"demo-{next(self.numbers)}", Member(name, (role,), whose), site, at, wish)
        return self.journal.answer(request, at)

    def seed(self, who: _Somebody, at: datetime) -> None:
        person = self._pseudonym()
        answered = self.ask(requests.AddSeed(person), Role.COORDINATOR, who.site, at)
        assert isinstance(answered, Accepted), answered
        fact = answered.events[0].fact
        assert isinstance(fact, SeedAdded)
        self._interview(person, who, fact.code, at)

    def come(self, code: str, who: _Somebody, at: datetime) -> None:
        """A person shows a coupon, and is enrolled if it is valid."""
        if isinstance(self.ask(requests.ScanCoupon(code), Role.INTERVIEWER, who.site, at), Accepted):
            self.open.pop(code, None)
            self.later(at + timedelta(minutes=1), lambda at: self.enrol(code, who, at))

    def enrol(self, code: str, who: _Somebody, at: datetime) -> None:
        person = self._pseudonym()
        self.ask(requests.EnrolPerson(code, person), Role.INTERVIEWER, who.site, at)
        self.used.append(code)
        self._interview(person, who, code, at)

    def _interview(self, person: str, who: _Somebody, code: str, at: datetime) -> None:
        self.people[person] = who
        minutes = [timedelta(minutes=each) for each in (25, 30, 34, 40)]
        answers = requests.RecordAnswers(person, who.acquaintances, who.answers)
        self.later(at + minutes[0], lambda at: self.ask(answers, Role.INTERVIEWER, who.site, at))
        if self.rng.random() < 0.25:
            self.later(at + minutes[1], lambda at: self.write_contact(person, who, at))
        planned = at > self.first + timedelta(days=0.5)  # seeds wait for the first plan
        waits = at > self.now - timedelta(days=2.4) or self.rng.random() < 0.1
        if planned and not waits:
            self.later(at + minutes[2], lambda at: self.hand_out(person, at))
        if self.rng.random() < 0.9:
            pay = requests.Pay(code, PaymentKind.INTERVIEW)
            self.later(at + minutes[3], lambda at: self.ask(pay, Role.CASHIER, who.site, at))
        if code in self.used and self.rng.random() < 0.6:
            back = self.office_hour(at, float(self.rng.uniform(1, 5)))
            pay_recruiter = requests.Pay(code, PaymentKind.RECRUITING)
            self.later(back, lambda at: self.ask(pay_recruiter, Role.CASHIER, who.site, at))

    def write_contact(self, person: str, who: _Somebody, at: datetime) -> None:
        name = _NAMES[int(self.rng.integers(len(_NAMES)))]
        sealed = sealed_contact(person, {"name": name, "phone": f"555-01{int(self.rng.integers(100)):02d}"})
        note = NoteAction(Action.WRITE_CONTACT, person, fingerprint=fingerprint(person, sealed))
        self.ask(note, Role.INTERVIEWER, who.site, at)
        self.contacts[person] = sealed

    def hand_out(self, person: str, at: datetime) -> None:
        """A person gets coupons, and some of the people who receive them come later."""
        who = self.people[person]
        wish = requests.IssueCoupons(person, plan_for_one=planned_for_one())
        answered = self.ask(wish, Role.INTERVIEWER, who.site, at)
        if not isinstance(answered, Accepted):
            return
        fact = answered.events[0].fact
        assert isinstance(fact, CouponsIssued)
        self.open |= dict.fromkeys(fact.codes, person)
        brought = self.world.refer(who.crowd, np.array([len(fact.codes)]))
        for place in range(int(brought.recruits[0])):
            one = brought.next_crowd.where(np.arange(len(brought.parent)) == place)
            other_site = next(site for site in SITES if site != who.site)
            friend = self._somebody(one, other_site if self.rng.random() < 0.15 else who.site)
            when = self.office_hour(at, 1 + float(self.rng.exponential(2.5)))
            self.later(when, lambda at, code=fact.codes[place], who=friend: self.come(code, who, at))  # type: ignore[misc]

    def plan(self, at: datetime) -> int:
        """Propose a plan for everybody who waits."""
        waiting = [
            row
            for row in self.journal.state.people(list(self.people)).values()
            if row.answers is not None and not row.coupons and row.withdrawn_at is None
        ]
        study = self.journal.state.study()
        assert study is not None, "it has begun"
        coupons = min(COUPONS, study.kept // max(1, len(waiting)))
        lines = tuple(PlannedCoupons(row.person, coupons, "", 1.0, _reason(coupons)) for row in waiting)
        answered = self.ask(requests.ProposePlan(MODEL, 1, lines), Role.COORDINATOR, None, at)
        assert isinstance(answered, Accepted), answered
        fact = answered.events[0].fact
        assert isinstance(fact, PlanProposed)
        for row in waiting if at < self.now - timedelta(days=2.4) else ():
            self.later(
                self.office_hour(at, float(self.rng.uniform(0, 1.5))) + timedelta(hours=5),
                lambda at, person=row.person: self.hand_out(person, at),  # type: ignore[misc]
            )
        return fact.plan

    def plan_and_approve(self, at: datetime) -> None:
        wish = requests.ApprovePlan(self.plan(at))
        self.later(at + timedelta(minutes=20), lambda at: self.ask(wish, Role.COORDINATOR, None, at))

    def override(self, at: datetime) -> None:
        """The coordinator gives one person who waits another number."""
        for row in self.journal.state.people(list(self.people)).values():
            if not row.coupons and row.answers is not None:
                wish = requests.OverrideCoupons(
                    row.person, 1, "Travels for most of the month, and asked for one coupon."
                )
                self.ask(wish, Role.COORDINATOR, row.site, at)
                self.later(at + timedelta(hours=2), lambda at, person=row.person: self.hand_out(person, at))  # type: ignore[misc]
                return

    def mistype(self, at: datetime) -> None:
        code = next(code for code in self.open if code[4] != code[5])
        swapped = code[:4] + code[5] + code[4] + code[6:]
        self.ask(requests.ScanCoupon(swapped), Role.INTERVIEWER, "north", at)

    def scan_used(self, at: datetime) -> None:
        self.ask(requests.ScanCoupon(self.used[-1]), Role.INTERVIEWER, "harbour", at)

    def scan_expired(self, at: datetime) -> None:
        for code in self.open:
            coupon = self._coupon(code)
            if coupon.last_day < at.date():
                self.ask(requests.ScanCoupon(code), Role.INTERVIEWER, coupon.site, at)
                return

    def lose_one(self, at: datetime) -> None:
        code = next(iter(self.open))
        del self.open[code]
        wish = requests.VoidCoupon(code, "Lost on the bus, as its holder told us.")
        self.ask(wish, Role.COORDINATOR, self._coupon(code).site, at)

    def extend(self, at: datetime) -> None:
        code = list(self.open)[-1]
        coupon = self._coupon(code)
        wish = requests.ExtendCoupon(code, coupon.last_day + timedelta(days=14), "Its holder was in hospital.")
        self.ask(wish, Role.COORDINATOR, coupon.site, at)

    def correct(self, at: datetime) -> None:
        person = next(iter(self.people))
        row = self.journal.state.person(person)
        assert row is not None and row.answers is not None  # noqa: PT018
        changed = tuple((name, "own" if name == "housing" else value) for name, value in row.answers)
        wish = requests.CorrectAnswers(person, row.network_size, changed, "The interviewer chose the wrong line.")
        self.ask(wish, Role.COORDINATOR, row.site, at)

    def withdraw(self, at: datetime) -> None:
        person = list(self.people)[3]
        self.ask(requests.WithdrawPerson(person, False, "Moved away."), Role.COORDINATOR, self.people[person].site, at)

    def _coupon(self, code: str) -> CouponRow:
        coupon = self.journal.state.coupon(code)
        assert coupon is not None, "it was handed out"
        return coupon

    def _pseudonym(self) -> str:
        return f"P{next(self.names):04d}"

    def _anybody(self, number: int) -> _Somebody:
        keys = fold(named_luck(("live demo",), 1).keys, np.array([number]))
        crowd = Crowd(np.zeros(1, dtype=np.int64), keys, self.world.population(Luck(keys)))
        return self._somebody(crowd, list(SITES)[number % len(SITES)])

    def _somebody(self, crowd: Crowd, site: str) -> _Somebody:
        (decoded,) = self.world.schema.decode(crowd.covariates)
        low, high = _ACQUAINTANCES[decoded["acquaintances"]]
        answers = tuple((name, str(decoded[name])) for name in sorted(_TEXTS))
        return _Somebody(answers, int(self.rng.integers(low, high + 1)), site, crowd)


USERS = (
    Member("interviewer-north", (Role.INTERVIEWER,), "north"),
    Member("interviewer-harbour", (Role.INTERVIEWER,), "harbour"),
    Member("cashier", (Role.CASHIER,), None),
    Member("coordinator", (Role.COORDINATOR,), None),
    Member("analyst", (Role.ANALYST,), None),
    Member("manager", (Role.MANAGER,), None),
    Member("investigator", (Role.INVESTIGATOR,), None),
)


@dataclass(frozen=True)
class Login:
    """A user of the made-up study, with a random password."""

    member: Member
    password: str


def make_demo(now: datetime | None = None) -> tuple[Login, ...]:
    """Fill an empty database with a made-up study; return its users' passwords, which are not stored."""
    now = (now or datetime.now(UTC)).replace(microsecond=0)
    first = (now - timedelta(days=FIRST_DAY)).replace(hour=8, minute=0, second=0)
    settings = replace(SETTINGS, deadline=(first + timedelta(days=8 * 7)).date())
    journal = Journal()
    logins = tuple(Login(member, _password()) for member in USERS)
    opening: list[Wish] = [
        requests.BeginStudy(settings, new_prefix(), django_settings.KEYS.checks),
        *(requests.AddSite(site, name) for site, name in SITES.items()),
        *(staff_note("added", each.name, each.roles, each.site) for each in USERS),
    ]
    for number, wish in enumerate(opening):
        journal.answer(
            Request(f"demo-opening-{number}", Member(CONSOLE, (Role.MANAGER,), None), None, None, wish), first
        )
    history = History(journal, first, now)
    history.play()
    load(journal.links)
    for person, sealed in history.contacts.items():
        keep_contact(person, sealed)
    for login in logins:
        user = write_member(login.member.name, login.member.roles, login.member.site)
        user.set_password(login.password)
        user.save()
    return logins


def _password() -> str:
    """A password of four groups that are easy to type: 80 bits."""
    alphabet = "abcdefghjkmnpqrstuvwxyz23456789"
    return "-".join("".join(secrets.choice(alphabet) for _ in range(4)) for _ in range(4))
