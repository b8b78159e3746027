"""The page of one person: what is known, whom they recruited, their coupons, decisions and payments."""

from dataclasses import dataclass
from datetime import date
from typing import cast

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from peerfront.web.live.records import models
from peerfront.web.live.records.database import DatabaseRecords, row_of
from peerfront.web.live.records.waiting import waiting
from peerfront.web.live.rules.actions import Action
from peerfront.web.live.rules.codes import shown_code
from peerfront.web.live.rules.effects import promised_to
from peerfront.web.live.rules.records import DecisionRow, PaymentRow, PersonRow, StudyRow
from peerfront.web.live.screens.arrival import next_step
from peerfront.web.live.screens.board import shown_coupon
from peerfront.web.live.screens.page_words import by_words, details, reason_lines, shown_amount, term
from peerfront.web.live.screens.people import person_tags
from peerfront.web.live.screens.staff_requests import AtWork
from peerfront.web.live.screens.visibility import day_of, may, person_in_sight, sites_in_sight, study_or_404, time_text

_ACTIONS = {
    "override_coupons": Action.OVERRIDE_COUPONS,
    "correct_answers": Action.CORRECT_ANSWERS,
    "withdraw_person": Action.WITHDRAW_PERSON,
    "erase_answers": Action.ERASE_ANSWERS,
    "contact": Action.SEE_CONTACT,
    "write_contact": Action.WRITE_CONTACT,
    "delete_contact": Action.DELETE_CONTACT,
}
"""Pages about a person, with what one must be allowed."""


@dataclass(frozen=True)
class ShownDecision:
    """A decision as a row of the page."""

    row: DecisionRow
    day: date
    by: str
    reasons: tuple[str, ...]
    details: tuple[str, ...]


@dataclass(frozen=True)
class ShownPayment:
    """A payment as a row of the page."""

    what: str
    code: str
    amount: str
    at: str
    site: str


def person(request: HttpRequest, person: str) -> HttpResponse:
    """Show one person, with links to what may be done for them now."""
    row = person_in_sight(request, person, Action.SEE_PEOPLE)
    study, sites = study_or_404(), sites_in_sight(request, Action.SEE_PEOPLE)
    stored = models.Person.objects.get(pk=row.person)
    own_coupon = DatabaseRecords().coupon(row.code)
    waits = waiting(study.settings).filter(pk=row.person).exists()
    recruiter = None if row.recruiter is None else DatabaseRecords().person(row.recruiter)
    recruits = models.Person.objects.filter(recruiter_id=row.person).order_by("enrolled_at", "person")
    held = models.Coupon.objects.filter(holder_id=row.person).select_related("redemption").order_by("issued_at", "code")
    return render(
        request,
        "screens/person.html",
        {
            "person": row,
            "tags": person_tags(stored, waits=waits),
            "site_name": sites.get(row.site, row.site),
            "came": time_text(study, row.enrolled_at),
            "code": shown_code(row.code),
            "recruiter": recruiter,
            "recruiter_in_sight": recruiter is not None and may(request, Action.SEE_PEOPLE, recruiter.site),
            "withdrawn": None if row.withdrawn_at is None else day_of(study, row.withdrawn_at),
            "answers": _answers(row, study),
            "recruits": [
                (each.person, day_of(study, each.enrolled_at), may(request, Action.SEE_PEOPLE, each.site_id))
                for each in recruits
            ],
            "coupons": [shown_coupon(each, study, sites) for each in held],
            "decisions": _decisions(row, study),
            "payments": _payments(row, study, sites),
            "promised": _this_round(row, study),
            "may": _allowed(request, row, study),
            "step": next_step(study, row, cast(AtWork, request).member)
            if may(request, Action.ISSUE_COUPONS, row.site)
            else None,
            "sees_code": own_coupon is not None and may(request, Action.SEE_BOARD, own_coupon.site),
            "sees_board": may(request, Action.SEE_BOARD, row.site),
            "withdrawn_and_contact": row.withdrawn_at is not None
            and models.Contact.objects.filter(person_id=row.person).exists(),
        },
    )


def _answers(row: PersonRow, study: StudyRow) -> list[tuple[str, str]] | None:
    """Questions with their answers, in the order in which they are asked; None until they are recorded."""
    if row.answers is None:
        return None
    told = dict(row.answers)
    asked = [(question.text, told.pop(question.name, "")) for question in study.settings.questions]
    return asked + sorted(told.items())


def _decisions(row: PersonRow, study: StudyRow) -> list[ShownDecision]:
    stored = models.Decision.objects.filter(person_id=row.person).order_by("round")
    decisions = [row_of(DecisionRow, each) for each in stored]
    return [
        ShownDecision(
            each, day_of(study, each.at), by_words(each.decided_by),
            tuple(line for line in reason_lines(each) if line not in details(each)), details(each),
        )
        for each in decisions
    ]  # fmt: skip


def _payments(row: PersonRow, study: StudyRow, sites: dict[str, str]) -> list[ShownPayment]:
    stored = models.Payment.objects.filter(person_id=row.person).order_by("at")
    return [
        ShownPayment(
            term(each.kind.value), shown_code(each.code), shown_amount(each.amount, each.currency),
            time_text(study, each.at), sites.get(each.site, ""),
        )
        for each in (row_of(PaymentRow, payment) for payment in stored)
    ]  # fmt: skip


def _this_round(row: PersonRow, study: StudyRow) -> int | None:
    """How many coupons the person is to get in this round; None if nothing is decided, or they got theirs."""
    if row.withdrawn_at is not None or study.approved_plan is None:
        return None
    if DatabaseRecords().decision(study.rounds, row.person) is not None:
        return None
    return promised_to(DatabaseRecords(), study, row.person)


def _allowed(request: HttpRequest, row: PersonRow, study: StudyRow) -> dict[str, bool]:
    """Which pages about the person one may open now."""
    allowed = {name: may(request, action, row.site) for name, action in _ACTIONS.items()}
    if row.withdrawn_at is not None:
        allowed |= dict.fromkeys(("override_coupons", "correct_answers", "withdraw_person"), False)
        allowed["write_contact"] = False
    decided = study.rounds > 0 and DatabaseRecords().decision(study.rounds, row.person) is not None
    allowed["override_coupons"] &= study.approved_plan is not None and not decided
    allowed["correct_answers"] &= row.answers is not None
    allowed["erase_answers"] &= row.withdrawn_at is not None and bool(row.answers)
    return allowed
