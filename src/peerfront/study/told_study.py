"""The counts of a study as a page may tell them: exactly, or in bands where a group of fewer than five is among them.

Counts of a study are tied together in many ways: seeds, recruits and people whose recruiter is unknown are everybody;
people times recruits are the recruits; people times coupons are the coupons; and a saved model of the study tells some
of them to the nearest five. All of it is taken into account before a number is told (`recovered`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from peerfront.data.study import Study, Summary
from peerfront.foundation.privacy import FEWEST
from peerfront.foundation.subtraction import Span, Sum, about, band, recovered
from peerfront.study.told_counts import MOST_ROWS, NOT_TOLD, WIDTHS, told, told_about, told_few


@dataclass(frozen=True)
class ToldStudy:
    """What a page tells about a study in numbers."""

    facts: tuple[tuple[str, str], ...]
    """What, and how many."""
    counts: tuple[tuple[str, str, str], ...]
    """number, people who brought so many, people issued so many coupons; empty if they are not told."""
    in_bands: bool
    """Whether numbers are bands, because a small group is among them."""

    def fact(self, what: str) -> str:
        """One of the facts."""
        return dict(self.facts)[what]


def told_study(study: Study, summary: Summary, *, open_is_rounded: bool = False) -> ToldStudy:
    """The counts of a study, in the narrowest bands from which no small group follows.

    `open_is_rounded` tells the people with open coupons to the nearest five, where a plan for them asks for it.
    """
    found = _narrowest(_Known.of(study, summary), summary)
    if not open_is_rounded:
        return found
    is_open = "coupons may still be open (people)"
    return replace(found, facts=tuple((what, told_about(summary.still_open) if what == is_open else text)
                                      for what, text in found.facts))  # fmt: skip


def _narrowest(known: "_Known", summary: Summary) -> ToldStudy:
    for width in WIDTHS if known.n_rows <= MOST_ROWS else WIDTHS[:1]:
        if not known.recovered(width, seeds_told=True):
            return _in_bands(summary, width)
    seeds_told = not known.recovered(None, seeds_told=True)
    return _without_table(summary, seeds_told)


def _in_bands(summary: Summary, width: int) -> ToldStudy:
    def say(count: int) -> str:
        return told(band(count, width))

    pairs, most = say(summary.pairs), max(summary.coupons_per_person)
    coupons = told(_coupons_band(summary.coupons_issued, width, most))
    numbers = sorted({*summary.recruits_per_person, *summary.coupons_per_person})
    brought, issued = summary.recruits_per_person, summary.coupons_per_person
    rows = tuple((f"{n:,}", say(brought.get(n, 0)), say(issued.get(n, 0))) for n in numbers)
    unknown, usable = say(summary.recruiter_unknown), say(summary.triples)
    return ToldStudy(_facts(summary, f"{summary.seeds:,}", unknown, coupons, pairs, usable), rows, width > 1)


def _without_table(summary: Summary, seeds_told: bool) -> ToldStudy:
    """What a saved model tells, and no more."""
    seeds = f"{summary.seeds:,}" if seeds_told else told_about(summary.seeds)
    pairs, usable = told_about(summary.pairs), told_about(summary.triples)
    return ToldStudy(_facts(summary, seeds, NOT_TOLD, NOT_TOLD, pairs, usable), (), True)


def _facts(
    summary: Summary, seeds: str, unknown: str, coupons: str, pairs: str, usable: str
) -> tuple[tuple[str, str], ...]:
    told_as = {
        "people": f"{summary.people:,}",
        "seeds": seeds,
        "recruiter unknown": unknown,
        "deepest wave": f"{summary.waves:,}",
        "coupons issued": coupons,
        "coupons redeemed": pairs,
        "coupons may still be open (people)": told_few(summary.still_open),
        "people with usable recruitment counts": usable,
        "recruiter-recruit pairs": pairs,
    }
    return tuple((what, told_as[what]) for what, _ in summary.facts)


def _coupons_band(coupons: int, width: int, most: int) -> Span:
    return band(coupons, 1 if width == 1 else width * max(most, 1))


@dataclass(frozen=True)
class _Known:
    """The counts of a study by name, and what somebody knows about them who reads the page and the saved model."""

    counts: Mapping[str, int]
    brought: tuple[int, ...]
    issued: tuple[int, ...]
    seen: tuple[int, ...]
    """Numbers of recruits of people with usable counts, whom the pictures and the model's summary tell about."""
    plain: bool
    """Whether exactly those who had coupons have usable counts, as somebody may guess where none are open."""

    @classmethod
    def of(cls, study: Study, summary: Summary) -> "_Known":
        numbers, people = np.unique(study.recruits[study.informative], return_counts=True)
        counts = {
            "people": summary.people,
            "seeds": summary.seeds,
            "unknown": summary.recruiter_unknown,
            "pairs": summary.pairs,
            "open": summary.still_open,
            "usable": summary.triples,
            "not usable": summary.people - summary.triples,
            "coupons": summary.coupons_issued,
            "issued 0": 0,
            **{f"brought {n}": count for n, count in summary.recruits_per_person.items()},
            **{f"issued {n}": count for n, count in summary.coupons_per_person.items()},
            **{f"seen {n}": int(count) for n, count in zip(numbers.tolist(), people.tolist(), strict=True)},
        }
        return cls(
            counts,
            tuple(sorted(summary.recruits_per_person)),
            tuple(sorted({0, *summary.coupons_per_person})),
            tuple(numbers.tolist()),
            plain=not summary.still_open and counts["not usable"] == counts["issued 0"],
        )

    @property
    def n_rows(self) -> int:
        return len({*self.brought, *self.issued})

    def recovered(self, width: int | None, *, seeds_told: bool) -> list[str]:
        """The small groups that follow from counts told in bands of this width; None tells what a saved model does.

        The number of seeds is how a study was designed, and told; it is nobody's secret.
        """
        spans = {name: self._span(name, count, width) for name, count in self.counts.items()}
        if not seeds_told:
            spans["seeds"] = about(self.counts["seeds"])
        protected = {name: count for name, count in self.counts.items() if name not in ("people", "seeds", "coupons")}
        if width == 1:  # what is told is told; pictures may leave doubts about the rest
            exact = [name for name, count in protected.items() if 0 < count < FEWEST and spans[name] == (count, count)]
            if exact:
                return exact
        return recovered(protected, spans, self._sums())

    def _span(self, name: str, count: int, width: int | None) -> Span:
        people, most = self.counts["people"], max(*self.issued, 1)
        if name in ("people", "seeds"):
            return count, count
        if name == "open":
            return (1, FEWEST - 1) if 0 < count < FEWEST else (count, count)
        if name == "not usable" or name.startswith("seen"):
            return 0, people  # not told, and follows from others within limits
        if name == "coupons":
            return (0, people * most) if width is None else _coupons_band(count, width, most)
        if name in ("pairs", "usable"):
            return about(count) if width is None else band(count, width)
        low, high = (0, people) if width is None else band(count, width)
        return (max(low, 1) if count else low, high)  # a row, or a problem in the list, tells that there is somebody

    def _sums(self) -> list[Sum]:
        """What ties the counts together, and what the saved model tells of the same study, to the nearest five."""
        people = self.counts["people"]
        sums = [
            Sum.equal({"seeds": 1.0, "unknown": 1.0, "pairs": 1.0}, people),
            Sum.equal({"usable": 1.0, "not usable": 1.0}, people),
            Sum.equal({f"brought {n}": 1.0 for n in self.brought}, people),
            Sum.equal({f"issued {n}": 1.0 for n in self.issued}, people),
            Sum.equal({f"brought {n}": float(n) for n in self.brought} | {"pairs": -1.0}, 0),
            Sum.equal({f"issued {n}": float(n) for n in self.issued} | {"coupons": -1.0}, 0),
            Sum.equal({f"seen {n}": 1.0 for n in self.seen} | {"usable": -1.0}, 0),
            Sum({"usable": 1.0, "issued 0": 1.0}, 0, people),
            Sum({"usable": 1.0, "open": 1.0}, 0, people),
            Sum({"pairs": 1.0}, *about(self.counts["pairs"])),
            Sum({"usable": 1.0}, *about(self.counts["usable"])),
            *(Sum({f"seen {n}": 1.0, f"brought {n}": -1.0}, -people, 0) for n in self.seen),
            *self._at_least("seen", self.seen),
        ]
        if self.plain:
            sums.append(Sum.equal({"not usable": 1.0, "issued 0": -1.0}, 0))
            sums += [Sum.equal({f"seen {n}": 1.0, f"brought {n}": -1.0}, 0) for n in self.seen if n]
            sums += self._at_least("issued", self.issued)
        return sums

    def _at_least(self, what: str, numbers: Sequence[int]) -> list[Sum]:
        """People with at least 1, 2, ... of something, to the nearest five."""
        return [
            Sum(dict.fromkeys(names, 1.0), *about(sum(self.counts[name] for name in names)))
            for least in numbers
            if least and (names := [f"{what} {n}" for n in numbers if n >= least])
        ]
