"""Diagnostics of a referral sample: has it settled, do trees disagree, do people recruit their like, do seeds matter.

Every function returns a table; `figures.py` draws them.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerfront.estimates.estimators import RDS_II, Impossible, Weighted, estimators_for
from peerfront.estimates.recruitment_chain import Pairs, expected_by_wave, irreducible, stationary
from peerfront.estimates.sample import UNKNOWN, Ints, Outcome, Replicates, Sample, the_sample
from peerfront.foundation.recruitment_trees import NOBODY

POINTS = 100  # of a curve
MOST_TREES = 8
FEWEST_IN_TREE = 10
SETTLED = 0.02
"""Distance from equilibrium below which a wave's composition counts as settled."""


@dataclass(frozen=True, eq=False)
class Diagnostics:
    """Tables that say how far a sample can be trusted for one outcome."""

    outcome: str
    convergence: pd.DataFrame  # recruits, category, estimate: as people came, by the estimator that is used
    bottlenecks: pd.DataFrame  # tree, recruits, category, estimate: the same within each large tree, by RDS-II
    homophily: pd.DataFrame  # category, pairs, same, expected, recruitment_homophily, population_homophily
    effectiveness: pd.DataFrame  # by, value, people, coupons, recruits, per_person, per_coupon
    seeds: pd.DataFrame  # wave, category, people, share, expected, equilibrium
    waves_to_settle: int | None
    """Waves until the chain, begun at the seeds, is within SETTLED of its equilibrium; None if it has none."""
    largest_tree: float
    """Share of the recruits who descend from one seed."""

    def table(self) -> pd.DataFrame:
        """Return homophily and effectiveness as one long table: measure, of, value."""
        rows: list[tuple[str, str, float]] = []
        for row in self.homophily.to_dict("records"):
            kinds = ("recruitment", "population")
            rows += [(f"{kind} homophily", row["category"], row[f"{kind}_homophily"]) for kind in kinds]
        for row in self.effectiveness.to_dict("records"):
            of = f"{row['by']} = {row['value']}"
            rows += [(f"recruits per {unit}", of, row[f"per_{unit}"]) for unit in ("person", "coupon")]
        settle = np.nan if self.waves_to_settle is None else float(self.waves_to_settle)
        rows.append(("waves until seeds no longer matter", "", settle))
        rows.append(("share of the largest tree", "", self.largest_tree))
        table = pd.DataFrame(rows, columns=["measure", "of", "value"])
        table.insert(0, "outcome", self.outcome)
        return table


def diagnosed(sample: Sample, outcome: Outcome, best: str | None, population: int | None = None) -> Diagnostics:
    """Make all diagnostics; curves of the whole sample are those of the estimator `best` (RDS-II, if there is none)."""
    estimators = [e for e in estimators_for(sample, outcome, population) if not isinstance(e, Impossible)]
    by_name = {estimator.name: estimator for estimator in estimators}
    seeds, waves = seed_dependence(sample, outcome)
    trees = np.bincount(sample.trees.root[~sample.seed], minlength=len(sample))
    return Diagnostics(
        outcome.name,
        convergence(sample, outcome, by_name.get(best or "", by_name[RDS_II])),
        bottlenecks(sample, outcome, by_name[RDS_II]),
        homophily(sample, outcome),
        effectiveness(sample, outcome),
        seeds,
        waves,
        float(trees.max() / max(trees.sum(), 1)),
    )


def _growing(sample: Sample, among: Ints) -> tuple[Ints, Replicates]:
    """The sample as it grew: after 10, ... of the people in `among`; sizes, and a replicate for each."""
    order = among[np.argsort(sample.arrival[among], kind="stable")]
    first = min(10, len(order))
    sizes = np.unique(np.linspace(first, len(order), min(POINTS, len(order) - first + 1)).astype(np.int64))
    there = np.zeros((len(sizes), len(sample)))
    for place, size in enumerate(sizes):
        there[place, order[:size]] = 1.0
    return sizes, Replicates(there, np.where(sample.recruiter != NOBODY, there, 0.0))


def _curve(outcome: Outcome, estimator: Weighted, sizes: Ints, grown: Replicates) -> list[tuple[int, str, float]]:
    codes = np.where(outcome.answered, 0 if outcome.numeric else np.nan_to_num(outcome.values), UNKNOWN).astype(
        np.int64
    )
    labels = ("mean",) if outcome.numeric else outcome.categories
    totals = estimator.totals(grown, codes, len(labels))
    below = totals.sum(axis=1, keepdims=True)
    above = estimator.totals(grown, codes, 1, np.nan_to_num(outcome.values)) if outcome.numeric else totals
    with np.errstate(divide="ignore", invalid="ignore"):
        estimates = np.where(below > 0, above / below, np.nan)
    return [
        (int(size), label, float(value))
        for size, row in zip(sizes, estimates, strict=True)
        for label, value in zip(labels, row, strict=True)
    ]


def convergence(sample: Sample, outcome: Outcome, estimator: Weighted) -> pd.DataFrame:
    """Return the estimate after the first 10, 20, ... people: it should have become flat."""
    sizes, grown = _growing(sample, np.arange(len(sample)))
    return pd.DataFrame(_curve(outcome, estimator, sizes, grown), columns=["people", "category", "estimate"])


def bottlenecks(sample: Sample, outcome: Outcome, estimator: Weighted) -> pd.DataFrame:
    """Return the same for each large tree alone: trees that stay apart sampled different parts of the population."""
    roots, sizes = np.unique(sample.trees.root[~sample.seed], return_counts=True)
    largest = roots[np.argsort(-sizes, kind="stable")][:MOST_TREES]
    rows = []
    for number, root in enumerate(largest):
        among = np.flatnonzero(sample.trees.root == root)
        if len(among) >= FEWEST_IN_TREE:
            curve = _curve(outcome, estimator, *_growing(sample, among))
            rows += [(number + 1, *point) for point in curve]
    return pd.DataFrame(rows, columns=["tree", "people", "category", "estimate"])


def homophily(sample: Sample, outcome: Outcome) -> pd.DataFrame:
    """Return how much more often people recruit their like than chance would, by category and for all of them.

    Recruitment homophily is the number of recruits alike, divided by the number that chance would give with the same
    recruiters and the same recruits. Population homophily estimates ties between unlike people in the population:
    those that chance would give, divided by those there are (as R's RDS package does with RDS-II weights).
    """
    pairs = Pairs.of(sample, outcome.bands, len(outcome.band_names))
    counts = pairs.counts(the_sample(sample).pairs)[0]
    total, source, target = counts.sum(), counts.sum(axis=1), counts.sum(axis=0)
    rows = []
    with np.errstate(divide="ignore", invalid="ignore"):
        for code, name in enumerate(outcome.band_names):
            same, expected = counts[code, code], source[code] * target[code] / total
            population = population_homophily(sample, outcome.bands == code, outcome.bands != UNKNOWN)
            rows.append((name, int(source[code]), same, expected, same / expected, population))
        same, expected = float(np.trace(counts)), float((source * target).sum() / total)
        both = rows[0][-1] if pairs.n_states == 2 else np.nan
        rows.append(("all", int(total), same, expected, same / np.float64(expected), both))
    columns = ["category", "pairs", "same", "expected", "recruitment_homophily", "population_homophily"]
    return pd.DataFrame(rows, columns=columns)


def population_homophily(sample: Sample, within: NDArray[np.bool_], answered: NDArray[np.bool_]) -> float:
    """Estimate ties between people within and outside: those that chance would give, divided by those there are.

    A recruiter's recruits stand for their acquaintances; recruiters count alike (weights of RDS-II).
    """
    child = sample.recruited[answered[sample.recruited] & answered[sample.recruiter[sample.recruited]]]
    recruiter = sample.recruiter[child]
    brought = np.bincount(recruiter, minlength=len(sample))
    unlike = np.bincount(recruiter, weights=within[child] != within[recruiter], minlength=len(sample))
    who = brought > 0
    across = float((unlike[who] / brought[who]).sum())
    inside = float((who & within).sum())
    outside = float(who.sum()) - inside
    return 2.0 * inside * outside / (float(who.sum()) * across) if across > 0 else np.nan


def effectiveness(sample: Sample, outcome: Outcome) -> pd.DataFrame:
    """Return how many recruits people brought, by the outcome and by stratum; people still waiting are left out."""
    settled = sample.coupons != UNKNOWN
    rows = []
    by_outcome = (outcome.name, outcome.bands, outcome.band_names)
    for by, codes, names in (by_outcome, ("stratum", sample.stratum, sample.strata)):
        for code, name in enumerate(names):
            mine = settled & (codes == code)
            people, recruits = int(mine.sum()), int(sample.recruits[mine].sum())
            coupons = int(sample.coupons[mine].sum())
            if people:
                per_coupon = recruits / coupons if coupons else np.nan
                rows.append((by, name, people, coupons, recruits, recruits / people, per_coupon))
    return pd.DataFrame(rows, columns=["by", "value", "people", "coupons", "recruits", "per_person", "per_coupon"])


def seed_dependence(sample: Sample, outcome: Outcome) -> tuple[pd.DataFrame, int | None]:
    """Return the composition wave by wave, what the chain expects from the seeds, and how many waves that takes."""
    bands, names = outcome.bands, outcome.band_names
    n_states, answered = len(names), outcome.bands != UNKNOWN
    waves = int(sample.trees.wave.max(initial=0))
    table = np.zeros((waves + 1, n_states))
    np.add.at(table, (sample.trees.wave[answered], bands[answered]), 1.0)
    people = table.sum(axis=1)
    counts = Pairs.of(sample, bands, n_states).counts(the_sample(sample).pairs)[0]
    expected, equilibrium, settle = np.full_like(table, np.nan), np.full(n_states, np.nan), None
    if people[0] and (n_states == 1 or irreducible(counts)):
        equilibrium = stationary(counts[None])[0]
        far = expected_by_wave(counts, table[0] / people[0], max(waves, 200))
        expected = far[: waves + 1]
        near = np.flatnonzero(np.abs(far - equilibrium).max(axis=1) < SETTLED)
        settle = int(near[0]) if len(near) else None
    shares = table / np.where(people > 0, people, np.nan)[:, None]
    rows = [
        (wave, name, int(people[wave]), shares[wave, code], expected[wave, code], equilibrium[code])
        for wave in range(waves + 1)
        for code, name in enumerate(names)
    ]
    return pd.DataFrame(rows, columns=["wave", "category", "people", "share", "expected", "equilibrium"]), settle
