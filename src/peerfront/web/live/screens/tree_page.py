"""Who recruited whom: chains by size, one of them as a picture and as a list.

In the picture waves are columns. Everybody without shown recruits gets a row of their own, in order; a recruiter stands
in the middle of their recruits, and no label covers another.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import islice
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext, ngettext

from peerfront.foundation.shown import visible
from peerfront.web.live.records.models import Person
from peerfront.web.live.rules.actions import Action
from peerfront.web.live.rules.records import StudyRow
from peerfront.web.live.rules.study_settings import QuestionKind
from peerfront.web.live.screens.charts import as_address, picture
from peerfront.web.live.screens.page_frame import only_site, sites_in_sight, study_or_404

MOST_SHOWN = 300
"""People of a chain in one picture; others are seen from a person further on."""
MOST_LISTED = 100
"""Chains in the list."""
_SITE, _WAVE = "site", "wave"
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7A5195", "#8C6D31")
_OTHERS = "#999999"
_COLUMN, _ROW, _MARGIN = 150, 26, 24
_LABEL = 14  # characters of a label that fit beside the next column


@dataclass(frozen=True)
class Recruited:
    """Somebody in a chain."""

    person: str
    recruiter: str | None
    site: str
    enrolled_at: datetime
    withdrawn: bool = False


@dataclass(frozen=True)
class Chain:
    """Everybody whom one person recruited, directly or through others."""

    root: str
    people: int
    waves: int
    """Of the deepest person; the root is wave 0."""
    newest: datetime


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


class Forest:
    """All people in sight by recruiter. People whose recruiter is not in sight begin a chain, as seeds do."""

    def __init__(self, people: Iterable[Recruited]) -> None:
        self.people = {each.person: each for each in people}

    @cached_property
    def recruits(self) -> dict[str, list[str]]:
        """Recruits of each person in the order in which they came."""
        by_recruiter: dict[str, list[str]] = {}
        for each in sorted(self.people.values(), key=lambda person: (person.enrolled_at, person.person)):
            if each.recruiter in self.people:
                by_recruiter.setdefault(str(each.recruiter), []).append(each.person)
        return by_recruiter

    @cached_property
    def waves(self) -> dict[str, int]:
        """Recruitments between the beginning of the chain and each person."""
        return {person: wave for root in self.roots for person, wave in self.below(root)}

    @property
    def roots(self) -> list[str]:
        """Where chains begin."""
        return [each.person for each in self.people.values() if each.recruiter not in self.people]

    def chains(self) -> list[Chain]:
        """All chains, the largest first."""
        chains = []
        for root in self.roots:
            below = list(self.below(root))
            newest = max(self.people[person].enrolled_at for person, _ in below)
            chains.append(Chain(root, len(below), below[-1][1], newest))
        return sorted(chains, key=lambda chain: (-chain.people, chain.root))

    def below(self, root: str) -> Iterable[tuple[str, int]]:
        """Everybody of a chain with their wave, wave by wave."""
        wave, number = [root], 0
        while wave:
            yield from ((person, number) for person in wave)
            wave = [each for person in wave for each in self.recruits.get(person, ())]
            number += 1

    def shown(self, root: str, most: int) -> list[Placed]:
        """The first `most` people of a chain, wave by wave, with their places."""
        waves = dict(islice(self.below(root), most))
        recruits = {person: [each for each in self.recruits.get(person, ()) if each in waves] for person in waves}
        rows = _rows(root, recruits)
        above = {each: rows[person] for person in waves for each in recruits[person]}
        return [
            Placed(
                self.people[person], wave, rows[person], above.get(person), tuple(recruits[person]),
                len(self.recruits.get(person, ())) - len(recruits[person]),
            )
            for person, wave in waves.items()
        ]  # fmt: skip


def _rows(root: str, recruits: Mapping[str, Sequence[str]]) -> dict[str, float]:
    """The row of everybody in the picture of a chain."""
    rows: dict[str, float] = {}
    next_row = 0
    stack = [(root, False)]
    while stack:  # no recursion: a chain may be longer than Python's stack
        person, below_done = stack.pop()
        if below_done:
            rows[person] = (rows[recruits[person][0]] + rows[recruits[person][-1]]) / 2
        elif recruits[person]:
            stack.append((person, True))
            stack += [(each, False) for each in reversed(recruits[person])]
        else:
            rows[person] = next_row
            next_row += 1
    return rows


def tree_svg(people: Sequence[Placed], group: Mapping[str, str], groups: Sequence[str], grouped_by: str) -> str:
    """Draw a chain; `group` is that of each person, `groups` are all of them in the order of the legend."""
    colours = dict(zip(groups, COLOURS, strict=False))
    top = _MARGIN * 2 + 20 * len(groups)
    context = {
        "grouped_by": grouped_by,
        "legend": [
            (visible(name), colours.get(name, _OTHERS), _MARGIN + 20 * place) for place, name in enumerate(groups, 1)
        ],
        "people": [_drawn(each, top, colours.get(group[each.person.person], _OTHERS)) for each in people],
    }
    title = gettext("Recruits of %(person)s") % {"person": visible(people[0].person.person)}
    number = ngettext("%(number)s person is shown.", "%(number)s people are shown.", len(people))
    lines = gettext(
        "Lines lead from recruiters, on the left, to their recruits. The list below the picture says the same."
    )
    width = max(_MARGIN * 2 + _COLUMN * (max(each.wave for each in people) + 1), 420)
    height = top + _MARGIN + round(_ROW * (max(each.row for each in people) + 1))
    return picture("tree", width, height, title, f"{number % {'number': len(people)}} {lines}", context)


def _drawn(each: Placed, top: int, colour: str) -> dict[str, object]:
    """A person as the template draws them."""
    x, y = _MARGIN + _COLUMN * each.wave, round(top + _ROW * (each.row + 0.5), 1)
    line = ""
    if each.recruiter_row is not None:
        line = f"M{x - _COLUMN} {top + _ROW * (each.recruiter_row + 0.5):.1f}H{x - 24}V{y}H{x}"
    name = visible(each.person.person)
    words = name if len(name) <= _LABEL else f"{name[: _LABEL - 1]}…"
    shape = "withdrawn" if each.person.withdrawn else "seed" if each.person.recruiter is None else "recruit"
    more = f" +{each.hidden}" if each.hidden else ""
    return {"x": x, "y": y, "line": line, "shape": shape, "colour": colour, "words": words + more}


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
    # The picture begins with the person of the address, or with the largest chain's.
    root = request.GET.get("root", "") or (chains[0].root if chains else "")
    if root and root not in forest.people:
        raise Http404
    context: dict[str, Any] = {"chains": chains[:MOST_LISTED], "more_chains": max(len(chains) - MOST_LISTED, 0)}
    if root:
        shown = forest.shown(root, MOST_SHOWN)
        colouring = _colouring(request, study, forest, shown)
        above = forest.people[root].recruiter
        context |= {
            "root": root,
            "above": above if above in forest.people else "",
            "number": len(shown),
            "whole": sum(1 for _ in forest.below(root)),
            "colouring": colouring,
            "choices": _choices(study),
            "people": shown,
            "picture": as_address(tree_svg(shown, colouring.group, colouring.groups, colouring.words)),
        }
    return render(request, "screens/tree.html", context)


def _forest(request: HttpRequest) -> Forest:
    """The people in sight: of one's own site, or of all."""
    only = only_site(request, Action.SEE_PEOPLE)
    people = Person.objects.all() if only is None else Person.objects.filter(site=only)
    columns = ("person", "recruiter_id", "site_id", "enrolled_at", "withdrawn_at")
    return Forest(
        Recruited(person, recruiter, site, at, withdrawn is not None)
        for person, recruiter, site, at, withdrawn in people.values_list(*columns).iterator(chunk_size=2_000)
    )


def _choices(study: StudyRow) -> list[tuple[str, str]]:
    questions = [each for each in study.settings.questions if each.kind is QuestionKind.CHOICE]
    return [(_SITE, gettext("Site")), (_WAVE, gettext("Wave")), *((each.name, each.text) for each in questions)]


def _colouring(request: HttpRequest, study: StudyRow, forest: Forest, shown: Sequence[Placed]) -> Colouring:
    """By site, wave or an answer, as the address says; rare groups share the last colour."""
    choices = dict(_choices(study))
    key = request.GET.get("colour", "")
    key = key if key in choices else _usual(study)
    people = [each.person.person for each in shown]
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
