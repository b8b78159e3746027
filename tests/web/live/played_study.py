"""A study that was played for some weeks in the database of the test: seeds, coupons, recruits, a plan each week."""

import random
from datetime import timedelta

from django.template import Template
from django.test.utils import instrumented_test_render
from django.utils import timezone
from live_client import LiveStudy

from peerfront.web.live.records import models
from peerfront.web.live.rules.deciding import Accepted
from peerfront.web.live.rules.events import PlannedCoupons
from peerfront.web.live.rules.requests import (
    AddSeed,
    ApprovePlan,
    EnrolPerson,
    IssueCoupons,
    ProposePlan,
    RecordAnswers,
)
from peerfront.web.live.rules.study_settings import Question, QuestionKind, Settings

Template._render = instrumented_test_render  # answers of the test client tell what their pages were given

QUESTIONS = (
    Question("gender", "What is your gender?", QuestionKind.CHOICE, ("female", "male", "another")),
    Question("age", "How old are you?", QuestionKind.NUMBER),
    Question("housing", "Where do you live?", QuestionKind.CHOICE, ("own home", "shelter", "street")),
    Question(
        "hiv", "What was the last test result?", QuestionKind.CHOICE, ("positive", "negative"), for_planning=False
    ),
    Question("note", "Anything else?", QuestionKind.TEXT, for_planning=False),
)
PLAYED = Settings(
    budget=400, cap=4, active_after_days=1, valid_days=21, interview_payment=2000, recruiting_payment=500,
    currency="EUR", timezone="Europe/Lisbon", name="Harbour study", questions=QUESTIONS, rounds=5, target=150,
    plan_strata=("gender",),
)  # fmt: skip
WEEKS = 9


class PlayedStudy(LiveStudy):
    """The live study with a clock that the test sets; it began some weeks ago."""

    def __init__(self, settings: Settings = PLAYED, weeks: int = WEEKS) -> None:
        self.clock = timezone.now() - timedelta(weeks=weeks)
        self.luck = random.Random(3)
        super().__init__(settings)

    @property
    def now(self):
        return self.clock

    @now.setter
    def now(self, at) -> None:
        if at > self.clock:
            self.clock = at

    def answers(self) -> tuple[tuple[str, str], ...]:
        told = {
            "gender": self.luck.choice(("female", "male", "male", "another")),
            "age": str(self.luck.randint(18, 70)),
            "housing": self.luck.choice(("own home", "shelter", "street")),
            "hiv": self.luck.choice(("positive", "negative", "negative")),
            "note": self.luck.choice(("", "=1+1", '"quoted", twice; semicolon', "a\nnew line\x1f", "ملاحظة", "@home")),
        }
        return tuple(sorted(told.items()))

    def came(self, person: str, site: str) -> None:
        self.do(RecordAnswers(person, self.luck.randint(1, 40), self.answers()), site=site)

    def play(self, weeks: int = WEEKS - 1, seeds: int = 6, most: int = 200) -> "PlayedStudy":
        """Each week people come with coupons, a plan is approved, and people who wait get their coupons."""
        for number in range(seeds):
            site = ("north", "south")[number % 2]
            self.do(AddSeed(f"s{number + 1:03}"), site=site)
            self.came(f"s{number + 1:03}", site)
        number = seeds
        for week in range(weeks):
            self._hand_out(week)
            self.days(2)
            open_codes = models.Coupon.objects.filter(redemption=None, voided_at=None).exclude(holder=None)
            for code, site in list(open_codes.order_by("holder_id", "code").values_list("code", "site_id")):
                if self.luck.random() < 0.28 and number < most:
                    number += 1
                    if isinstance(self.ask(EnrolPerson(code, f"p{number:03}"), site=site), Accepted):
                        self.came(f"p{number:03}", site)
            self.days(5)
        return self

    def _hand_out(self, week: int) -> None:
        waiting = models.Person.objects.filter(coupons=0, withdrawn_at=None, decisions__isnull=True)
        people = list(waiting.order_by("person"))
        free = models.Study.objects.get().kept
        lines, given = [], 0
        for person in people:
            gender = dict(person.answers)["gender"]
            coupons = min({"female": 3, "male": 2, "another": 2}[gender], free - given)
            given += coupons
            lines.append(PlannedCoupons(person.person, coupons, gender, 1.0, f"{coupons} for {gender}, as planned"))
        if not lines:
            return
        (event,) = self.do(ProposePlan("model-1", week, tuple(lines))).events
        self.do(ApprovePlan(event.fact.plan))
        for person in people:
            self.do(IssueCoupons(person.person), site=person.site_id)
