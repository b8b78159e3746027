"""The rows that an event creates and changes: the only place where events become records.

`State` applies this in memory and a database in a transaction, so both hold the same rows: to verify a database,
`rebuild` the state from the events and compare its tables. Nothing is checked here: an event has happened. Created rows
must be new; if one exists already, two events contradict each other.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar, assert_never, cast

from peerfront.web.live.rules import events, records
from peerfront.web.live.rules.chain import erased_texts
from peerfront.web.live.rules.events import Erasable, Event
from peerfront.web.live.rules.records import Key, PersonRow, R, Records, Row, StudyRow

T = TypeVar("T")


@dataclass(frozen=True)
class Effects:
    """Rows to insert and rows to replace by their keys."""

    new: tuple[Row, ...] = ()
    changed: tuple[Row, ...] = ()


class Contradiction(Exception):
    """An event contradicts earlier ones: a row that it creates exists already, or one that it needs is missing."""


def effects(before: Records, event: Event) -> Effects:
    """Return the rows that an event creates and changes, given the rows before it."""
    stamp, fact = event.stamp, event.fact
    at = stamp.server_time
    if isinstance(fact, events.RequestRefused):
        refused = records.RefusalRow(stamp.request_key, fact.action.value, fact.reason, fact.code, at, stamp.site)
        return Effects(new=(refused,))
    if isinstance(fact, events.StudyBegun):
        begun = StudyRow(fact.prefix, fact.settings, fact.settings.budget, 0, None, 0, at)
        return Effects(new=(begun,))
    study = replace(_there(before.study(), "the study"), last_time=at)
    site = stamp.site or ""
    match fact:
        case events.SettingsChanged():
            kept = study.kept + fact.settings.budget - study.settings.budget
            return Effects(changed=(replace(study, settings=fact.settings, kept=kept),))
        case events.SiteAdded():
            return Effects((records.SiteRow(fact.site, fact.name),), (study,))
        case events.SeedAdded():
            seed = records.PersonRow(fact.person, site, fact.code, None, at)
            code = records.CouponRow(fact.code, None, site, at, at.date(), at.date())
            return Effects((seed, code, records.RedemptionRow(fact.code, fact.person, at, site)), (study,))
        case events.CouponScanned():
            return Effects(changed=(study,))
        case events.ActionNoted() | events.RegistersStated():
            return Effects()  # a note moves no time: what was only noted by a wrong clock stops nobody
        case events.ClockAccepted():
            # By times alone nobody can tell any more what a plan counted that was proposed before the clock went back.
            plan = before.plan(study.last_plan) if at < fact.last_time else None
            if plan is None or plan.status is not records.PlanStatus.PROPOSED:
                return Effects(changed=(study,))
            return Effects(changed=(study, replace(plan, status=records.PlanStatus.CLOSED)))
        case events.PersonEnrolled():
            person = records.PersonRow(fact.person, site, fact.code, fact.recruiter, at)
            return Effects((person, records.RedemptionRow(fact.code, fact.person, at, site)), (study,))
        case events.AnswersRecorded() | events.AnswersCorrected():
            person = _there(before.person(fact.person), fact.person)
            after = replace(person, network_size=fact.network_size, answers=fact.answers or ())
            return Effects(changed=(study, after))
        case events.AnswersErased():
            return _answers_erased(before, study, fact)
        case events.PersonWithdrawn():
            gone = replace(_there(before.person(fact.person), fact.person), withdrawn_at=at)
            return Effects(changed=(study, gone, *_with_promise(before, study, fact.person, 0)))
        case events.PlanProposed():
            plan = records.PlanRow(fact.plan, fact.model, fact.seed, at)
            lines = (
                records.PlanLineRow(
                    fact.plan, each.person, each.coupons, each.coupons, each.stratum, each.probability, each.reason
                )
                for each in fact.lines
            )
            last = before.plan(study.last_plan)
            waiting = last if last is not None and last.status is records.PlanStatus.PROPOSED else None
            replaced = () if waiting is None else (replace(waiting, status=records.PlanStatus.CLOSED),)
            return Effects((plan, *lines), (replace(study, last_plan=fact.plan), *replaced))
        case events.PlanChanged():
            changed = (
                replace(_there(before.plan_line(fact.plan, person), person), coupons=coupons, why_changed=fact.why)
                for person, coupons in fact.lines
            )
            return Effects(changed=(study, *changed))
        case events.PlanApproved():
            promised = sum(line.coupons for line in before.plan_lines(fact.plan))
            approved = replace(
                _there(before.plan(fact.plan), "the plan"),
                status=records.PlanStatus.APPROVED,
                round=fact.round,
                promised=promised,
            )
            closed: tuple[Row, ...] = ()
            if study.approved_plan is not None:
                earlier = _there(before.plan(study.approved_plan), "the plan")
                closed = (replace(earlier, status=records.PlanStatus.CLOSED, promised=0),)
            return Effects(changed=(replace(study, approved_plan=fact.plan, rounds=fact.round), approved, *closed))
        case events.PlanStopped():
            stopped = replace(_there(before.plan(fact.plan), "the plan"), status=records.PlanStatus.STOPPED, promised=0)
            going_on = None if study.approved_plan == fact.plan else study.approved_plan
            return Effects(changed=(replace(study, approved_plan=going_on), stopped))
        case events.CouponsOverridden():
            override = records.OverrideRow(fact.round, fact.person, fact.coupons, stamp.actor, fact.why)
            promise = _with_promise(before, study, fact.person, fact.coupons)
            if before.override(fact.round, fact.person) is None:
                return Effects((override,), (study, *promise))
            return Effects(changed=(study, override, *promise))
        case events.CouponsIssued():
            return _issued(before, study, event, fact)
        case events.CouponVoided():
            void = replace(_there(before.coupon(fact.code), fact.code), voided_at=at, why_void=fact.why)
            return Effects(changed=(study, void))
        case events.CouponExtended():
            extended = replace(_there(before.coupon(fact.code), fact.code), last_day=fact.last_day)
            return Effects(changed=(study, extended))
        case events.PaymentMade():
            payment = records.PaymentRow(fact.code, fact.kind, fact.person, fact.amount, fact.currency, at, site)
            return Effects((payment,), (study,))
        case events.PersonImported():
            return _imported(before, study, event, fact)
        case _:
            assert_never(fact)


def promised_to(before: Records, study: StudyRow, person: str) -> int | None:
    """Return how many coupons an override or the approved plan gives a person in this round; None if neither does."""
    if study.approved_plan is None:
        return None
    override = before.override(study.rounds, person)
    if override is not None:
        return override.coupons
    line = before.plan_line(study.approved_plan, person)
    return None if line is None else line.coupons


def to_get(before: Records, study: StudyRow, person: PersonRow) -> int | None:
    """Return how many coupons a person is still to get in this round; None if nothing is decided, or they have theirs.

    Somebody who has coupons of an earlier round waits for more only if this round has some for them.
    """
    if person.withdrawn_at is not None or before.decision(study.rounds, person.person) is not None:
        return None
    promised = promised_to(before, study, person.person)
    return promised if promised or not person.coupons else None


def _with_promise(before: Records, study: StudyRow, person: str, promised: int) -> tuple[Row, ...]:
    """Change the approved plan's promise to a person who has not had coupons in this round."""
    if study.approved_plan is None or before.decision(study.rounds, person) is not None:
        return ()
    plan = _there(before.plan(study.approved_plan), "the plan")
    return (replace(plan, promised=plan.promised + promised - (promised_to(before, study, person) or 0)),)


def _answers_erased(before: Records, study: StudyRow, fact: events.AnswersErased) -> Effects:
    """Erase from rows what was asked for, also what an earlier version recorded in events in clear."""
    row = _there(before.person(fact.person), fact.person)
    answers, size, words = (each in fact.what for each in Erasable)
    digest, *sealed = row.imported.split(":")
    if answers:
        sealed[:2] = ["", ""] if len(sealed) == 4 else []
    if size and len(sealed) == 4:
        sealed[2:] = ["", ""]
    person = replace(
        row,
        answers=() if answers else row.answers,
        network_size=None if size else row.network_size,
        imported=":".join([digest, *sealed]),
    )
    rows: list[Row] = []
    for kind, fact_kind in _WITH_TEXTS.items():
        for each in before.group(cast(type[Row], kind), "person", fact.person):
            gone = erased_texts(fact_kind, vars(each), fact.what)
            if kind is records.PlanLineRow and words:
                gone["why_changed"] = ""
            rows.append(replace(each, **gone))
    if words:
        rows += [replace(each, why_void="") for each in before.coupons_of(fact.person) if each.why_void]
    return Effects(changed=(study, person, *rows))


_WITH_TEXTS = {
    records.PlanLineRow: events.PlannedCoupons,
    records.DecisionRow: events.CouponsIssued,
    records.OverrideRow: events.CouponsOverridden,
}
"""Rows about a person that repeat texts which can be erased, and what they follow from."""


def _issued(before: Records, study: StudyRow, event: Event, fact: events.CouponsIssued) -> Effects:
    at = event.stamp.server_time
    number = len(fact.codes)
    person = _there(before.person(fact.person), fact.person)
    coupons = (
        records.CouponRow(code, fact.person, person.site, at, fact.first_day, fact.last_day) for code in fact.codes
    )
    decision = records.DecisionRow(
        fact.round, fact.person, number, fact.planned, fact.decided, fact.decided_by, fact.model, fact.seed,
        fact.stratum, fact.probability, fact.reason, fact.why_fewer, at,
    )  # fmt: skip
    return Effects(
        (decision, *coupons),
        (
            replace(study, kept=study.kept - number),
            replace(person, coupons=person.coupons + number, last_issued_at=at),
            *_with_promise(before, study, fact.person, 0),
        ),
    )


def _imported(before: Records, study: StudyRow, event: Event, fact: events.PersonImported) -> Effects:
    at, came, day = event.stamp.server_time, fact.enrolled_at, fact.enrolled_at.date()
    person = records.PersonRow(
        fact.person, fact.site, fact.code, fact.recruiter, came, fact.network_size, fact.answers,
        coupons=len(fact.coupons),
        last_issued_at=min(at, max(each.issued_at for each in fact.coupons)) if fact.coupons else None,
        imported=_imported_as(fact),
    )  # fmt: skip
    new: list[Row] = [person, records.RedemptionRow(fact.code, fact.person, came, fact.site)]
    for each in fact.coupons:
        voided_at, why = (at, "void when it was imported") if each.void else (None, "")
        new.append(
            records.CouponRow(
                each.code, fact.person, fact.site, each.issued_at, each.first_day, each.last_day, voided_at, why, True
            )
        )
    changed: tuple[Row, ...] = (study,)
    if fact.recruiter is None:
        new.append(records.CouponRow(fact.code, None, fact.site, came, day, day, imported=True))
    elif fact.drawn:
        holder = _there(before.person(fact.recruiter), fact.recruiter)
        new.append(
            records.CouponRow(fact.code, holder.person, holder.site, came, came.date(), came.date(), imported=True)
        )
        changed = (study, replace(holder, coupons=holder.coupons + 1))
    for kind in fact.paid:
        receiver = fact.person if kind is events.PaymentKind.INTERVIEW else fact.recruiter or ""
        new.append(records.PaymentRow(fact.code, kind, receiver, 0, study.settings.currency, came, fact.site))
    return Effects(tuple(new), changed)


def _imported_as(fact: events.PersonImported) -> str:
    sealed = (fact.salt, fact.commitment[:16], fact.size_salt, fact.size_commitment[:16])
    if fact.size_commitment:
        return ":".join((fact.digest, *sealed))
    return ":".join((fact.digest, *sealed[:2])) if fact.salt else fact.digest


def _there(row: T | None, what: str) -> T:
    if row is None:
        raise Contradiction(f"An event needs {what}, which no event before it made.")
    return row


class State(Records):
    """Rows by class and key, and the events of each request; changed only by `add`.

    A state that is only compared with tables need not keep the events, which take most of the memory.
    """

    def __init__(self, *, keep_events: bool = True) -> None:
        self._tables: dict[type, dict[Key, Row]] = {}
        self._groups: dict[tuple[type, str, str | int], list[Key]] = {}
        self._parts: dict[str, int] = {}
        self._requests: dict[str, list[Event]] | None = {} if keep_events else None

    def add(self, event: Event) -> None:
        """Apply the next event; if it contradicts earlier ones, raise `Contradiction` and change nothing."""
        request = event.stamp.request_key
        before = self._parts.get(request, 0)
        if event.part != before + 1:
            raise Contradiction(f"Request {request} has a part {event.part} after {before} parts.")
        change = effects(self, event)
        new = [(type(row), row.key, row) for row in change.new]
        changed = [(type(row), row.key, row) for row in change.changed]
        for kind, key, _ in new:
            if key in self._tables.get(kind, ()):
                raise Contradiction(f"There is {kind.__name__} {key} already.")
        for kind, key, _ in changed:
            if key not in self._tables.get(kind, ()):
                raise Contradiction(f"There is no {kind.__name__} {key} to change.")
        if len(new) + len(changed) != len({(kind, key) for kind, key, _ in (*new, *changed)}):
            raise Contradiction("An event makes or changes a row twice.")
        for kind, key, row in (*new, *changed):
            self._tables.setdefault(kind, {})[key] = row
        for kind, key, row in new:
            for name in row.GROUPS:
                self._groups.setdefault((kind, name, getattr(row, name)), []).append(key)
        self._parts[request] = event.part
        if self._requests is not None:
            self._requests.setdefault(request, []).append(event)

    def copy(self) -> "State":
        """Copy the state."""
        other = State(keep_events=self._requests is not None)
        other._tables = {kind: dict(rows) for kind, rows in self._tables.items()}
        other._groups = {group: list(keys) for group, keys in self._groups.items()}
        other._parts = dict(self._parts)
        if self._requests is not None:
            other._requests = {key: list(recorded) for key, recorded in self._requests.items()}
        return other

    def table(self, kind: type[R]) -> Mapping[Key, R]:
        """Return all rows of a class by their keys."""
        return cast(Mapping[Key, R], self._tables.get(kind, {}))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, State) and (self._tables, self._requests) == (other._tables, other._requests)

    __hash__ = None  # type: ignore[assignment]  # it changes

    def one(self, kind: type[R], *key: str | int) -> R | None:
        return self.table(kind).get(key)

    def some(self, kind: type[R], keys: Collection[str]) -> Mapping[str, R]:
        return {key: row for key in keys if (row := self.one(kind, key)) is not None}

    def group(self, kind: type[R], field: str, value: str | int) -> Sequence[R]:
        rows = self.table(kind)
        return [rows[key] for key in sorted(self._groups.get((kind, field, value), ()))]

    def events_of(self, request_key: str) -> Sequence[Event]:
        assert self._requests is not None, "this state keeps no events"
        return tuple(self._requests.get(request_key, ()))


def rebuild(chain: Iterable[Event]) -> State:
    """Build the state from events; the same events always give the same state."""
    state = State()
    for event in chain:
        state.add(event)
    return state
