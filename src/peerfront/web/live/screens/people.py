"""The list of people by site, state and search; and the page of one person."""

from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from peerfront.web.live.records.database import DatabaseRecords, row_of, waiting
from peerfront.web.live.records.models import Contact, Person
from peerfront.web.live.rules.actions import Action
from peerfront.web.live.rules.effects import to_get
from peerfront.web.live.rules.records import DecisionRow, PersonRow, StudyRow
from peerfront.web.live.screens.arrival import step_of
from peerfront.web.live.screens.coupon_board import shown_coupon
from peerfront.web.live.screens.page_frame import (
    like_code,
    list_filters,
    list_page,
    may,
    person_in_sight,
    sites_in_sight,
    study_or_404,
    today_of,
)
from peerfront.web.live.screens.page_words import details, reason_lines
from peerfront.web.live.screens.payments import bill_of

SHOWN: dict[str, Promise | str] = {
    "waiting": _("Waiting for coupons"),
    "unanswered": _("Answers not recorded"),
    "seeds": _("Seeds"),
    "withdrawn": _("Withdrawn"),
}


def people(request: HttpRequest) -> HttpResponse:
    """List the people in sight, the newest first, as the address filters them."""
    study = study_or_404()
    context = list_filters(request, Action.SEE_PEOPLE, "show", SHOWN)
    site, show = context["site"], context["show"]
    of_site = Person.objects.all() if site is None else Person.objects.filter(site=site)
    listed = filtered(of_site, show, study)
    if search := context["search"]:
        listed = listed.filter(Q(person__icontains=search) | like_code(search))
    shown = Person.objects.select_related("site", "recruiter")
    shown = shown.annotate(n_recruits=Count("recruits"), waits=_waits(study))
    context |= {
        "page": list_page(request, listed.order_by("-enrolled_at", "person"), shown=shown),
        "everybody": of_site.count(),
        "cards": [(each, SHOWN[each], filtered(of_site, each, study).count(), each == show) for each in SHOWN],
    }
    return render(request, "screens/people.html", context)


def _waits(study: StudyRow) -> Exists:
    return Exists(waiting(study.settings).filter(pk=OuterRef("pk")))


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
            return people.filter(withdrawn_at__isnull=False)
    return people


_ACTIONS = {
    "pay": Action.PAY,
    "override_coupons": Action.OVERRIDE_COUPONS,
    "correct_answers": Action.CORRECT_ANSWERS,
    "withdraw_person": Action.WITHDRAW_PERSON,
    "erase_answers": Action.ERASE_ANSWERS,
    "contact": Action.SEE_CONTACT,
    "write_contact": Action.WRITE_CONTACT,
    "delete_contact": Action.DELETE_CONTACT,
}
"""Pages about a person, with what one must be allowed."""


def person(request: HttpRequest, person: str) -> HttpResponse:
    """Show one person, with links to what may be done for them now."""
    row = person_in_sight(request, person, Action.SEE_PEOPLE)
    study, sites = study_or_404(), sites_in_sight(request, Action.SEE_PEOPLE)
    stored = Person.objects.select_related("site", "recruiter").annotate(waits=_waits(study)).get(pk=row.person)
    own_coupon = DatabaseRecords().coupon(row.code)
    held = stored.held.select_related("redemption").order_by("issued_at", "code")
    decisions = [row_of(DecisionRow, each) for each in stored.decisions.order_by("round")]
    context = {
        "person": stored,
        "site_choices": sites,
        "answers": _answers(row, study),
        "recruits": stored.recruits.order_by("enrolled_at", "person"),
        "coupons": [shown_coupon(each, today_of(study), sites) for each in held],
        "decisions": [(each, reason_lines(each), details(each)) for each in decisions],
        "payments": stored.payments.select_related("site").order_by("at"),
        "promised": to_get(DatabaseRecords(), study, row),
        "bill": bill_of(study, row.person),
        "may": _allowed(request, row, study),
        "sees_code": own_coupon is not None and may(request, Action.SEE_BOARD, own_coupon.site),
        "sees_board": may(request, Action.SEE_BOARD, row.site),
        "withdrawn_and_contact": row.withdrawn_at is not None and Contact.objects.filter(person=stored).exists(),
    }
    step = step_of(request, person) if may(request, Action.ISSUE_COUPONS, row.site) else {}
    return render(request, "screens/person.html", context | step)


def _answers(row: PersonRow, study: StudyRow) -> list[tuple[str, str]] | None:
    """Questions with their answers, in the order in which they are asked; None until they are recorded."""
    if row.answers is None:
        return None
    answers = dict(row.answers)
    asked = [(question.text, answers.pop(question.name, "")) for question in study.settings.questions]
    return asked + sorted(answers.items())


def _allowed(request: HttpRequest, row: PersonRow, study: StudyRow) -> dict[str, bool]:
    """Which pages about the person one may open now."""
    allowed = {name: may(request, action, row.site) for name, action in _ACTIONS.items()}
    if row.withdrawn_at is not None:
        allowed |= dict.fromkeys(("override_coupons", "correct_answers", "withdraw_person"), False)
        allowed["write_contact"] = False
    decided = study.rounds > 0 and DatabaseRecords().decision(study.rounds, row.person) is not None
    allowed["override_coupons"] &= study.approved_plan is not None and not decided
    allowed["correct_answers"] &= row.answers is not None
    allowed["erase_answers"] &= row.withdrawn_at is not None
    return allowed
