"""The list of people: pseudonyms with where they stand, by site, state and search."""

from dataclasses import dataclass
from datetime import date

from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from peerfront.web.live.records.models import Person
from peerfront.web.live.records.waiting import waiting
from peerfront.web.live.rules.actions import Action
from peerfront.web.live.rules.codes import foreign_code, plain_characters
from peerfront.web.live.rules.records import StudyRow
from peerfront.web.live.screens.board import LONGEST_SEARCH
from peerfront.web.live.screens.page_frame import list_page
from peerfront.web.live.screens.visibility import chosen_site, day_of, only_site, sites_in_sight, study_or_404

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
    site = chosen_site(request, Action.SEE_PEOPLE)
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
    """Those of some people whom a choice of `SHOWN` names; all for another text."""
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
    found = Q(person__icontains=search)
    found |= Q(code__startswith=own) if own else Q()
    return found | Q(code__startswith=foreign) if foreign else found


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
    """What is special about a person."""
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
