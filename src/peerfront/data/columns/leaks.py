"""Columns that are known only after recruitment: they equal the outcome, add up to it, or all but decide it.

Three looks, from certain to likely. A column may part people exactly as a fact of the outcome does (recruits, coupons
left, whether somebody recruited, everybody below them in the tree), in whatever coding. Columns may add up to the
outcome, two of them or a whole family. And a column, a pair, or the mere fact that a cell is filled may remove the
counting noise (`counting_noise`). Small studies say little: a finding has to be beyond chance for all columns together.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.special import gammaln

from peerfront.data.columns.counting_noise import (
    FEWEST_IN_GROUP,
    FEWEST_PEOPLE,
    Codes,
    ColumnValues,
    CountingNoise,
    Evidence,
    Numbers,
)
from peerfront.data.study import Study
from peerfront.foundation.messages import Message, note
from peerfront.foundation.randomness import named_generator
from peerfront.foundation.recruitment_trees import NOBODY

MATCH = 0.97
"""Share of people for whom columns add up to a fact, from which on there are only typing errors between them."""
_ERRORS = 0.05  # typing errors in a column that tells a fact, as a share of the people outside its commonest level
_CERTAIN = 40  # people on the smaller side of a yes or no, from which on a column that agrees is certain to be it
_FEWEST = 10  # people with usable counts below which nothing is said
_MOST_ROWS = 5_000  # people looked at; of a larger study as many, evenly spread
_MOST_GROUPS = 12  # groups a column is parted into
_PAIR_GROUPS = 6
_BY_THE_PAIR = 0.05  # share of uncertainty or noise that a pair must remove beyond each of its columns
_BY_ONE_MORE = 0.15  # the same where one of the two is refused by itself
_MOST_PAIRED = 40  # columns that are looked at in pairs
_MOST_SUMMED = 150  # columns that are looked at for sums
_CHANCE = 1e-3  # chance of a coincidence, over all columns
_GLANCE = 40  # people who are looked at first
_EXACT = 1e-6


@dataclass(frozen=True)
class Leak:
    """Why a column is known only afterwards."""

    reason: Message
    certain: bool
    """Whether it is the outcome itself, which nobody can want to use; otherwise it predicts too well to be true."""


def find_leaks(study: Study, left_out: Collection[str] = ()) -> dict[str, Leak]:
    """Find the columns of a study that are known only afterwards, by column.

    Those that are `left_out` anyway are only compared with the outcome itself: a time may predict well because the
    study ended, and would cast suspicion on whatever it is paired with.
    """
    people = study.people
    rows = np.flatnonzero(study.informative)
    rows = rows[:: -(-len(rows) // _MOST_ROWS) or 1]
    if len(rows) < _FEWEST:
        return {}
    columns = {str(name): ColumnValues(people[name].iloc[rows].reset_index(drop=True)) for name in people.columns}
    columns = {name: column for name, column in columns.items() if column.varies}
    recruits, coupons = study.recruits[rows], study.issued[rows]
    leaks = _facts(study, rows, columns)
    leaks |= _sums(recruits, coupons, {name: column for name, column in columns.items() if name not in leaks})
    if len(rows) >= FEWEST_PEOPLE:
        left = {name: column for name, column in columns.items() if name not in leaks and name not in left_out}
        leaks |= _implausible(recruits, coupons, left)
    return leaks


# The outcome itself ------------------------------------------------------------------------------------------------


def _facts(study: Study, rows: Codes, columns: Mapping[str, ColumnValues]) -> dict[str, Leak]:
    recruits, coupons = study.recruits[rows], study.issued[rows]
    below = _below(study)[rows]
    came = study.recruiter != NOBODY
    of_recruits = np.bincount(study.recruiter[came], weights=study.recruits[came], minlength=len(study))
    facts = (
        (note("tree_facts.recruits"), recruits),
        (note("tree_facts.coupons_left"), coupons - recruits),
        (note("tree_facts.recruited"), (recruits > 0).astype(np.int64)),
        (note("tree_facts.all_used"), (recruits == coupons).astype(np.int64)),
        (note("tree_facts.share_used"), np.round(1000 * recruits / coupons).astype(np.int64)),
        (note("tree_facts.below"), below),
        (note("tree_facts.recruits_of_recruits"), of_recruits.astype(np.int64)[rows]),
    )
    leaks: dict[str, Leak] = {}
    n_tests = 2 * len(columns) * len(facts)
    for name, column in columns.items():
        for what, fact in facts:
            sizes = np.unique(fact, return_counts=True)[1]
            certain = len(sizes) > 2 or int(sizes.min()) >= _CERTAIN
            for codes, by_gaps in ((column.codes, False), (column.filled.astype(np.int64), True)):
                if name not in leaks and _same_parts(codes, fact, n_tests):
                    leaks[name] = Leak(_tells(what, certain=certain, by_gaps=by_gaps), certain)
    return leaks


def _tells(fact: Message, *, certain: bool, by_gaps: bool) -> Message:
    """What a column tells, by its values or by which cells are empty."""
    if certain:
        return note("column_reasons.tells_by_gaps" if by_gaps else "column_reasons.tells", fact=fact)
    return _too_well(note("column_reasons.it_tells_by_gaps" if by_gaps else "column_reasons.it_tells", fact=fact))


def _too_well(how: Message) -> Message:
    return note("column_reasons.too_well", how=how)


def _below(study: Study) -> Codes:
    """People below each in the tree, [people]."""
    counts = np.zeros(len(study), dtype=np.int64)
    order = np.argsort(-study.trees.wave, kind="stable")
    came = order[study.recruiter[order] != NOBODY]
    for wave in np.unique(study.trees.wave)[::-1]:
        people = came[study.trees.wave[came] == wave]
        np.add.at(counts, study.recruiter[people], counts[people] + 1)
    return counts


def _same_parts(codes: Codes, fact: Codes, n_tests: int) -> bool:
    """Tell whether values and levels of a fact belong together one to one, typing errors and rare values apart."""
    n_people = len(fact)
    levels, places, sizes = np.unique(fact, return_inverse=True, return_counts=True)
    if len(levels) < 2 or len(levels) > n_people // 3:
        return False
    pairs, counts = np.unique(places * (codes.max() + 1) + codes, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    level_of, value_of, counts = pairs[order] // (codes.max() + 1), pairs[order] % (codes.max() + 1), counts[order]
    seen_levels: set[int] = set()
    seen_values: set[int] = set()
    agree, sizes_met = 0, []
    for level, value, count in zip(level_of.tolist(), value_of.tolist(), counts.tolist(), strict=True):
        if level not in seen_levels and value not in seen_values:
            seen_levels.add(level)
            seen_values.add(value)
            agree += count
            sizes_met.append(count)
    errors, outside = n_people - agree, n_people - int(sizes.max())
    allowed = _ERRORS if len(levels) > 2 else _ERRORS / 2  # a strong predictor comes close to a yes or no
    if errors > allowed * outside or len(sizes_met) < 2 or sizes_met[1] < 3:
        return False
    # A coincidence would have to hit on the right people: these are the ways to choose those of smaller levels.
    largest = int(sizes.max())
    ways = gammaln(n_people + 1) - gammaln(largest + 1) - gammaln(n_people - largest + 1)
    return bool(ways > np.log(n_tests / _CHANCE))


def _sums(recruits: Codes, coupons: Codes, columns: Mapping[str, ColumnValues]) -> dict[str, Leak]:
    """Find columns that add up to the recruits, or to the coupons left: two of them, or a family of any size."""
    numeric = {name: column.numbers for name, column in columns.items()}
    table = {name: numbers for name, numbers in numeric.items() if numbers is not None}
    names = list(table)[:_MOST_SUMMED]
    usual = np.bincount(recruits).argmax()
    if len(names) < 2 or (recruits != usual).sum() < FEWEST_IN_GROUP:
        return {}
    leaks: dict[str, Leak] = {}
    facts = ((note("tree_facts.recruits"), recruits), (note("tree_facts.coupons_left"), coupons - recruits))
    for what, fact in facts:
        alone = [name for name in names if max(_constant(table[name]), _constant(table[name] - fact)) < MATCH]
        for first, second in combinations(alone, 2):
            sign = "" if {first, second} & leaks.keys() else _adds_up(table[first], table[second], fact)
            if sign:
                for name, other in ((first, second), (second, first)):
                    code = "column_reasons.adds_up" if sign == "+" else "column_reasons.differs_by"
                    leaks[name] = Leak(note(code, others=[other], fact=what), certain=True)
    left = [name for name in names if name not in leaks]
    family = _family(recruits, {name: table[name] for name in left})
    for name in family:
        others = [other for other in family if other != name]
        code = "column_reasons.adds_up_with_many" if len(others) > 3 else "column_reasons.adds_up"
        reason = note(code, others=others[:3], fact=note("tree_facts.recruits"))
        leaks[name] = Leak(reason, certain=True)
    return leaks


def _adds_up(first: Numbers, second: Numbers, fact: Codes) -> str:
    """Return "+" or "-" if two columns make a fact, up to a constant; "" if not."""
    for sign, combined in (("+", first + second), ("-", first - second), ("-", second - first)):
        # A few people show that most pairs make nothing.
        if _constant((combined - fact)[:_GLANCE]) > MATCH / 2 and _constant(combined - fact) >= MATCH:
            return sign
    return ""


def _constant(numbers: Numbers) -> float:
    """Share of people who have the middle value."""
    return float((np.abs(numbers - np.median(numbers)) < _EXACT).mean())


def _family(recruits: Codes, table: dict[str, Numbers]) -> list[str]:
    """Return the fewest columns of which the recruits are an exact linear combination; [] if there are none."""
    names = [name for name in table if np.ptp(table[name]) > 0]
    if len(recruits) < 2 * len(names) + 10:
        names = names[: max((len(recruits) - 10) // 2, 0)]
    if len(names) < 2 or not _spans(recruits, [table[name] for name in names]):
        return []
    for name in list(names):
        rest = [other for other in names if other != name]
        if _spans(recruits, [table[other] for other in rest]):
            names = rest
    return names


def _spans(recruits: Codes, columns: list[Numbers]) -> bool:
    matrix = np.column_stack([np.ones(len(recruits)), *(column / np.abs(column).max() for column in columns)])
    fitted = matrix @ np.linalg.lstsq(matrix, recruits.astype(np.float64), rcond=None)[0]
    return bool((np.abs(fitted - recruits) < _EXACT * 100).all())


# Too good to be true -----------------------------------------------------------------------------------------------


def _implausible(recruits: Codes, coupons: Codes, columns: Mapping[str, ColumnValues]) -> dict[str, Leak]:
    """Find columns, and pairs of columns, that remove the counting noise."""
    paired = min(len(columns), _MOST_PAIRED)
    noise = CountingNoise(coupons, recruits, max(3 * len(columns) + paired * (paired - 1) // 2, 1))
    leaks: dict[str, Leak] = {}
    alone: dict[str, tuple[float, float]] = {}
    for name, column in columns.items():
        for groups, subject in _ways(column):
            evidence = noise.test(groups, int(groups.max()) + 1)
            explained, noise_left = alone.get(name, (-np.inf, np.inf))
            alone[name] = max(explained, evidence.explained), min(noise_left, evidence.noise_left)
            if evidence.implausible and name not in leaks:
                leaks[name] = Leak(_too_well(evidence.why_of(subject)), certain=False)
        if name not in leaks and column.numbers is not None and noise.bounded(column.numbers, len(columns)):
            leaks[name] = Leak(_too_well(note("column_reasons.never_exceeds")), certain=False)
    strongest = sorted(columns, key=lambda name: -max(alone[name][0], 1.0 - alone[name][1]))[:paired]
    return leaks | _pairs(noise, {name: columns[name] for name in strongest}, alone, leaks)


def _pairs(
    noise: CountingNoise,
    columns: Mapping[str, ColumnValues],
    alone: Mapping[str, tuple[float, float]],
    refused: Collection[str],
) -> dict[str, Leak]:
    """Find pairs that remove clearly more than each of their columns; `known` are refused by themselves.

    `alone` is what each column tells of who recruits, and the noise it leaves.
    """
    leaks: dict[str, Leak] = {}
    parted = {name: column.groups(_PAIR_GROUPS) for name, column in columns.items()}
    for first, second in combinations(columns, 2):
        left = [name for name in (first, second) if name not in refused and name not in leaks]
        if not left:
            continue
        evidence = _crossed(noise, parted[first], parted[second])
        # Beside a column that is refused anyway, an innocent one may add a little.
        share = _BY_THE_PAIR if len(left) == 2 else _BY_ONE_MORE
        explained, noise_left = zip(alone[first], alone[second], strict=True)
        if not evidence.implausible or not _adds(evidence, max(explained), min(noise_left), share, len(left) == 2):
            continue
        for name in left:
            other = second if name == first else first
            # Crossing makes other groups, which may fit better by themselves: what the column adds must be its own.
            shuffled = _crossed(noise, parted[other], named_generator("pairs", name).permutation(parted[name]))
            if _adds(evidence, shuffled.explained, shuffled.noise_left, share, len(left) == 2):
                reason = _too_well(evidence.why_of(note("column_reasons.with_other", other=other)))
                leaks[name] = Leak(reason, certain=False)
    return leaks


def _crossed(noise: CountingNoise, first: Codes, second: Codes) -> Evidence:
    """Judge the groups of two columns together."""
    groups = np.unique(first * (second.max() + 1) + second, return_inverse=True)[1]
    few = np.bincount(groups)[groups] < FEWEST_IN_GROUP
    groups = np.unique(np.where(few, -1, groups), return_inverse=True)[1]
    return noise.test(np.asarray(groups, dtype=np.int64), int(groups.max()) + 1)


def _adds(evidence: Evidence, explained: float, noise_left: float, share: float, by_telling: bool) -> bool:
    """Tell whether a pair leaves clearly less noise, or tells clearly more, than something else does."""
    less = evidence.noise_left < min((1.0 - 2 * share) * noise_left, noise_left - share)
    return less or (by_telling and evidence.explained > explained + share)


def _ways(column: ColumnValues) -> Iterator[tuple[Codes, Message]]:
    """The groupings of a column: by its values, finely and coarsely, and by whether the cell is filled."""
    yield column.groups(_MOST_GROUPS), note("column_reasons.it")
    yield column.groups(_PAIR_GROUPS), note("column_reasons.it")
    if 0 < column.filled.sum() < len(column.filled):
        yield column.filled.astype(np.int64), note("column_reasons.being_filled")
