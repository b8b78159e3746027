"""The list of people by site, state and search; and the page of one person."""

from dataclasses import dataclass
from datetime import date
from typing import cast

from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from peerfront.web.live.records import models
from peerfront.web.live.records.database import DatabaseRecords, row_of, waiting
from peerfront.web.live.records.models import Person
from peerfront.web.live.rules.actions import Action
from peerfront.web.live.rules.codes import foreign_code, plain_characters, shown_code
from peerfront.web.live.rules.effects import promised_to
from peerfront.web.live.rules.records import DecisionRow, PaymentRow, PersonRow, StudyRow
from peerfront.web.live.screens.arrival import next_step
from peerfront.web.live.screens.coupon_board import LONGEST_SEARCH, shown_coupon
from peerfront.web.live.screens.page_frame import (
    day_of,
    list_page,
    may,
    only_site,
    person_in_sight,
    site_filter,
    sites_in_sight,
    study_or_404,
    time_text,
)
from peerfront.web.live.screens.page_words import by_words, details, reason_lines, shown_amount, term
from peerfront.web.live.screens.staff_requests import AtWork

SHOWN: dict[str, Promise | str] = {
    "waiting": _("Waiting for coupons"),
    "unanswered": _("Answers not recorded"),
    "seeds": _("Seeds"),
    "withdrawn": _("Withdrawn"),
}


@dataclass(frozen=True)
class ShownPerson:
    """A line of the list."""

    person: str
    site: str
    came: date
    recruiter: str
    recruits: int
    coupons: int
    tags: tuple[tuple[str, Promise | str], ...]
    """Colour and words."""


def people(request: HttpRequest) -> HttpResponse:
    """List the people in sight, the newest first, as the address filters them."""
    study = study_or_404()
    site = site_filter(request, Action.SEE_PEOPLE)
    sites = sites_in_sight(request, Action.SEE_PEOPLE)
    shown = request.GET.get("show", "")
    shown = shown if shown in SHOWN else ""
    search = request.GET.get("search", "")[:LONGEST_SEARCH].strip()
    of_site = Person.objects.all() if site is None else Person.objects.filter(site=site)
    listed = filtered(of_site, shown, study)
    listed = listed.filter(like_person(search)) if search else listed
    page = list_page(request, listed.order_by("-enrolled_at", "person"))
    counts = {each: filtered(of_site, each, study).count() for each in SHOWN}
    return render(
        request,
        "screens/people.html",
        {
            "people": shown_people(page.rows, study, sites),
            "page": page,
            "everybody": of_site.count(),
            "cards": [(each, SHOWN[each], counts[each], each == shown) for each in SHOWN],
            "show": shown,
            "search": search,
            "site": site,
            "only_site": only_site(request, Action.SEE_PEOPLE),
            "site_choices": sites,
        },
    )


def filtered(people: QuerySet[Person], shown: str, study: StudyRow) -> QuerySet[Person]:
    """The people of one group of `SHOWN`; all people for any other text."""
    match shown:
        case "waiting":
            return people.filter(pk__in=waiting(study.settings).values("pk"))
        case "unanswered":
            return people.filter(answers__isnull=True, withdrawn_at=None)
        case "seeds":
            return people.filter(recruiter=None)
        case "withdrawn":
            return people.exclude(withdrawn_at=None)
    return people


def like_person(search: str) -> Q:
    """People whose pseudonym contains, or whose code begins with, what somebody typed."""
    own, foreign = plain_characters(search), foreign_code(search)
    condition = Q(person__icontains=search)
    condition |= Q(code__startswith=own) if own else Q()
    return condition | Q(code__startswith=foreign) if foreign else condition


def shown_people(stored: list[Person], study: StudyRow, sites: dict[str, str]) -> list[ShownPerson]:
    """Lines of the list; recruits and people who wait are looked up for all of them at once."""
    names = [each.person for each in stored]
    recruits = dict(
        Person.objects.filter(recruiter_id__in=names).values_list("recruiter_id").annotate(number=Count("pk"))
    )
    recruiters = {each.recruiter_id for each in stored if each.recruiter_id}
    in_sight = set(Person.objects.filter(pk__in=recruiters, site__in=list(sites)).values_list("pk", flat=True))
    elsewhere = gettext("somebody at another site")
    waits = set(waiting(study.settings).filter(pk__in=names).values_list("pk", flat=True))
    return [
        ShownPerson(
            each.person,
            sites.get(each.site_id, each.site_id),
            day_of(study, each.enrolled_at),
            "" if each.recruiter_id is None else each.recruiter_id if each.recruiter_id in in_sight else elsewhere,
            recruits.get(each.person, 0),
            each.coupons,
            person_tags(each, waits=each.person in waits),
        )
        for each in stored
    ]


def person_tags(person: Person, *, waits: bool) -> tuple[tuple[str, Promise | str], ...]:
    """Words for the state of a person: a seed, waiting, withdrawn."""
    tags: list[tuple[str, Promise | str]] = []
    if person.recruiter_id is None:
        tags.append(("plain", _("Seed")))
    if person.withdrawn_at is not None:
        tags.append(("bad", _("Withdrawn")))
    elif person.answers is None:
        tags.append(("care", _("Answers not recorded")))
    elif waits:
        tags.append(("good", _("Waiting for coupons")))
    return tuple(tags)


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
    answers = dict(row.answers)
    asked = [(question.text, answers.pop(question.name, "")) for question in study.settings.questions]
    return asked + sorted(answers.items())


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
