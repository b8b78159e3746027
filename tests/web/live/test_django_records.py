"""Records in a real database, SQLite and PostgreSQL: the same rows as in memory, once whatever happens at once."""

import base64
import itertools
import json
import random
import re
import threading
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from django_site import empty_database, use_database
from live_client import write_contact
from small_live import MONDAY, SETTINGS, SmallStudy, imported, importing

from peerfront.web.live.operations.verification import verify
from peerfront.web.live.records import contacts, models
from peerfront.web.live.records.database import DatabaseRecords, link_of, table
from peerfront.web.live.records.recording import answer
from peerfront.web.live.rules.actions import Member, Role
from peerfront.web.live.rules.deciding import Accepted, Refused
from peerfront.web.live.rules.events import CouponsIssued, PaymentKind, PaymentMade, PersonEnrolled, PlannedCoupons
from peerfront.web.live.rules.refusals import Reason
from peerfront.web.live.rules.requests import (
    AddSeed,
    ChangePlan,
    CorrectAnswers,
    EnrolPerson,
    EraseAnswers,
    IssueCoupons,
    Pay,
    PlanForOne,
    ProposePlan,
    RecordAnswers,
    Request,
    ScanCoupon,
    WithdrawPerson,
)

FOR_ONE = PlanForOne("model-1", 8, 2, "north", 1.0, "came after the plan")


class InDatabase(DatabaseRecords):
    """A journal that answers from the database."""

    def answer(self, request, now, draw_code):
        return answer(request, now, draw_code=draw_code)


class StudyInDatabase(SmallStudy):
    """The small study, in the database of the test."""

    @property
    def journal(self):
        return InDatabase()

    @journal.setter
    def journal(self, _) -> None:
        pass


def _play(study: SmallStudy) -> tuple[str, ...]:
    """Something of every kind."""
    for name in ("ana", "ben"):
        study.seed(name)
    study.approve(ana=2, ben=3)
    used, unused = study.issue("ana")
    study.days(1)
    study.enrol("cleo", used)
    study.issue("cleo", plan_for_one=FOR_ONE)
    study.do(Pay(used, PaymentKind.INTERVIEW))
    assert study.ask(Pay(used, PaymentKind.INTERVIEW)).reason is Reason.PAID
    assert study.ask(EnrolPerson(unused, "ana")).reason is Reason.OWN_COUPON
    return used, unused


@pytest.mark.usefixtures("database")
def test_a_database_and_memory_hold_the_same() -> None:
    memory, stored = SmallStudy(), StudyInDatabase()
    for study in (memory, stored):
        _play(study)
    assert [link_of(each) for each in models.Event.objects.all()] == memory.journal.links
    for kind in models.FOLLOWING:
        assert {row.key: row for row in table(kind)} == memory.state.table(kind), kind
    verification = verify()
    assert verification.whole, verification.faults
    assert verification.head == memory.journal.head
    assert verification.events == len(memory.journal.links)


@pytest.mark.usefixtures("database")
def test_answers_are_erased_from_the_events_and_the_chain_stays_whole() -> None:
    memory, stored = SmallStudy(), StudyInDatabase()
    for study in (memory, stored):
        _play(study)
        study.do(CorrectAnswers("cleo", 4, (("town", "Sagres"),), "misheard"))
        study.do(importing(imported("dora", "cleo", answers=(("town", "Sagres"),))))
        for person in ("ana", "cleo", "dora"):
            study.do(WithdrawPerson(person, True, "asked to"))
            study.do(EraseAnswers(person, "asked to"))
    events = list(models.Event.objects.all())
    assert [link_of(each) for each in events] == memory.journal.links
    assert not any("Sagres" in each.data or FOR_ONE.reason in each.data for each in events)
    assert not models.Decision.objects.exclude(stratum="", reason="").exists(), "those of ana and cleo"
    assert models.PlanLine.objects.exclude(stratum="", reason="").get().person_id == "ben"
    assert sum("district" in each.data for each in events) == 1, "answers of others stay"
    verification = verify()
    assert verification.whole, verification.faults


@pytest.mark.usefixtures("one_database")
@pytest.mark.parametrize(
    ("harm", "fault"),
    [
        (lambda: models.Person.objects.filter(person="ana").update(coupons=0), "person ana differs .* coupons"),
        (lambda: models.Payment.objects.all().delete(), "payment .* interview is missing"),
        (lambda: models.Site.objects.create(site="x", name="X"), "site x follows from no event"),
        (lambda: models.Event.objects.filter(number=5).update(actor="somebody"), "Columns of event 5"),
        (lambda: models.Event.objects.filter(number=5).delete(), "Event 5 .* removed"),
        (lambda: _rewrite(5), "Event 5 .* does not give its hash"),
        (lambda: models.Event.objects.filter(number=5).update(data="{"), "Event 5 .* does not give its hash"),
        (lambda: models.Event.objects.filter(number=5).update(data="[" * 9_999), "Event 5 .* does not give its hash"),
        (lambda: models.Event.objects.filter(number=5).update(data="[7]"), "Event 5 .* does not give its hash"),
        (lambda: _rewrite(5, kind=["answers_recorded"]), "Event 5 .* does not give its hash"),
        (lambda: _rewrite(5, stamp={}), "Event 5 .* does not give its hash"),
        (lambda: models.Plan.objects.update(status="x"), "plan 1 differs .*: status"),
        (lambda: models.Study.objects.update(settings={"budget": 7}), "study itself differs .*: settings"),
        (lambda: models.Person.objects.filter(person="ana").update(answers=[7]), "person ana differs .*: answers"),
        (lambda: models.Payment.objects.update(kind="x"), "payment .* x follows from no event"),
        (lambda: _sql("UPDATE records_person SET answers = '{'"), "person ana differs .*: answers"),
    ],
)
def test_whatever_was_changed_behind_the_rules_is_found(harm, fault) -> None:
    _play(StudyInDatabase())
    harm()
    assert re.search(fault, " ".join(map(str, verify().faults)))


def _rewrite(number: int, **changed) -> None:
    event = models.Event.objects.get(number=number)
    event.data = json.dumps(json.loads(event.data.replace("the ", "THE ")) | changed)
    event.save()


def _sql(statement: str) -> None:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("PRAGMA ignore_check_constraints=ON")
        cursor.execute(statement)


@pytest.mark.usefixtures("database")
def test_clerks_at_once_redeem_pay_and_issue_once() -> None:
    """Eight clerks, each with a connection of its own, all after the same coupons, each asking twice."""
    from django.db import connection

    study = StudyInDatabase()
    for name in ("s0", "s1", "late"):
        study.seed(name)
    study.approve(s0=2, s1=2)
    codes = study.issue("s0") + study.issue("s1")
    study.days(1)
    seed_codes = [DatabaseRecords().person(seed).code for seed in ("s0", "s1")]
    now, answers, faults, number = study.now, [], [], itertools.count()
    cashier = Member("cash", (Role.CASHIER,), None)

    def work(clerk: Member) -> None:
        luck = random.Random(clerk.name)
        try:
            for code in luck.sample(codes, len(codes)):
                for who, wish in (
                    (clerk, EnrolPerson(code, f"x{next(number)}")),
                    (cashier, Pay(luck.choice(seed_codes), PaymentKind.INTERVIEW)),
                    (clerk, IssueCoupons("late", plan_for_one=FOR_ONE)),
                ):
                    request = Request(f"{clerk.name} {next(number)}", who, "north", None, wish)
                    answers.append(answer(request, now))
                    assert answer(request, now + timedelta(days=9)).repeated
        except BaseException as fault:
            faults.append(fault)
        finally:
            connection.close()

    threads = [threading.Thread(target=work, args=(Member(f"c{n}", (Role.INTERVIEWER,), None),)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults
    accepted = Counter(type(each.events[0].fact) for each in answers if isinstance(each, Accepted))
    assert accepted == {PersonEnrolled: len(codes), PaymentMade: len(seed_codes), CouponsIssued: 1}
    n_each = 8 * len(codes)
    assert Counter(each.reason for each in answers if isinstance(each, Refused)) == {
        Reason.USED: n_each - len(codes),
        Reason.PAID: n_each - len(seed_codes),
        Reason.SECOND_TIME: n_each - 1,
    }
    assert verify().whole


def test_a_request_takes_as_many_queries_in_a_large_study_as_in_a_small_one(database) -> None:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    counts = []
    for n_seeds in (3, 30):
        use_database(empty_database(database))
        study = StudyInDatabase(replace(SETTINGS, budget=1_000))
        seeds = [f"s{number}" for number in range(n_seeds)]
        for name in seeds:
            study.seed(name)
        study.approve(**dict.fromkeys(seeds, 2))
        used, _ = study.issue("s0")
        study.days(1)
        with CaptureQueriesContext(connection) as queries:
            study.do(ScanCoupon(used))
            study.enrol("bea", used)
            study.issue("bea", plan_for_one=FOR_ONE)
            study.do(Pay(used, PaymentKind.RECRUITING))
            study.ask(ScanCoupon(used))
        counts.append(Counter(each["sql"].split()[0] for each in queries))
    assert counts[0] == counts[1]
    assert counts[0]["SELECT"] < 80, "some ten look-ups for each of six requests, and rows to change"


@pytest.mark.usefixtures("database")
def test_a_failure_in_the_middle_leaves_nothing() -> None:
    study = StudyInDatabase()
    _play(study)
    before = verify()

    def broken(_: Accepted) -> None:
        raise OSError("the disk is full")

    member = Member("x", (Role.COORDINATOR,), None)
    request = Request("k", member, "north", None, AddSeed("dora"))
    with pytest.raises(OSError, match="disk is full"):
        answer(request, MONDAY + timedelta(days=3), alongside=broken)
    assert verify() == before
    assert isinstance(answer(request, MONDAY + timedelta(days=3)), Accepted)


@pytest.mark.usefixtures("database")
def test_contact_details_are_sealed_apart_and_deletable() -> None:
    study = StudyInDatabase()
    study.seed("ana")
    phone = "+351 912 345 678"
    write_contact("ana", {"name": "Ana Núñez", "phone": phone, "note": "", "other": "x"})
    assert contacts.read_contact("ana") == {"name": "Ana Núñez", "phone": phone}
    sealed = bytes(models.Contact.objects.get().sealed)
    for text in (sealed, base64.urlsafe_b64decode(sealed)):
        assert b"Ana N" not in text
        assert phone.encode() not in text
    assert contacts.delete_contact("ana")
    assert contacts.read_contact("ana") is None
    assert not contacts.delete_contact("ana")
    assert verify().whole


def test_the_database_itself_refuses_a_second_redemption_payment_and_decision(database) -> None:
    """Unique constraints, not checks in the code."""
    from django.db import IntegrityError, transaction

    _play(StudyInDatabase())
    for model in (models.Redemption, models.Payment, models.Decision, models.Event):
        row = model.objects.first()
        values = {field.attname: getattr(row, field.attname) for field in model._meta.fields}
        if model is not models.Redemption:
            values.pop("id", None)
        with pytest.raises(IntegrityError), transaction.atomic():
            model(**values).save(force_insert=True)
    with pytest.raises(IntegrityError), transaction.atomic():
        models.Study.objects.update(kept=-1)
    assert SETTINGS.budget == models.Study.objects.get().kept + models.Coupon.objects.exclude(holder=None).count()


@pytest.mark.usefixtures("one_database")
def test_erased_answers_are_not_left_in_the_file_of_the_database() -> None:
    from django.db import connection

    study = StudyInDatabase()
    study.do(AddSeed("ana"))
    study.do(RecordAnswers("ana", 3, tuple((f"town_{number}", "Sagres " * 100) for number in range(20))))
    study.do(WithdrawPerson("ana", True, "asked to"))
    study.do(EraseAnswers("ana", "asked to"))
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert b"Sagres" not in Path(connection.settings_dict["NAME"]).read_bytes()


@pytest.mark.usefixtures("database")
@pytest.mark.parametrize(
    "wish",
    [
        ProposePlan("model-1", 1, (PlannedCoupons("\0", 1, "", 1.0, ""),)),
        ChangePlan(1, (("\0", 1),), "because"),
        EraseAnswers("\0", "because"),
        ScanCoupon("\0"),
    ],
)
def test_names_that_no_database_stores_are_refused(wish) -> None:
    study = StudyInDatabase()
    study.plan()
    assert isinstance(study.ask(wish), Refused)


@pytest.mark.usefixtures("database")
@pytest.mark.parametrize("site", ["x" * 41, "\0", "Ana Núñez"])
def test_a_site_that_can_be_none_is_refused_and_not_kept(site) -> None:
    study = StudyInDatabase()
    refused = study.ask(ScanCoupon("x"), site=site)
    assert refused.reason is Reason.BAD_NAME
    assert refused.events[0].stamp.site is None
    assert verify().whole
