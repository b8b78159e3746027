"""Who recruited whom: chains by size, one of them as a picture and as a list."""

from collections import Counter
from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from peerfront.web.live.records.models import Person
from peerfront.web.live.rules.actions import Action
from peerfront.web.live.rules.records import StudyRow
from peerfront.web.live.rules.study_settings import QuestionKind
from peerfront.web.live.screens.chains import Forest, Node, Recruited, tree_svg
from peerfront.web.live.screens.page_frame import day_of, only_site, sites_in_sight, study_or_404
from peerfront.web.live.screens.svg import COLOURS

MOST_SHOWN = 300
"""People of a chain in one picture; others are seen from a person further on."""
MOST_LISTED = 100
"""Chains in the list."""
_SITE, _WAVE = "site", "wave"


@dataclass(frozen=True)
class Colouring:
    """By what people are coloured: their group, the groups in order, and its name."""

    key: str
    words: str
    group: dict[str, str]
    """By person."""
    groups: tuple[str, ...]


def tree(request: HttpRequest) -> HttpResponse:
    """Show one chain as a picture and as a list, and all chains by size."""
    study, forest = study_or_404(), _forest(request)
    chains = forest.chains()
    root = _root(request, forest)
    context = {
        "chains": [(chain, day_of(study, chain.newest)) for chain in chains[:MOST_LISTED]],
        "more_chains": max(len(chains) - MOST_LISTED, 0),
    }
    if root is not None:
        shown = forest.shown(root, MOST_SHOWN)
        colouring = _colouring(request, study, forest, shown)
        number = len(shown.everybody())
        above = forest.people[root].recruiter
        context |= {
            "root": root,
            "above": above if above in forest.people else "",
            "number": number,
            "whole": forest.below(root),
            "colouring": colouring,
            "choices": _choices(study),
            "nested": _nested(shown, study),
            "address": f"{reverse('tree_picture')}?{urlencode({'root': root, 'colour': colouring.key})}",
        }
    return render(request, "screens/tree.html", context)


def tree_picture(request: HttpRequest) -> HttpResponse:
    """The picture of a chain as a file."""
    forest = _forest(request)
    root = _root(request, forest)
    if root is None:
        raise Http404
    shown = forest.shown(root, MOST_SHOWN)
    colouring = _colouring(request, study_or_404(), forest, shown)
    picture = tree_svg(shown, colouring.group, colouring.groups, colouring.words)
    return HttpResponse(picture, content_type="image/svg+xml")


def _forest(request: HttpRequest) -> Forest:
    """The people in sight: of one's own site, or of all."""
    only = only_site(request, Action.SEE_PEOPLE)
    people = Person.objects.all() if only is None else Person.objects.filter(site=only)
    columns = ("person", "recruiter_id", "site_id", "enrolled_at", "withdrawn_at")
    return Forest(
        Recruited(person, recruiter, site, at, withdrawn is not None)
        for person, recruiter, site, at, withdrawn in people.values_list(*columns).iterator(chunk_size=2_000)
    )


def _root(request: HttpRequest, forest: Forest) -> str | None:
    """The person with whom the picture begins: that of the address, or the largest chain's."""
    wanted = request.GET.get("root", "")
    if wanted:
        if wanted not in forest.people:
            raise Http404
        return wanted
    chains = forest.chains()
    return chains[0].root if chains else None


def _choices(study: StudyRow) -> list[tuple[str, str]]:
    questions = [each for each in study.settings.questions if each.kind is QuestionKind.CHOICE]
    return [(_SITE, gettext("Site")), (_WAVE, gettext("Wave")), *((each.name, each.text) for each in questions)]


def _colouring(request: HttpRequest, study: StudyRow, forest: Forest, shown: Node) -> Colouring:
    """By site, wave or an answer, as the address says; rare groups share the last colour."""
    choices = dict(_choices(study))
    key = request.GET.get("colour", "")
    key = key if key in choices else _usual(study)
    people = [node.person.person for node in shown.everybody()]
    group = _groups(request, key, forest, people)
    in_order = list(dict.fromkeys(group[person] for person in people))
    if len(in_order) > len(COLOURS):
        common = {name for name, _ in Counter(group.values()).most_common(len(COLOURS) - 1)}
        others = gettext("Others")
        group = {person: name if name in common else others for person, name in group.items()}
        in_order = [*(name for name in in_order if name in common), others]
    return Colouring(key, choices[key], group, tuple(in_order))


def _usual(study: StudyRow) -> str:
    """The first answer that plans may use; otherwise the site."""
    usable = (each for each in study.settings.questions if each.kind is QuestionKind.CHOICE and each.for_planning)
    return next((each.name for each in usable), _SITE)


def _groups(request: HttpRequest, key: str, forest: Forest, people: list[str]) -> dict[str, str]:
    """The group of each person; answers of people who withdrew are left out."""
    if key == _SITE:
        names = sites_in_sight(request, Action.SEE_PEOPLE)
        return {person: names.get(forest.people[person].site, "") for person in people}
    if key == _WAVE:
        return {person: gettext("Wave %(wave)s") % {"wave": forest.waves[person]} for person in people}
    by_person: dict[str, str] = {}
    for start in range(0, len(people), 500):
        stored = Person.objects.filter(pk__in=people[start : start + 500], withdrawn_at=None)
        rows = stored.values_list("pk", "answers")
        by_person |= {person: dict(answers or ()).get(key, "") for person, answers in rows}
    return {person: by_person.get(person) or gettext("Not answered") for person in people}


def _nested(root: Node, study: StudyRow) -> SafeString:
    """The chain as nested lists, from the deepest wave on, so that no chain is too long."""
    lists: dict[str, SafeString] = {}
    for node in reversed(root.everybody()):
        person = node.person.person
        below = format_html_join("", "{}", ((lists.pop(each.person.person),) for each in node.recruits))
        more = format_html(
            ' <a href="?root={}">{}</a>', person, gettext("and %(number)s more") % {"number": node.hidden}
        ) if node.hidden else ""  # fmt: skip
        lists[person] = format_html(
            '<li><a href="{}"><bdi>{}</bdi></a> <span class="quiet">{}</span>{}{}</li>',
            reverse("person", args=[person]),
            person,
            day_of(study, node.person.enrolled_at),
            more,
            format_html("<ul>{}</ul>", below) if node.recruits else "",
        )
    return lists[root.person.person]
