"""Who recruited whom: every chain as a small picture, the largest first; one of them with names, and as a list."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.http import content_disposition_header
from django.utils.translation import gettext

from peerfront.foundation.shown import visible
from peerfront.web.live.records.models import Person
from peerfront.web.live.records.recruitment import Forest, Recruited, recruitment_now
from peerfront.web.live.rules.actions import Action
from peerfront.web.live.rules.records import StudyRow
from peerfront.web.live.rules.study_settings import QuestionKind
from peerfront.web.live.screens.page_frame import only_site, sites_in_sight, study_or_404
from peerfront.words.charts import OTHERS, Html, key_of
from peerfront.words.tree_pictures import Shape, TreePlace, as_file, named_tree, small_tree, tree_rows

MOST_SHOWN = 300
"""People of a chain in one picture; others are seen from a person further on."""
MOST_LISTED = 100
"""Chains on the page."""
MOST_DRAWN = 3_000
"""People in small pictures; a chain for which too few of them are left has none."""
_SITE, _WAVE = "site", "wave"
_COLOURS = 8
_LABEL = 14  # characters of a label that fit beside the next column


@dataclass(frozen=True)
class Placed:
    """A person in a part of a chain that is shown, with their place in its picture."""

    person: Recruited
    wave: int
    """Recruitments from the root: the column."""
    row: float
    recruiter_row: float | None
    """The row of the recruiter, who stands one column before; None for the root."""
    recruits: tuple[str, ...]
    """Those who are shown."""
    hidden: int
    """How many are not."""


def shown_people(forest: Forest, root: str, most: int) -> list[Placed]:
    """The first `most` people of a chain, wave by wave, with their places."""
    waves = dict(islice(forest.below(root), most))
    recruits = {person: [each for each in forest.recruits.get(person, ()) if each in waves] for person in waves}
    rows = tree_rows(root, recruits)
    above = {each: rows[person] for person in waves for each in recruits[person]}
    return [
        Placed(
            forest.people[person], wave, rows[person], above.get(person), tuple(recruits[person]),
            len(forest.recruits.get(person, ())) - len(recruits[person]),
        )
        for person, wave in waves.items()
    ]  # fmt: skip


@dataclass(frozen=True)
class Colouring:
    """By what people are coloured: their group, the groups in order, and its name."""

    by: str
    words: str
    group: dict[str, str]
    """By person."""
    groups: tuple[str, ...]

    @property
    def key(self) -> Html:
        return key_of(("dot", self._colour(name), name) for name in self.groups)

    def places(self, people: Sequence[Placed]) -> list[TreePlace]:
        """People as they are drawn."""
        return [
            TreePlace(
                each.wave, each.row, each.recruiter_row, _shape(each.person),
                self._colour(self.group[each.person.person]), _label(each),
            )
            for each in people
        ]  # fmt: skip

    def _colour(self, group: str) -> int:
        number = self.groups.index(group) + 1
        return number if number <= _COLOURS else OTHERS


def _shape(person: Recruited) -> Shape:
    return Shape.WITHDRAWN if person.withdrawn else Shape.SEED if person.recruiter is None else Shape.RECRUIT


def _label(each: Placed) -> str:
    name = visible(each.person.person)
    words = name if len(name) <= _LABEL else f"{name[: _LABEL - 1]}…"
    return f"{words} +{each.hidden}" if each.hidden else words


def tree(request: HttpRequest) -> HttpResponse:
    """Show every chain by size; or one of them, from the person of the address on, with names and as a list."""
    study, root = study_or_404(), request.GET.get("root", "")
    with recruitment_now(study) as recruitment:
        forest = recruitment.forests[only_site(request, Action.SEE_PEOPLE)]
        if root and root not in forest.people:
            raise Http404
        context: dict[str, Any] = {"choices": _choices(study)} | (
            _alone(request, study, forest, root) if root else _together(request, study, forest)
        )
    if root and "file" in request.GET:
        kept = HttpResponse(as_file(context["picture"]), content_type="image/svg+xml")
        kept["Content-Disposition"] = content_disposition_header(True, f"chain-{root}.svg") or ""
        return kept
    return render(request, "screens/tree.html", context)


def _alone(request: HttpRequest, study: StudyRow, forest: Forest, root: str) -> dict[str, Any]:
    shown = shown_people(forest, root, MOST_SHOWN)
    colouring = _colouring(request, study, forest, [each.person.person for each in shown])
    above = forest.people[root].recruiter
    return {
        "root": root,
        "above": above if above in forest.people else "",
        "number": len(shown),
        "whole": sum(1 for _ in forest.below(root)),
        "colouring": colouring,
        "people": shown,
        "picture": named_tree(colouring.places(shown), gettext("Recruits of %(person)s") % {"person": root}),
    }


def _together(request: HttpRequest, study: StudyRow, forest: Forest) -> dict[str, Any]:
    chains = forest.chains()
    drawn, left = {}, MOST_DRAWN
    for chain in chains[:MOST_LISTED]:
        if chain.people <= left:
            left -= chain.people
            drawn[chain.root] = shown_people(forest, chain.root, chain.people)
    colouring = _colouring(request, study, forest, [each.person.person for own in drawn.values() for each in own])
    pictures = {root: small_tree(colouring.places(each)) for root, each in drawn.items()}
    return {
        "chains": [(replace(chain), pictures.get(chain.root, "")) for chain in chains[:MOST_LISTED]],
        "more_chains": max(len(chains) - MOST_LISTED, 0),
        "colouring": colouring,
    }


def _choices(study: StudyRow) -> list[tuple[str, str]]:
    questions = [each for each in study.settings.questions if each.kind is QuestionKind.CHOICE]
    return [(_SITE, gettext("Site")), (_WAVE, gettext("Wave")), *((each.name, each.text) for each in questions)]


def _colouring(request: HttpRequest, study: StudyRow, forest: Forest, people: list[str]) -> Colouring:
    """By site, wave or an answer, as the address says; rare groups share the last colour."""
    choices = dict(_choices(study))
    key = request.GET.get("colour", "")
    key = key if key in choices else _usual(study)
    group = _groups(request, key, forest, people)
    in_order = list(dict.fromkeys(group[person] for person in people))
    if len(in_order) > _COLOURS:
        common = {name for name, _ in Counter(group.values()).most_common(_COLOURS - 1)}
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
