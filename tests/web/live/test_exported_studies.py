"""Whatever happened in a study, its export is read without an error and has the same tree (invariant 6)."""

from datetime import timedelta
from zoneinfo import ZoneInfo

from django_site import empty_database, use_database
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from live_client import LiveStudy
from small_live import ANSWERS, importing

from peerfront.data.reading import study_from_table
from peerfront.data.study_calendar import assumed_days
from peerfront.foundation.spreadsheets import as_typed
from peerfront.web.live.exporting import live_study, study_table
from peerfront.web.live.records import models
from peerfront.web.live.rules.events import ImportedCoupon
from peerfront.web.live.rules.requests import (
    AddSeed,
    EnrolPerson,
    ExtendCoupon,
    ImportedPerson,
    IssueCoupons,
    OverrideCoupons,
    RecordAnswers,
    VoidCoupon,
    WithdrawPerson,
)
from peerfront.web.live.rules.study_settings import Question, QuestionKind, Settings

NAMES = ("id", "age", "date", "coupon_2", "seed", "school_complete", "hiv", "wave", "network_size", "key")
QUESTIONS = tuple(Question(name, f"{name}?", QuestionKind.TEXT) for name in NAMES)
TEXTS = st.sampled_from(
    ("", "NA", "0", "1", "2", "=1+1", "-5", "'quoted", "a,b;c\td", '"', "2026-03-02", "é\u202e")
) | (st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=12))
IDS = st.sampled_from(("NA", "na", "null", "0", "1", "seed", "none", "1E5", "A-1", "x_1")) | st.from_regex(
    "[A-Za-z0-9][A-Za-z0-9_-]{0,5}", fullmatch=True
)


class _Study(LiveStudy):
    """A study whose clock is set, in the past: what lies in the future is no date of a study."""

    @property
    def now(self):
        return self.clock

    @now.setter
    def now(self, at) -> None:
        self.clock = at if hasattr(self, "clock") else at - timedelta(days=200)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_an_export_has_the_same_tree_whatever_happened(data) -> None:
    use_database(empty_database("sqlite"))
    study = _Study(Settings(budget=40, cap=4, valid_days=14, questions=QUESTIONS, name="Any", timezone="Asia/Tokyo"))
    for _ in range(data.draw(st.integers(5, 30))):
        _do_something(study, data)
        study.days(data.draw(st.sampled_from((0, 0, 0.3, 1))))
    if not models.Person.objects.exists():
        return
    table, _ = study_table()
    recorded = dict(models.Person.objects.values_list("person", "recruiter_id"))
    usable = models.Coupon.objects.exclude(holder=None).filter(voided_at=None).count()
    for read in (live_study(table), study_from_table(table)):
        assert len(read) == len(recorded)
        names = dict(zip(read.ids, models.Person.objects.order_by("enrolled_at", "person"), strict=True))
        tree = {names[person].person: (names[read.ids[at]].person if at >= 0 else None)
                for person, at in zip(read.ids, read.recruiter, strict=True)}  # fmt: skip
        assert tree == recorded
        assert read.issued.sum() == usable
        assert all(as_typed(str(name)) == name for name in read.ids)
    use_database({"NAME": ":memory:", "ENGINE": "django.db.backends.sqlite3"})


def test_coupons_carry_the_day_on_which_they_were_handed_out() -> None:
    use_database(empty_database("sqlite"))
    study = _Study(Settings(budget=40, cap=4, valid_days=14, name="Any", timezone="Asia/Tokyo"))
    study.seed("ana")
    enrolled = study.now
    study.days(6)
    study.approve(ana=2)
    study.issue("ana")
    read = live_study()
    days = [(at.astimezone(ZoneInfo("Asia/Tokyo"))).date().isoformat() for at in (enrolled, study.now)]
    assert [read.people["interview.date"].item(), read.open["issued"].item()] == days
    assert not assumed_days(read)
    use_database({"NAME": ":memory:", "ENGINE": "django.db.backends.sqlite3"})


def test_at_a_time_in_the_past_nobody_lacks_their_recruiter() -> None:
    """Days of imported people are noon, so a recruit can come hours before the recruiter, and before a plan."""
    use_database(empty_database("sqlite"))
    study = _Study(Settings(budget=40, cap=4, valid_days=14, name="Any"))
    noon = study.now.replace(hour=12) - timedelta(days=2)

    def came(person, recruiter, hours, code="", *coupons):
        at = noon + timedelta(hours=hours)
        last = at.date() + timedelta(days=9)
        given = tuple(ImportedCoupon(each, at, at.date(), last, void=False) for each in coupons)
        return ImportedPerson(person, "north", code, recruiter, at, 7, ANSWERS, given)

    codes = [study.draw("K7") for _ in range(3)]
    people = came("ana", None, 4, "", codes[0]), came("bea", "ana", 2, codes[0], *codes[1:])
    study.do(importing(*people, came("cleo", "bea", 0, codes[1]), came("dora", None, 5)))
    for at, there in ((noon, "cleo bea ana"), (noon + timedelta(hours=3), "cleo bea ana"), (study.now, None)):
        table, _ = study_table(at)
        assert list(table["id"]) == (there.split() if there else ["cleo", "bea", "ana", "dora"])
        read = live_study(table)
        assert read.problems == ()
        tree = {str(each): str(read.ids[at]) for each, at in zip(read.ids, read.recruiter, strict=True) if at >= 0}
        assert tree == {"bea": "ana", "cleo": "bea"}
    use_database({"NAME": ":memory:", "ENGINE": "django.db.backends.sqlite3"})


def _do_something(study, data) -> None:
    people = list(models.Person.objects.values_list("person", flat=True).order_by("person"))
    codes = list(models.Coupon.objects.exclude(holder=None).values_list("code", flat=True).order_by("code"))
    action = data.draw(
        st.sampled_from(("seed", "answer", "issue", "issue", "enrol", "enrol", "void", "more", "withdraw"))
    )
    if action == "seed" or not people:
        study.ask(AddSeed(data.draw(IDS)), site=data.draw(st.sampled_from(("north", "south"))))
        return
    person = data.draw(st.sampled_from(people))
    if action == "answer":
        told = tuple((name, data.draw(TEXTS)) for name in sorted(NAMES))
        study.ask(RecordAnswers(person, data.draw(st.none() | st.integers(0, 99)), told))
    elif action == "issue":
        study.ask(RecordAnswers(person, 5, ()))
        study.approve()
        study.ask(OverrideCoupons(person, data.draw(st.integers(0, 3)), "so"))
        study.ask(IssueCoupons(person))
    elif action == "withdraw":
        study.ask(WithdrawPerson(person, data.draw(st.booleans()), "moved"))
    elif codes:
        code = data.draw(st.sampled_from(codes))
        if action == "enrol":
            study.ask(EnrolPerson(code, data.draw(IDS | st.just(f"n{len(people)}"))))
        elif action == "void":
            study.ask(VoidCoupon(code, "lost"))
        else:
            day = models.Coupon.objects.get(pk=code).last_day
            study.ask(ExtendCoupon(code, day + timedelta(days=data.draw(st.integers(1, 30))), "ill"))
