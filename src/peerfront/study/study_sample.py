"""From a study to what estimators take: a `Sample`, with its strata, and `Outcome`s; each choice is put into words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerfront.data.study import NOBODY, Study
from peerfront.estimates.sample import UNKNOWN, Groups, Ints, Outcome, Sample
from peerfront.foundation.errors import DataFileError, SettingError, UnknownName
from peerfront.foundation.typed_values import read_numbers
from peerfront.foundation.words import counted, n_coupons, n_people, percent
from peerfront.study.decision_log import RecordedStrata

MOST_CATEGORIES = 20
MOST_STRATA = 12
MANY_NUMBERS = 10
"""Different numbers above which a column of numbers is a number, not categories."""
FEWEST_PAIRS = 20
"""Recruits that people of a number of coupons must have brought; otherwise the number is joined with its neighbour."""
_MANY_UNKNOWN = 0.2


@dataclass(frozen=True)
class StudySample:
    """A study as a sample, and what was decided on the way."""

    sample: Sample
    strata: str
    """What the strata are: the columns, the coupons issued, or nothing."""
    notes: tuple[str, ...]


def sample_of(study: Study, strata: Sequence[str] = (), recorded: RecordedStrata | None = None) -> StudySample:
    """Make the sample of a study; `strata` names the columns by which coupons were given out.

    Or else strata were `recorded`, with the coupons decided. Without both, they are the numbers of coupons that people
    were issued, if these differ.
    """
    came = study.recruiter != NOBODY
    if not came.any():
        raise DataFileError(
            f"{study.source}: nobody was recruited by somebody in the file, so there is no referral sample to estimate "
            "from. Check with `peerfront check` how the file was read."
        )
    network_size, notes = _network_sizes(study)
    order = _order(study)
    arrival = np.empty(len(study), dtype=np.int64)
    arrival[order] = np.arange(len(study))
    coupons = _coupons(study, order)
    if recorded is not None:
        coupons, followed = _decided_coupons(study, coupons, recorded)
        notes += followed
    elif strata:
        notes += _equal_words(coupons, " x ".join(strata))
    if strata or recorded is not None:
        stratum, names = (
            _column_strata(study, strata) if recorded is None else _recorded_strata(study, recorded.of_person)
        )
        what = " x ".join(strata) if recorded is None else recorded.what
        unknown = int((stratum == UNKNOWN).sum())
        if unknown:
            notes.append(f"The stratum ({what}) of {n_people(unknown)} is not known; the stratified estimate leaves "
                         "them out.")  # fmt: skip
    else:
        stratum, names, joined = _coupon_strata(study, coupons)
        what = "coupons issued" if len(names) > 1 else ""
        notes += joined
    roots = np.unique(study.trees.root[came])
    if len(roots) == 1:
        notes.append("All recruits descend from one person: nothing shows how much depends on the seed, and intervals "
                     "are likely too narrow.")  # fmt: skip
    sample = Sample(study.recruiter, study.seed, network_size, arrival, coupons, stratum, names)
    return StudySample(sample, what, tuple(notes))


def _network_sizes(study: Study) -> tuple[NDArray[np.float64], list[str]]:
    """Network sizes of everybody; the middle one where somebody's is not known or 0."""
    sizes = study.network_size
    if sizes is None or not (np.nan_to_num(sizes) > 0).any():
        return np.ones(len(study)), [
            "The file has no network sizes (how many people each person knows), so everybody counts alike: RDS-II is "
            "then the plain mean. Name their column: --map network_size=COLUMN."
        ]
    known = np.nan_to_num(sizes) > 0
    middle = float(np.median(sizes[known]))
    notes = []
    if not known.all():
        line = (
            f"{n_people(int((~known).sum()))} of {len(study):,} have no network size above 0; the middle one of the "
            f"others ({middle:g}) is used for them."
        )
        many = (~known).mean() > _MANY_UNKNOWN
        notes.append(line + " That is many: weights are then largely guessed." if many else line)
    return np.where(known, sizes, middle), notes


def _order(study: Study) -> Ints:
    """Places of people in the order in which they came: by date, or else by wave and the order of the file."""
    if study.days is not None and np.isfinite(study.days).all():
        return np.lexsort((np.arange(len(study)), study.trees.wave, study.days))
    return np.lexsort((np.arange(len(study)), study.trees.wave))


def _coupons(study: Study, order: Ints) -> Ints:
    """Coupons issued; UNKNOWN for people at the end who have none yet: the study ended, or they wait."""
    by_file = order if study.days is not None and np.isfinite(study.days).all() else np.arange(len(study))
    issued = study.issued[by_file]
    settled = np.flatnonzero(issued > 0)
    coupons = study.issued.copy()
    coupons[by_file[settled[-1] + 1 if len(settled) else 0 :]] = UNKNOWN
    return coupons


def _decided_coupons(study: Study, coupons: Ints, recorded: RecordedStrata) -> tuple[Ints, list[str]]:
    """Coupons by the decisions, where the file says that everybody had the same number and the decisions differ."""
    decided = np.array([recorded.coupons.get(str(person), UNKNOWN) for person in study.ids], dtype=np.int64)
    there = (decided != UNKNOWN) & (coupons != UNKNOWN)
    issued, numbers = np.unique(coupons[coupons != UNKNOWN]), np.unique(decided[there])
    if len(issued) != 1 or len(numbers) < 2:
        return coupons, []
    return np.where(there, decided, coupons), [
        f"By the file everybody had {n_coupons(int(issued[0]))}; by the {recorded.kind} people had {numbers[0]} to "
        f"{numbers[-1]}, and that is followed."
    ]


def _equal_words(coupons: Ints, what: str) -> list[str]:
    """Warn of strata that coupons did not depend on."""
    numbers = np.unique(coupons[coupons != UNKNOWN])
    if len(numbers) != 1:
        return []
    return [
        f"By the file everybody had {n_coupons(int(numbers[0]))}, so coupons did not depend on {what}. If they did, "
        "say how many each person got (--map coupons_issued=COLUMN, or --decisions): RDS-II is not valid then."
    ]


def _column_strata(study: Study, columns: Sequence[str]) -> tuple[Ints, tuple[str, ...]]:
    table = study.people[[column_of(study, name) for name in columns]]
    known = (table != "").all(axis=1).to_numpy()
    joined = table.agg(", ".join, axis=1)
    texts = [text if here else None for text, here in zip(joined, known, strict=True)]
    if not known.any():
        raise SettingError(f"{study.source}: {' x '.join(columns)} is empty for everybody, so it cannot be the strata.")
    return _coded_strata(texts, " x ".join(columns))


def _recorded_strata(study: Study, of_person: Mapping[str, str]) -> tuple[Ints, tuple[str, ...]]:
    texts = [of_person.get(str(person)) for person in study.ids]
    if not any(texts):
        raise DataFileError(
            f"Nobody of {study.source} is among the {n_people(len(of_person))} whose strata were recorded (such as "
            f"{next(iter(of_person), 'nobody')}). Give the sheets or the log of this study, with the same ids."
        )
    return _coded_strata(texts, "recorded")


def _coded_strata(texts: Sequence[str | None], what: str) -> tuple[Ints, tuple[str, ...]]:
    names = sorted({text for text in texts if text is not None})
    if len(names) > MOST_STRATA:
        raise SettingError(
            f"The strata {what} would be {len(names):,}; at most {MOST_STRATA} can be used. Name the column by which "
            "coupons were given out, or make one with fewer values."
        )
    code = {name: number for number, name in enumerate(names)}
    return np.array([UNKNOWN if text is None else code[text] for text in texts]), tuple(names)


def _coupon_strata(study: Study, coupons: Ints) -> tuple[Ints, tuple[str, ...], list[str]]:
    """Make strata of the numbers of coupons, and say which numbers were joined and whose stratum is not known."""
    stratum, names, parts = coupon_strata(coupons, study.recruits)
    if len(names) == 1:
        return stratum, names, []
    notes = [
        f"People with {_or(part)} coupons are one stratum, because few of them brought anybody; this counts on them "
        "knowing the same kinds of people."
        for part in parts
        if len(part) > 1
    ]
    unknown = int((coupons == UNKNOWN).sum())
    if unknown:
        have = "has" if unknown == 1 else "have"
        notes.append(f"{n_people(unknown)} at the end {have} no coupons yet, so their stratum is not known; the "
                     "stratified estimate leaves them out. A column with the rule's strata (--strata) would keep "
                     "them.")  # fmt: skip
    return stratum, names, notes


def coupon_strata(coupons: Ints, recruits: Ints) -> tuple[Ints, tuple[str, ...], list[list[int]]]:
    """Make strata of the numbers of coupons; numbers with few recruits are joined with their neighbours.

    Returns everybody's stratum, the names of the strata, and the numbers of each. One stratum if all numbers are alike.
    """
    known = coupons != UNKNOWN
    numbers = np.unique(coupons[known])
    if len(numbers) <= 1:
        return np.zeros(len(coupons), dtype=np.int64), ("everybody",), [numbers.tolist()]
    brought = [int(recruits[coupons == number].sum()) for number in numbers]
    parts: list[list[int]] = [[]]
    so_far = 0
    for number, count in zip(numbers.tolist(), brought, strict=True):
        parts[-1].append(number)
        so_far += count
        if so_far >= FEWEST_PAIRS:
            parts.append([])
            so_far = 0
    if len(parts) > 1:
        last = parts.pop()
        parts[-1] += last
    stratum = np.full(len(coupons), UNKNOWN, dtype=np.int64)
    for place, part in enumerate(parts):
        stratum[np.isin(coupons, part)] = place
    return stratum, tuple(_named(part) for part in parts), parts


def _or(numbers: list[int]) -> str:
    return f"{', '.join(map(str, numbers[:-1]))} or {numbers[-1]}"


def _named(part: list[int]) -> str:
    return n_coupons(part[0]) if len(part) == 1 else f"{part[0]}-{part[-1]} coupons"


def column_of(study: Study, name: str) -> str:
    """Return a column's name, or raise an error that suggests one."""
    if name not in study.people.columns:
        raise UnknownName(f"column in {study.source}", name, map(str, study.people.columns))
    return name


def outcome_of(study: Study, name: str) -> tuple[Outcome, list[str]]:
    """Read an outcome: categories, or a number where there are many different ones; with what has to be said."""
    texts = study.people[column_of(study, name)]
    known = (texts != "").to_numpy()
    notes = _unknown_words(name, int((~known).sum()), len(study), study.source)
    numbers = read_numbers(texts)
    different = list(dict.fromkeys(texts[known]))
    if np.isfinite(numbers[known]).all() and len(different) > MANY_NUMBERS:
        return Outcome(name, numbers), notes
    _refuse_numbers_with_texts(study, name, texts[known], numbers[known])
    codes, categories = _categories(study, name, texts, known, "an outcome")
    if len(categories) == 1:
        raise DataFileError(
            f"{study.source}: {name} is {categories[0]!r} for everybody whose answer is known, so there is nothing to "
            "estimate. Choose another outcome, or name codes that mean 'not known' with --missing."
        )
    return Outcome(name, np.where(codes == UNKNOWN, np.nan, codes), categories), notes


def _refuse_numbers_with_texts(study: Study, name: str, texts: pd.Series, numbers: NDArray[np.float64]) -> None:
    """Refuse a column of many different numbers among which there are a few texts, and name those."""
    is_number = np.isfinite(numbers)
    if is_number.mean() <= 0.5 or len(np.unique(numbers[is_number])) <= MOST_CATEGORIES:
        return
    others = list(dict.fromkeys(texts[~is_number]))
    shown = ", ".join(repr(each) for each in others[:3]) + (", ..." if len(others) > 3 else "")
    raise DataFileError(
        f"{study.source}: {name} is a number, but for {counted(int((~is_number).sum()), 'person', 'people')} it is not "
        f"({shown}). Name codes that mean 'not known', such as --missing {others[0]!r}, or correct them."
    )


def groups_of(study: Study, name: str) -> Groups:
    """Read the column whose categories are the subgroups."""
    texts = study.people[column_of(study, name)]
    codes, categories = _categories(study, name, texts, (texts != "").to_numpy(), "subgroups")
    return Groups(name, codes, categories)


def _categories(
    study: Study, name: str, texts: pd.Series, known: NDArray[np.bool_], purpose: str
) -> tuple[Ints, tuple[str, ...]]:
    different = pd.Series(texts[known].unique(), dtype=object)
    if not len(different):
        raise DataFileError(f"{study.source}: {name} is not known for anybody. Choose another column.")
    if len(different) > MOST_CATEGORIES:
        raise SettingError(
            f"{study.source}: {name} has {len(different):,} different values ({', '.join(different[:3])}, ...); "
            f"{purpose} can have at most {MOST_CATEGORIES}. Choose another column, or join values in the file."
        )
    numbers = read_numbers(different)
    ranked = np.argsort(numbers, kind="stable") if np.isfinite(numbers).all() else np.argsort(different.to_numpy(str))
    categories = tuple(different.iloc[ranked])
    code = {value: place for place, value in enumerate(categories)}
    return np.array([code.get(text, UNKNOWN) for text in texts], dtype=np.int64), categories


def _unknown_words(name: str, unknown: int, people: int, source: str) -> list[str]:
    if unknown == people:
        raise DataFileError(f"{source}: {name} is not known for anybody. Choose another column.")
    if not unknown:
        return []
    line = (
        f"{name} is not known for {counted(unknown, 'person', 'people')} of {people:,} ({percent(unknown / people)}); "
        "they are left out, and so are pairs with them."
    )
    if unknown / people > _MANY_UNKNOWN:
        line += " That is many: the estimate is about those who answered, who may differ from the others."
    return [line]
