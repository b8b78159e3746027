"""How much counting noise is left once people are parted into groups: the test for columns that know the outcome.

Whatever is known of a person beforehand, the number of recruits stays a matter of chance. If each coupon of somebody is
used with a chance that may differ from person to person, N is a mixture of binomials with the same number of coupons k
and mean m, and by Jensen's inequality

    Var N >= m (1 - m / k),    P(N = 0) >= (1 - m / k)^k,    P(N = k) >= (m / k)^k.

Capacities that are Poisson, or more spread, leave more than that. So a column in whose groups the counts vary clearly
less, or in one of whose groups nobody brought nobody although chance alone should leave some, has removed the counting
noise, and only the outcome itself can do that. Everything is measured against the study itself: where counts vary less
than binomial for everybody, a column is only suspected of what it takes away beyond that.

With one coupon each the inequalities are equalities and say nothing, and a column that tells who recruits at all, with
a few errors, may leave as much variation as a strong predictor. There plausibility decides: a column is refused if it
tells who recruits far better than people have ever been told apart.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import bdtr, bdtrc, ndtri, xlogy  # scipy.stats would take a second to load

from peerfront.foundation.messages import Message, note
from peerfront.foundation.typed_values import looks_numeric, read_numbers

Codes = NDArray[np.int64]
Numbers = NDArray[np.float64]
FEWEST_IN_GROUP = 5
"""People: rarer values share a group."""
_PER_GROUP = 8  # people that each group has on average, at least
FEWEST_PEOPLE = 30
"""People below which only columns that equal the outcome are found."""
MOST_NOISE_LEFT = 0.8
"""Share of the binomial variance below which the counting noise counts as removed."""
MOST_ENDS_LEFT = 0.4
"""Share of the people with nothing (or everything) used that chance leaves, below which they count as missing."""
MOST_EXPLAINED = 0.7
"""Share of the uncertainty about who recruits at all that nothing known beforehand removes.

With three coupons each, 15% and 70% of them used remove a third of it, 10% and 80% a half. In the data sets that were
tried no column removes more than a hundredth.
"""
MUCH_EXPLAINED = 0.55
"""The same for columns that tell more than chances of coupons could, by at least EXPLAINED_BEYOND."""
EXPLAINED_BEYOND = 0.03
SURE = 1e-3
"""Chance that any of all columns and pairs is refused although it is innocent, at the edge of what is possible."""
_FEWEST_OF_A_KIND = 10  # people who recruited, and who did not, below which the second test is not made
_LEVEL = 20  # people with the same number of coupons, below which they share a rate with others
_IT = note("column_reasons.it")
_PRIOR = 1.0  # people by whom a group's rate is drawn to everybody's


@dataclass(frozen=True, eq=False)
class ColumnValues:
    """A column's values for the people with usable counts."""

    values: pd.Series

    @cached_property
    def codes(self) -> Codes:
        return np.asarray(pd.factorize(self.values.to_numpy(dtype=object))[0], dtype=np.int64)

    @property
    def varies(self) -> bool:
        return bool((self.codes != 0).any())

    @cached_property
    def filled(self) -> NDArray[np.bool_]:
        return np.asarray((self.values != "").to_numpy())

    @cached_property
    def numbers(self) -> Numbers | None:
        """The column as numbers, with 0 for nothing; two answers are 0 and 1; None if it holds neither."""
        texts = self.values[self.filled]
        if len(texts) and looks_numeric(texts):
            numbers = read_numbers(texts)
            if np.isfinite(numbers).all():
                placed = np.zeros(len(self.values))
                placed[self.filled] = numbers
                return placed
        if texts.nunique() <= 2 - (not self.filled.all()):
            return np.asarray(self.codes != self.codes[0], dtype=np.float64)
        if texts.nunique() == 2:  # yes, no and nothing: nothing is as good as no
            yes = max(texts.unique(), key=lambda text: text.strip().lower() in ("1", "yes", "y", "true", "si", "oui"))
            return np.asarray(self.values == yes, dtype=np.float64)
        return None

    def groups(self, most: int) -> Codes:
        """Parts people into at most `most` groups: values, bands of numbers, and one for empty cells; 0, 1, ..."""
        counts = np.bincount(self.codes)
        numbers = self.numbers
        most = max(min(most, len(self.codes) // _PER_GROUP), 2)
        if len(counts) > most and numbers is not None:
            bands = np.unique(np.quantile(numbers[self.filled], np.arange(1, most) / most))
            # Values of many people make bands of their own: a quantile is where the band after it begins, too.
            codes = np.searchsorted(bands, numbers, side="left") + np.searchsorted(bands, numbers, side="right")
            codes = np.where(self.filled, codes + 1, 0)
        else:
            common = np.argsort(-counts, kind="stable")[: most - 1]
            kept = np.full(len(counts), most)
            kept[common] = np.arange(len(common))
            codes = kept[self.codes]
        codes = np.unique(codes, return_inverse=True)[1]
        few = np.bincount(codes)[codes] < FEWEST_IN_GROUP
        return np.asarray(np.unique(np.where(few, -1, codes), return_inverse=True)[1], dtype=np.int64)


@dataclass(frozen=True)
class Evidence:
    """What a grouping does to the counting noise."""

    noise_left: float
    """Variance of the counts around held-out means, as a share of what binomial chance leaves."""
    explained: float
    """Share of the uncertainty about who recruits at all that it removes from people left out."""
    why: Message | None = None
    """Why it cannot have been known before, if that is so; its `subject` is the column."""

    @property
    def implausible(self) -> bool:
        return self.why is not None

    def why_of(self, subject: Message) -> Message:
        """Why something else than "it" cannot have been known before."""
        assert self.why is not None
        return Message(self.why.code, {**self.why.arguments, "subject": subject})


@dataclass(frozen=True, eq=False)
class CountingNoise:
    """The counts of a study, and how sure a test of one of `n_tests` groupings has to be."""

    coupons: Codes  # [people], at least 1
    recruits: Codes  # [people], at most `coupons`
    n_tests: int = 1

    def __post_init__(self) -> None:
        assert (self.recruits <= self.coupons).all()

    @cached_property
    def levels(self) -> Codes:
        """Numbers of coupons that enough people had, as codes; the others share one, [people]."""
        values, codes, counts = np.unique(self.coupons, return_inverse=True, return_counts=True)
        return np.where(counts[codes] >= _LEVEL, codes, len(values)).astype(np.int64)

    @cached_property
    def noise_of_all(self) -> float:
        """Share of the binomial variance that is there without any column, at most 1."""
        means = self._means(np.zeros(len(self.coupons), dtype=np.int64))
        left, binomial = ((self.recruits - means) ** 2).sum(), self._variance(means).sum()
        return min(1.0, float(left / max(binomial, 1e-12)))

    @cached_property
    def _ends_of_all(self) -> dict[str, float]:
        """Share of the expected people with nothing and with everything used that is there without any column."""
        everybody = np.zeros(len(self.coupons), dtype=np.int64)
        return {end: min(1.0, seen / max(due, 1e-12)) for end, seen, due in self._ends(everybody, 0)}

    def test(self, groups: Codes, n_groups: int) -> Evidence:
        """Judge a grouping, [people] from 0 to `n_groups` - 1."""
        means = self._means(groups)
        recruits = (self.recruits > 0).astype(np.float64)
        sizes, used = np.bincount(groups)[groups], np.bincount(groups, weights=recruits)[groups]
        chances = (used - recruits + _PRIOR * recruits.mean()) / (sizes - 1 + _PRIOR)
        evidence = self.judge(means, chances)
        missing = None if evidence.implausible else self._missing_end(groups, n_groups)
        return Evidence(evidence.noise_left, evidence.explained, missing) if missing else evidence

    def judge(self, means: Numbers, chances: Numbers) -> Evidence:
        """Judge predictions for people left out: mean recruits, and chances to recruit at all, [people]."""
        variance = self._variance(means)
        excess = (self.recruits - means) ** 2 - variance
        noise = max(1.0 + float(excess.sum() / max(variance.sum(), 1e-12)), 0.0)
        floor, sure = self.noise_of_all, -float(ndtri(SURE / self.n_tests))
        # How far the squares scatter if chance is binomial: the fourth central moment less the squared variance.
        share = np.clip(means / self.coupons, 0.0, 1.0)
        spread = variance * (1.0 + (3.0 * self.coupons - 6.0) * share * (1.0 - share)) - variance**2
        scatter = floor * float(np.sqrt(np.maximum(spread, 0.0).sum()))
        behind = float((excess + (1.0 - floor) * variance).sum()) / max(scatter, 1e-12)
        explained, explained_error, beyond, beyond_error = self._explained(chances, (1.0 - share) ** self.coupons)
        why = None
        if noise < MOST_NOISE_LEFT * floor and behind < -sure:
            why = note("column_reasons.noise_left", subject=_IT, share=noise)
        elif explained > sure * explained_error and (
            explained > max(MOST_EXPLAINED, MOST_EXPLAINED - 0.05 + explained_error)
            or (explained > MUCH_EXPLAINED and beyond > max(EXPLAINED_BEYOND, 2 * beyond_error))
        ):
            why = note("column_reasons.explained", subject=_IT, share=explained)
        return Evidence(noise, explained, why)

    def _means(self, groups: Codes) -> Numbers:
        """Expected recruits of everybody by the others of their group with as many coupons, [people]."""
        cells = np.unique(groups * (self.levels.max() + 1) + self.levels, return_inverse=True)[1]
        used, had = (np.bincount(cells, weights=counts)[cells] for counts in (self.recruits, self.coupons))
        of_level = [np.bincount(self.levels, weights=counts) for counts in (self.recruits, self.coupons)]
        everybody = (of_level[0] / np.maximum(of_level[1], 1e-12))[self.levels]
        prior = _PRIOR * self.coupons
        rates = (used - self.recruits + prior * everybody) / (had - self.coupons + prior)
        return np.asarray(self.coupons * rates)

    def _variance(self, means: Numbers) -> Numbers:
        return np.asarray(means * np.clip(1.0 - means / self.coupons, 0.0, 1.0))

    def _explained(self, chances: Numbers, fewest_without: Numbers) -> tuple[float, float, float, float]:
        """Share of the uncertainty about who recruits that `chances` remove, and how much of it is beyond coupons.

        `fewest_without` is the smallest chance to bring nobody that chances of coupons allow, [people]. Both shares
        come with standard errors.
        """
        recruits = (self.recruits > 0).astype(np.float64)
        n, n_recruit = len(recruits), recruits.sum()
        if min(n_recruit, n - n_recruit) < _FEWEST_OF_A_KIND:
            return 0.0, np.inf, 0.0, np.inf
        possible = np.minimum(chances, 1.0 - self._ends_of_all["column_reasons.none_without"] * fewest_without)

        def score(chance: Numbers | float) -> Numbers:
            return np.asarray(xlogy(recruits, chance) + xlogy(1 - recruits, 1 - np.asarray(chance)))

        own, uncertainty = score(chances), -float(score(n_recruit / n).sum())
        gains, beyond = own - score(n_recruit / n), own - score(possible)
        errors = [float(each.std() * np.sqrt(n) / uncertainty) for each in (gains, beyond)]
        return float(gains.sum()) / uncertainty, errors[0], float(beyond.sum()) / uncertainty, errors[1]

    def bounded(self, lower: Numbers, n_tests: int) -> bool:
        """Tell whether a count that never exceeds the recruits must come from them.

        The chances that binomial counts, or those of anybody in the study, happen to stay at or above it are multiplied
        over people; it has to be small even for the most striking of `n_tests` columns.
        """
        if (lower > self.recruits).any() or (lower < 0).any() or (lower > 0).sum() < _FEWEST_OF_A_KIND:
            return False
        if (lower != np.floor(lower)).any():
            return False
        levels = np.unique(lower, return_inverse=True)[1]
        share = np.clip(self._means(np.asarray(levels, dtype=np.int64)) / self.coupons, 0.0, 1.0)
        as_many = (self.recruits[:, None] >= np.arange(self.recruits.max() + 1)).mean(axis=0)
        at_least = np.where(lower > 0, bdtrc(np.maximum(lower - 1, 0), self.coupons, share), 1.0)
        chance = np.maximum(at_least, as_many[lower.astype(np.int64)])
        return bool(np.log(np.maximum(chance, 1e-300)).sum() < np.log(SURE / n_tests))

    def _missing_end(self, groups: Codes, n_groups: int) -> Message | None:
        """Return what is missing in one of the groups: people who used no coupon, or all of them."""
        tests = self.n_tests * 2 * n_groups
        for group in range(n_groups):
            n = int((groups == group).sum())
            if n < _FEWEST_OF_A_KIND or n > len(groups) - _FEWEST_OF_A_KIND:
                continue
            for end, seen, due in self._ends(groups, group):
                expected = due * self._ends_of_all[end]
                if seen < MOST_ENDS_LEFT * expected and float(bdtr(seen, n, min(expected / n, 1.0))) < SURE / tests:
                    return note(end, subject=_IT, n=expected)
        return None

    def _ends(self, groups: Codes, group: int) -> list[tuple[str, float, float]]:
        """People of a group who used nothing, and everything: code, how many there are, how many chance leaves."""
        here = np.flatnonzero(groups == group)
        levels, coupons, recruits = self.levels[here], self.coupons[here], self.recruits[here]
        used, had = (np.bincount(levels, weights=counts)[levels] for counts in (recruits, coupons))
        rates, several = used / had, coupons > 1
        nothing, everything = (1 - rates[several]) ** coupons[several], rates[several] ** coupons[several]
        return [
            ("column_reasons.none_without", float((recruits[several] == 0).sum()), float(nothing.sum())),
            ("column_reasons.none_with_all", float((recruits == coupons)[several].sum()), float(everything.sum())),
        ]
