"""Turn a study into the input of estimators: a `Sample` with its strata, and `Outcome`s; every choice adds a note."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerfront.data.study import Study
from peerfront.estimates.sample import UNKNOWN, Groups, Ints, Outcome, Sample
from peerfront.foundation.errors import DataFileError, SettingError, UnknownName
from peerfront.foundation.messages import Message, Remedy, first_of, note, warning
from peerfront.foundation.recruitment_trees import NOBODY
from peerfront.foundation.typed_values import read_numbers
from peerfront.study.decision_log import RecordedStrata

MOST_CATEGORIES = 20
MOST_STRATA = 12
MANY_NUMBERS = 10
"""Different numbers above which a column of numbers is a number, not categories."""
FEWEST_PAIRS = 20
"""Recruits that people of a number of coupons must have brought; otherwise the number is joined with its neighbour."""
_ROWS_SHOWN = 5
_MANY_UNKNOWN = 0.2


@dataclass(frozen=True)
class StudySample:
    """A study as a sample, and notes on how it was made."""

    sample: Sample
    strata: str | Message
    """A description of the strata: the columns, the coupons issued, or nothing."""
    notes: tuple[Message, ...]


def sample_of(study: Study, strata: Sequence[str] = (), recorded: RecordedStrata | None = None) -> StudySample:
    """Make the sample of a study; `strata` names the columns by which coupons were given out.

    Alternatively `recorded` gives the strata and the coupons decided. Without both, strata are formed by the numbers of
    coupons issued, if these differ.
    """
    came = study.recruiter != NOBODY
    if not came.any():
        raise DataFileError("estimation.nobody_recruited", source=study.source)
    network_size, notes = _network_sizes(study)
    order = _order(study)
    arrival = np.empty(len(study), dtype=np.int64)
    arrival[order] = np.arange(len(study))
    coupons = _coupons(study, order)
    if recorded is not None:
        coupons, followed = _decided_coupons(study, coupons, recorded)
        notes += followed
    elif strata:
        notes += _equal_coupons(coupons, " x ".join(strata))
    if strata or recorded is not None:
        stratum, names = (
            _column_strata(study, strata) if recorded is None else _recorded_strata(study, recorded.of_person)
        )
        what: str | Message = " x ".join(strata) if recorded is None else recorded.what
        unknown = int((stratum == UNKNOWN).sum())
        if unknown:
            notes.append(note("estimation.stratum_unknown", what=what, people=unknown, all=len(study)))
    else:
        stratum, names, joined = _coupon_strata(study, coupons)
        what = note("estimation.coupons_issued") if len(names) > 1 else ""
        notes += joined
    roots = np.unique(study.trees.root[came])
    if len(roots) == 1:
        notes.append(warning("estimation.one_tree"))
    sample = Sample(study.recruiter, study.seed, network_size, arrival, coupons, stratum, names)
    return StudySample(sample, what, tuple(notes))


def _network_sizes(study: Study) -> tuple[NDArray[np.float64], list[Message]]:
    """Network sizes of everybody; the median replaces unknown ones and 0."""
    sizes = study.network_size
    if sizes is None:
        return np.ones(len(study)), [warning("estimation.no_network_sizes", remedy=Remedy("map", ("network_size",)))]
    rows = [problem.row for problem in study.problems if problem.kind == "bad-network-size"]
    column = study.network_column
    unusable = [note("estimation.sizes_not_usable", n=len(rows), column=column, rows=first_of(rows, _ROWS_SHOWN))]
    notes = unusable if rows else []
    answered = np.nan_to_num(sizes) > 0
    if not answered.any():
        return np.ones(len(study)), [warning("estimation.no_size_usable", column=column), *notes]
    if answered.all():
        return sizes, notes
    middle = float(np.median(sizes[answered]))
    counts = {"missing": int((~answered).sum()), "people": len(study), "middle": middle}
    if (~answered).mean() > _MANY_UNKNOWN:
        notes = [warning("estimation.many_network_sizes_missing", **counts), *notes]
    else:
        notes = [note("estimation.network_sizes_missing", **counts), *notes]
    return np.where(answered, sizes, middle), notes


def _order(study: Study) -> Ints:
    """The order in which people came: by date, or else by wave and the order of the file."""
    if study.days is not None and np.isfinite(study.days).all():
        return np.lexsort((np.arange(len(study)), study.trees.wave, study.days))
    return np.lexsort((np.arange(len(study)), study.trees.wave))


def _coupons(study: Study, order: Ints) -> Ints:
    """Coupons issued; UNKNOWN for the last people, who have none because they wait or the study ended."""
    by_file = order if study.days is not None and np.isfinite(study.days).all() else np.arange(len(study))
    issued = study.issued[by_file]
    settled = np.flatnonzero(issued > 0)
    coupons = study.issued.copy()
    coupons[by_file[settled[-1] + 1 if len(settled) else 0 :]] = UNKNOWN
    return coupons


def _decided_coupons(study: Study, coupons: Ints, recorded: RecordedStrata) -> tuple[Ints, list[Message]]:
    """Coupons by the decisions, if these differ although the file gives everybody the same number."""
    decided = np.array([recorded.coupons.get(str(person), UNKNOWN) for person in study.ids], dtype=np.int64)
    there = (decided != UNKNOWN) & (coupons != UNKNOWN)
    issued, numbers = np.unique(coupons[coupons != UNKNOWN]), np.unique(decided[there])
    if len(issued) != 1 or len(numbers) < 2:
        return coupons, []
    followed = note(
        "estimation.decided_coupons",
        issued=int(issued[0]), kind=recorded.kind, least=int(numbers[0]), most=int(numbers[-1]),
    )  # fmt: skip
    return np.where(there, decided, coupons), [followed]


def _equal_coupons(coupons: Ints, what: str) -> list[Message]:
    """Warn if coupons did not depend on the strata."""
    numbers = np.unique(coupons[coupons != UNKNOWN])
    if len(numbers) != 1:
        return []
    remedies = {"column": Remedy("map", ("coupons_issued",)), "decisions": Remedy("decisions", "FILE")}
    return [warning("estimation.coupons_do_not_depend", coupons=int(numbers[0]), what=what, **remedies)]


def _column_strata(study: Study, columns: Sequence[str]) -> tuple[Ints, tuple[str, ...]]:
    table = study.people[[column_of(study, name) for name in columns]]
    answered = (table != "").all(axis=1).to_numpy()
    joined = table.agg(", ".join, axis=1)
    texts = [text if here else None for text, here in zip(joined, answered, strict=True)]
    if not answered.any():
        raise SettingError("estimation.empty_strata", source=study.source, columns=" x ".join(columns))
    return _coded_strata(texts, " x ".join(columns))


def _recorded_strata(study: Study, of_person: Mapping[str, str]) -> tuple[Ints, tuple[str, ...]]:
    texts = [of_person.get(str(person)) for person in study.ids]
    if not any(texts):
        some = next(iter(of_person), "-")
        raise DataFileError("estimation.other_people", source=study.source, people=len(of_person), person=some)
    return _coded_strata(texts, note("estimation.recorded"))


def _coded_strata(texts: Sequence[str | None], what: str | Message) -> tuple[Ints, tuple[str, ...]]:
    names = sorted({text for text in texts if text is not None})
    if len(names) > MOST_STRATA:
        raise SettingError("estimation.many_strata", what=what, n=len(names), most=MOST_STRATA)
    code = {name: number for number, name in enumerate(names)}
    return np.array([UNKNOWN if text is None else code[text] for text in texts]), tuple(names)


def _coupon_strata(study: Study, coupons: Ints) -> tuple[Ints, tuple[str, ...], list[Message]]:
    """Make strata of the numbers of coupons; notes name the joined numbers, and people without a stratum."""
    stratum, names, parts = coupon_strata(coupons, study.recruits)
    if len(names) == 1:
        return stratum, names, []
    notes = [note("estimation.joined_numbers", numbers=part) for part in parts if len(part) > 1]
    unknown = int((coupons == UNKNOWN).sum())
    if unknown:
        remedy = Remedy("strata", "FIELD")
        notes.append(note("estimation.no_coupons_yet", people=unknown, all=len(study), remedy=remedy))
    return stratum, names, notes


def coupon_strata(coupons: Ints, recruits: Ints) -> tuple[Ints, tuple[str, ...], list[list[int]]]:
    """Make strata of the numbers of coupons; numbers with few recruits are joined with their neighbours.

    Returns everybody's stratum, the names of the strata, and the numbers of each. One stratum if all numbers are alike.
    """
    answered = coupons != UNKNOWN
    numbers = np.unique(coupons[answered])
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


def _named(part: list[int]) -> str:
    return f"{part[0]}" if len(part) == 1 else f"{part[0]}-{part[-1]}"


def column_of(study: Study, name: str) -> str:
    """Return the exact name of a column, or raise an error that suggests one."""
    if name not in study.people.columns:
        raise UnknownName(note("estimation.column_in", source=study.source), name, map(str, study.people.columns))
    return name


def outcome_of(study: Study, name: str) -> tuple[Outcome, list[Message]]:
    """Read an outcome (categories, or a number where there are many different ones), with notes about it."""
    texts = study.people[column_of(study, name)]
    answered = (texts != "").to_numpy()
    notes = _missing_answers(name, int((~answered).sum()), len(study), study.source)
    numbers = read_numbers(texts)
    different = list(dict.fromkeys(texts[answered]))
    if np.isfinite(numbers[answered]).all() and len(different) > MANY_NUMBERS:
        return Outcome(name, numbers), notes
    _refuse_numbers_with_texts(study, name, texts[answered], numbers[answered])
    codes, categories = _categories(study, name, texts, answered)
    if len(categories) == 1:
        raise DataFileError(
            "estimation.one_answer",
            source=study.source, name=name, answer=categories[0], remedy=Remedy("missing", "CODE"),
        )  # fmt: skip
    return Outcome(name, np.where(codes == UNKNOWN, np.nan, codes), categories), notes


def _refuse_numbers_with_texts(study: Study, name: str, texts: pd.Series, numbers: NDArray[np.float64]) -> None:
    """Refuse a column of many different numbers with a few texts among them, and name these."""
    is_number = np.isfinite(numbers)
    if is_number.mean() <= 0.5 or len(np.unique(numbers[is_number])) <= MOST_CATEGORIES:
        return
    others = list(dict.fromkeys(texts[~is_number]))
    shown = [*(repr(each) for each in others[:3]), *(["..."] if len(others) > 3 else [])]
    raise DataFileError(
        "estimation.texts_among_numbers",
        source=study.source, name=name, n=int((~is_number).sum()), texts=shown, remedy=Remedy("missing", others[0]),
    )  # fmt: skip


def groups_of(study: Study, name: str) -> Groups:
    """Read the column whose categories are the subgroups."""
    texts = study.people[column_of(study, name)]
    codes, categories = _categories(study, name, texts, (texts != "").to_numpy())
    return Groups(name, codes, categories)


def _categories(study: Study, name: str, texts: pd.Series, answered: NDArray[np.bool_]) -> tuple[Ints, tuple[str, ...]]:
    different = pd.Series(texts[answered].unique(), dtype=object)
    if not len(different):
        raise DataFileError("estimation.unknown_for_all", source=study.source, name=name)
    if len(different) > MOST_CATEGORIES:
        raise SettingError(
            "estimation.many_answers",
            source=study.source, name=name, n=len(different), examples=list(different[:3]), most=MOST_CATEGORIES,
        )  # fmt: skip
    numbers = read_numbers(different)
    ranked = np.argsort(numbers, kind="stable") if np.isfinite(numbers).all() else np.argsort(different.to_numpy(str))
    categories = tuple(different.iloc[ranked])
    code = {value: place for place, value in enumerate(categories)}
    return np.array([code.get(text, UNKNOWN) for text in texts], dtype=np.int64), categories


def _missing_answers(name: str, missing: int, people: int, source: str) -> list[Message]:
    if missing == people:
        raise DataFileError("estimation.unknown_for_all", source=source, name=name)
    if not missing:
        return []
    counts = {"name": name, "missing": missing, "people": people}
    if missing / people > _MANY_UNKNOWN:
        return [warning("estimation.many_answers_missing", **counts)]
    return [note("estimation.answers_missing", **counts)]
