"""The rows that an event creates and changes: the only place where events become records.

`State` applies this in memory and a database in a transaction, so both hold the same rows. Nothing is checked here: an
event has happened. Created rows must be new; if one exists already, two events contradict each other.
"""

from dataclasses import dataclass, replace
from typing import TypeVar, assert_never

from peerfront.web.live.rules.events import (
    ActionNoted,
    AnswersCorrected,
    AnswersErased,
    AnswersRecorded,
    CouponExtended,
    CouponScanned,
    CouponsIssued,
    CouponsOverridden,
    CouponVoided,
    Event,
    PaymentKind,
    PaymentMade,
    PersonEnrolled,
    PersonImported,
    PersonWithdrawn,
    PlanApproved,
    PlanChanged,
    PlanProposed,
    PlanStopped,
    RequestRefused,
    SeedAdded,
    SettingsChanged,
    SiteAdded,
    StudyBegun,
)
from peerfront.web.live.rules.records import (
    CouponRow,
    DecisionRow,
    Key,
    OverrideRow,
    PaymentRow,
    PersonRow,
    PlanLineRow,
    PlanRow,
    PlanStatus,
    Records,
    RedemptionRow,
    RefusalRow,
    Row,
    SiteRow,
    StudyRow,
)

R = TypeVar("R")


@dataclass(frozen=True)
class Effects:
    """Rows to insert and rows to replace by their keys."""

    new: tuple[Row, ...] = ()
    changed: tuple[Row, ...] = ()


def key_of(row: Row) -> Key:
    """Return the key of a row: the values of the fields that are unique in its class."""
    return tuple(str(value) if isinstance(value := getattr(row, name), str) else value for name in row.KEY)


class Contradiction(Exception):
    """An event contradicts earlier ones: a row that it creates exists already, or one that it needs is missing."""


def effects(records: Records, event: Event) -> Effects:
    """Return the rows that an event creates and changes, given the rows before it."""
    stamp, fact = event.stamp, event.fact
    at = stamp.server_time
    if isinstance(fact, RequestRefused):
        refused = RefusalRow(stamp.request_key, fact.action.value, fact.reason, fact.code, at, stamp.site)
        return Effects(new=(refused,))
    if isinstance(fact, StudyBegun):
        begun = StudyRow(fact.prefix, fact.settings, fact.settings.budget, 0, None, 0, at)
        return Effects(new=(begun,))
    study = replace(_there(records.study(), "the study"), last_time=at)
    site = stamp.site or ""
    match fact:
        case SettingsChanged():
            kept = study.kept + fact.settings.budget - study.settings.budget
            return Effects(changed=(replace(study, settings=fact.settings, kept=kept),))
        case SiteAdded():
            return Effects((SiteRow(fact.site, fact.name),), (study,))
        case SeedAdded():
            seed = PersonRow(fact.person, site, fact.code, None, at)
            code = CouponRow(fact.code, None, site, at, at.date(), at.date())
            return Effects((seed, code, RedemptionRow(fact.code, fact.person, at, site)), (study,))
        case CouponScanned() | ActionNoted():
            return Effects(changed=(study,))
        case PersonEnrolled():
            person = PersonRow(fact.person, site, fact.code, fact.recruiter, at)
            return Effects((person, RedemptionRow(fact.code, fact.person, at, site)), (study,))
        case AnswersRecorded() | AnswersCorrected():
            before = _there(records.person(fact.person), fact.person)
            after = replace(before, network_size=fact.network_size, answers=fact.answers or ())
            return Effects(changed=(study, after))
        case AnswersErased():
            return _answers_erased(records, study, fact)
        case PersonWithdrawn():
            gone = replace(_there(records.person(fact.person), fact.person), withdrawn_at=at)
            return Effects(changed=(study, gone, *_with_promise(records, study, fact.person, 0)))
        case PlanProposed():
            plan = PlanRow(fact.plan, fact.model, fact.seed, at)
            lines = (
                PlanLineRow(
                    fact.plan, each.person, each.coupons, each.coupons, each.stratum, each.probability, each.reason
                )
                for each in fact.lines
            )
            last = records.plan(study.last_plan)
            waiting = last if last is not None and last.status is PlanStatus.PROPOSED else None
            replaced = () if waiting is None else (replace(waiting, status=PlanStatus.CLOSED),)
            return Effects((plan, *lines), (replace(study, last_plan=fact.plan), *replaced))
        case PlanChanged():
            changed = (
                replace(_there(records.plan_line(fact.plan, person), person), coupons=coupons, why_changed=fact.why)
                for person, coupons in fact.lines
            )
            return Effects(changed=(study, *changed))
        case PlanApproved():
            promised = sum(line.coupons for line in records.plan_lines(fact.plan))
            approved = replace(
                _there(records.plan(fact.plan), "the plan"),
                status=PlanStatus.APPROVED,
                round=fact.round,
                promised=promised,
            )
            closed: tuple[Row, ...] = ()
            if study.approved_plan is not None:
                earlier = _there(records.plan(study.approved_plan), "the plan")
                closed = (replace(earlier, status=PlanStatus.CLOSED, promised=0),)
            return Effects(changed=(replace(study, approved_plan=fact.plan, rounds=fact.round), approved, *closed))
        case PlanStopped():
            stopped = replace(_there(records.plan(fact.plan), "the plan"), status=PlanStatus.STOPPED, promised=0)
            going_on = None if study.approved_plan == fact.plan else study.approved_plan
            return Effects(changed=(replace(study, approved_plan=going_on), stopped))
        case CouponsOverridden():
            override = OverrideRow(fact.round, fact.person, fact.coupons, stamp.actor, fact.why)
            promise = _with_promise(records, study, fact.person, fact.coupons)
            if records.override(fact.round, fact.person) is None:
                return Effects((override,), (study, *promise))
            return Effects(changed=(study, override, *promise))
        case CouponsIssued():
            return _issued(records, study, event, fact)
        case CouponVoided():
            void = replace(_there(records.coupon(fact.code), fact.code), voided_at=at, why_void=fact.why)
            return Effects(changed=(study, void))
        case CouponExtended():
            extended = replace(_there(records.coupon(fact.code), fact.code), last_day=fact.last_day)
            return Effects(changed=(study, extended))
        case PaymentMade():
            payment = PaymentRow(fact.code, fact.kind, fact.person, fact.amount, fact.currency, at, site)
            return Effects((payment,), (study,))
        case PersonImported():
            return _imported(records, study, event, fact)
        case _:
            assert_never(fact)


def promised_to(records: Records, study: StudyRow, person: str) -> int | None:
    """Return how many coupons an override or the approved plan gives a person in this round; None if neither does."""
    if study.approved_plan is None:
        return None
    override = records.override(study.rounds, person)
    if override is not None:
        return override.coupons
    line = records.plan_line(study.approved_plan, person)
    return None if line is None else line.coupons


def _with_promise(records: Records, study: StudyRow, person: str, promised: int) -> tuple[Row, ...]:
    """Change the approved plan's promise to a person who has not had coupons in this round."""
    if study.approved_plan is None or records.decision(study.rounds, person) is not None:
        return ()
    plan = _there(records.plan(study.approved_plan), "the plan")
    return (replace(plan, promised=plan.promised + promised - (promised_to(records, study, person) or 0)),)


def _answers_erased(records: Records, study: StudyRow, fact: AnswersErased) -> Effects:
    before = _there(records.person(fact.person), fact.person)
    person = replace(before, answers=(), imported=before.imported.split(":")[0])
    lines = (replace(each, stratum="", reason="") for each in records.plan_lines_of(fact.person))
    decisions = (replace(each, stratum="", reason="") for each in records.decisions_of(fact.person))
    return Effects(changed=(study, person, *lines, *decisions))


def _issued(records: Records, study: StudyRow, event: Event, fact: CouponsIssued) -> Effects:
    at = event.stamp.server_time
    number = len(fact.codes)
    person = _there(records.person(fact.person), fact.person)
    coupons = (CouponRow(code, fact.person, person.site, at, fact.first_day, fact.last_day) for code in fact.codes)
    decision = DecisionRow(
        fact.round, fact.person, number, fact.planned, fact.decided, fact.decided_by, fact.model, fact.seed,
        fact.stratum, fact.probability, fact.reason, fact.why_fewer, at,
    )  # fmt: skip
    return Effects(
        (decision, *coupons),
        (
            replace(study, kept=study.kept - number),
            replace(person, coupons=person.coupons + number, last_issued_at=at),
            *_with_promise(records, study, fact.person, 0),
        ),
    )


def _imported(records: Records, study: StudyRow, event: Event, fact: PersonImported) -> Effects:
    at, came = event.stamp.server_time, fact.enrolled_at
    person = PersonRow(
        fact.person, fact.site, fact.code, fact.recruiter, came, fact.network_size, fact.answers,
        coupons=len(fact.coupons),
        last_issued_at=min(at, max(each.issued_at for each in fact.coupons)) if fact.coupons else None,
        imported=f"{fact.digest}:{fact.salt}:{fact.commitment[:16]}" if fact.salt else fact.digest,
    )  # fmt: skip
    new: list[Row] = [person, RedemptionRow(fact.code, fact.person, came, fact.site)]
    for each in fact.coupons:
        voided_at, why = (at, "void when it was imported") if each.void else (None, "")
        new.append(
            CouponRow(
                each.code, fact.person, fact.site, each.issued_at, each.first_day, each.last_day, voided_at, why, True
            )
        )
    changed: tuple[Row, ...] = (study,)
    if fact.recruiter is None:
        new.append(CouponRow(fact.code, None, fact.site, came, came.date(), came.date(), imported=True))
    elif fact.drawn:
        holder = _there(records.person(fact.recruiter), fact.recruiter)
        new.append(CouponRow(fact.code, holder.person, holder.site, came, came.date(), came.date(), imported=True))
        changed = (study, replace(holder, coupons=holder.coupons + 1))
    for kind in fact.paid:
        receiver = fact.person if kind is PaymentKind.INTERVIEW else fact.recruiter or ""
        new.append(PaymentRow(fact.code, kind, receiver, 0, study.settings.currency, came, fact.site))
    return Effects(tuple(new), changed)


def _there(row: R | None, what: str) -> R:
    if row is None:
        raise Contradiction(f"An event needs {what}, which no event before it made.")
    return row
