"""The rules run inside a transaction of a database, with only the rows they need; unique keys stop what must not be.

A plain SQLite database stands for any other: a table for each kind of row with its key, and the chained events.
"""

import itertools
import json
import pickle
import random
import sqlite3
import threading
from collections import Counter
from dataclasses import replace
from datetime import timedelta

import pytest
from small_live import MONDAY, SETTINGS, SmallStudy

from peerfront.live.rules import records
from peerfront.live.rules.chain import FIRST, Link, checked, linked
from peerfront.live.rules.codes import new_code
from peerfront.live.rules.deciding import Accepted, Refused, decide
from peerfront.live.rules.effects import effects
from peerfront.live.rules.events import CouponsIssued, PaymentKind, PaymentMade, PersonEnrolled
from peerfront.live.rules.permissions import Member, Role
from peerfront.live.rules.refusals import Reason
from peerfront.live.rules.requests import EnrolPerson, IssueCoupons, Pay, PlanForOne, Request, ScanCoupon
from peerfront.live.rules.state import rebuild

KINDS = records.Row.__args__
FOR_ONE = PlanForOne("model-1", 8, 2, "north", 1.0, "came after the plan")


class Database:
    """Implements `Records` by one query for each look-up, and the four steps of `rules` by one transaction."""

    def __init__(self, path) -> None:
        self.connection = sqlite3.connect(path, isolation_level=None, timeout=60)
        self.queries: Counter[str] = Counter()
        for kind in KINDS:
            columns = "key TEXT PRIMARY KEY, of TEXT, row BLOB"
            self.connection.execute(f"CREATE TABLE IF NOT EXISTS {kind.__name__} ({columns})")
        self.connection.execute(
            "CREATE TABLE IF NOT EXISTS Event (number INTEGER PRIMARY KEY, before TEXT UNIQUE, hash TEXT, request TEXT,"
            " part INTEGER, data TEXT, UNIQUE (request, part))"
        )

    def answer(self, request, now, draw_code=new_code):
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            answer = decide(self, request, now, draw_code)
            if not answer.repeated:
                for event in answer.events:
                    self._add(event)
            self.connection.execute("COMMIT")
        except BaseException:
            self.connection.execute("ROLLBACK")
            raise
        return answer

    def _add(self, event) -> None:
        last = self.connection.execute("SELECT number, hash FROM Event ORDER BY number DESC LIMIT 1").fetchone()
        link = linked(*((last[0] + 1, last[1]) if last else (1, FIRST)), event)
        stored = (link.number, link.before, link.hash, event.stamp.request_key, event.part, json.dumps(link.data))
        change = effects(self, event)
        self.connection.execute("INSERT INTO Event VALUES (?, ?, ?, ?, ?, ?)", stored)
        for row in change.made:
            of = getattr(row, "holder", None) or getattr(row, "plan", None)
            values = (json.dumps(row.key), of, pickle.dumps(row))
            self.connection.execute(f"INSERT INTO {type(row).__name__} VALUES (?, ?, ?)", values)
        for row in change.changed:
            changed = (pickle.dumps(row), json.dumps(row.key))
            done = self.connection.execute(f"UPDATE {type(row).__name__} SET row = ? WHERE key = ?", changed)
            assert done.rowcount == 1

    def links(self):
        found = self.connection.execute("SELECT number, before, data, hash FROM Event ORDER BY number")
        return [Link(number, before, json.loads(data), own) for number, before, data, own in found]

    def table(self, kind):
        found = self.connection.execute(f"SELECT row FROM {kind.__name__}")
        return {row.key: row for (blob,) in found for row in [pickle.loads(blob)]}

    def _one(self, kind, *key):
        self.queries[kind.__name__] += 1
        found = self.connection.execute(f"SELECT row FROM {kind.__name__} WHERE key = ?", (json.dumps(key),)).fetchone()
        return found and pickle.loads(found[0])

    def _of(self, kind, of):
        self.queries[kind.__name__] += 1
        found = self.connection.execute(f"SELECT row FROM {kind.__name__} WHERE of = ? ORDER BY key", (of,))
        return [pickle.loads(blob) for (blob,) in found]

    def study(self):
        return self._one(records.StudyRow)

    def site(self, site):
        return self._one(records.SiteRow, site)

    def person(self, person):
        return self._one(records.PersonRow, person)

    def people(self, people):
        return {name: row for name in people if (row := self._one(records.PersonRow, name))}

    def coupon(self, code):
        return self._one(records.CouponRow, code)

    def coupons(self, codes):
        return {code: row for code in codes if (row := self._one(records.CouponRow, code))}

    def coupons_of(self, person):
        return self._of(records.CouponRow, person)

    def redemption(self, code):
        return self._one(records.RedemptionRow, code)

    def plan(self, plan):
        return self._one(records.PlanRow, plan)

    def plan_line(self, plan, person):
        return self._one(records.PlanLineRow, plan, person)

    def plan_lines(self, plan):
        return self._of(records.PlanLineRow, plan)

    def override(self, round, person):
        return self._one(records.OverrideRow, round, person)

    def decision(self, round, person):
        return self._one(records.DecisionRow, round, person)

    def payment(self, code, kind):
        return self._one(records.PaymentRow, code, kind.value)

    def events_of(self, request_key):
        found = self.connection.execute(
            "SELECT number, before, data, hash FROM Event WHERE request = ? ORDER BY part", (request_key,)
        )
        return tuple(Link(number, before, json.loads(data), own).event for number, before, data, own in found)


class StudyInDatabase(SmallStudy):
    """The small study, on a database."""

    def __init__(self, path, settings=SETTINGS) -> None:
        self.database = Database(path)
        super().__init__(settings)

    @property
    def journal(self):
        return self.database

    @journal.setter
    def journal(self, _) -> None:
        pass


def _play(study: SmallStudy, n_seeds: int) -> tuple[str, ...]:
    """Seeds, a plan for all of them, and coupons for the first one."""
    for number in range(n_seeds):
        study.seed(f"s{number}")
    study.approve(**{f"s{number}": 2 for number in range(n_seeds)})
    codes = study.issue("s0")
    study.days(1)
    return codes


@pytest.fixture
def begin(tmp_path):
    """Begin a study on a database, which is closed at the end."""
    studies = []

    def begun(name: str = "study.sqlite", settings=SETTINGS) -> StudyInDatabase:
        studies.append(StudyInDatabase(tmp_path / name, settings))
        return studies[-1]

    yield begun
    for study in studies:
        study.database.connection.close()


def test_a_database_and_memory_give_the_same_answers_and_tables(begin) -> None:
    memory, stored = SmallStudy(), begin()
    for study in (memory, stored):
        used, unused = _play(study, 3)
        study.enrol("bea", used)
        study.issue("bea", plan_for_one=FOR_ONE)
        study.do(Pay(used, PaymentKind.INTERVIEW))
        assert study.ask(Pay(used, PaymentKind.INTERVIEW)).reason is Reason.PAID
        assert study.ask(EnrolPerson(unused, "s0")).reason is Reason.OWN_COUPON
    assert stored.database.links() == memory.journal.links
    again = rebuild(checked(stored.database.links()))
    for kind in KINDS:
        assert stored.database.table(kind) == again.table(kind) == memory.state.table(kind)


def test_the_rows_that_are_read_do_not_grow_with_the_study(begin) -> None:
    counts = []
    for name, n_seeds in (("small.sqlite", 3), ("larger.sqlite", 30)):
        study = begin(name, replace(SETTINGS, budget=1_000))
        used, _ = _play(study, n_seeds)
        study.database.queries.clear()
        study.do(ScanCoupon(used))
        study.enrol("bea", used)
        study.issue("bea", plan_for_one=FOR_ONE)
        study.do(Pay(used, PaymentKind.RECRUITING))
        study.ask(ScanCoupon(used))
        counts.append(dict(study.database.queries))
    assert counts[0] == counts[1]
    assert sum(counts[0].values()) < 80, "some ten look-ups for each of six requests, and as many rows to change"


def test_many_clerks_at_once_redeem_pay_and_issue_once(begin, tmp_path) -> None:
    """Eight clerks, each with a connection of its own, all after the same coupons."""
    study = begin()
    codes = _play(study, 2) + study.issue("s1")
    study.seed("late")
    study.days(1)
    seed_codes = [study.database.person(seed).code for seed in ("s0", "s1")]
    now, answers, number = study.now, [], itertools.count()
    clerks = [Member(f"clerk {each}", Role.INTERVIEWER, None) for each in range(8)]
    cashier = Member("cash", Role.CASHIER, None)

    def work(clerk: Member) -> None:
        database, luck = Database(tmp_path / "study.sqlite"), random.Random(clerk.name)
        for code in luck.sample(codes, len(codes)):
            for who, wish in (
                (clerk, EnrolPerson(code, f"x{next(number)}")),
                (cashier, Pay(luck.choice(seed_codes), PaymentKind.INTERVIEW)),
                (clerk, IssueCoupons("late", plan_for_one=FOR_ONE)),
            ):
                request = Request(f"{clerk.name} {next(number)}", who, "north", None, wish)
                answers.append(database.answer(request, now))
                assert database.answer(request, now + timedelta(days=9)).repeated
        database.connection.close()

    threads = [threading.Thread(target=work, args=(clerk,)) for clerk in clerks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 8 * 3 * len(codes)
    accepted = Counter(type(answer.events[0].fact) for answer in answers if isinstance(answer, Accepted))
    assert accepted == {PersonEnrolled: len(codes), PaymentMade: len(seed_codes), CouponsIssued: 1}
    reasons = Counter(answer.reason for answer in answers if isinstance(answer, Refused))
    n_each = 8 * len(codes)
    assert reasons == {
        Reason.USED: n_each - len(codes),
        Reason.PAID: n_each - len(seed_codes),
        Reason.SECOND_TIME: n_each - 1,
    }
    again = rebuild(checked(study.database.links()))
    for kind in KINDS:
        assert study.database.table(kind) == again.table(kind)


def test_a_failure_in_the_middle_leaves_nothing(begin) -> None:
    study = begin()
    _play(study, 1)
    before = study.database.links()

    def broken(prefix: str) -> str:
        raise OSError("no random numbers")

    study.seed("bea")
    after_seed = study.database.links()
    member = Member("x", Role.INTERVIEWER, None)
    request = Request("k", member, "north", None, IssueCoupons("bea", plan_for_one=FOR_ONE))
    with pytest.raises(OSError, match="no random"):
        study.database.answer(request, MONDAY + timedelta(days=2), broken)
    assert study.database.links() == after_seed != before
    assert isinstance(study.database.answer(request, MONDAY + timedelta(days=2)), Accepted)
