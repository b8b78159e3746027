"""What a reproduction says, in sentences made from its numbers: what was reproduced, what was not, and why."""

from dataclasses import dataclass

import pandas as pd

from peerfront.experiments.reproduction.plan import DESCRIBED, PAPER_METHODS, PUBLISHED
from peerfront.experiments.reproduction.published import REWARD
from peerfront.experiments.reproduction.run import Reproduction
from peerfront.experiments.reproduction.tables import METHODS
from peerfront.experiments.results import Results

_SURE = 2.0  # standard errors within which a figure counts as reproduced

WHY_DIFFERENT = {
    "Random": "Its total depends on the draw of the oracle: a standard deviation of 3.8 recruits between draws.",
    "Budget-DQN": "The text leaves the allocator, the exploration and the target updates open, and the result of one "
    "training run depends on its luck.",
    "Factorized RL": "The text does not say how the scores of individuals are trained, and the result of one training "
    "run depends on its luck.",
    "IID-Population DP": "“A marginal Poisson PMF” has two readings that differ by 3 to 7 points; the table follows "
    "the one that is nearer to the paper's row.",
    "GFP, to the letter": "To the letter, training changes next to nothing: the value starts saturated "
    "(docs/deviations.md, 12). The published figures depend on one draw and on models we cannot see.",
}


@dataclass(frozen=True)
class Finding:
    """A question and its answer."""

    question: str
    answer: str


def findings(found: Reproduction, table: pd.DataFrame) -> list[Finding]:
    """The story of a reproduction, most important first."""
    described = found.results[DESCRIBED]
    told = [_is_gfp_best(described), _ordering(described), _training(described)]
    if (table["world"] == PUBLISHED).any():
        told.insert(0, _reproduced(table))
    if described.bounds is not None:
        told.append(_room(described))
    told.append(_early_speed(described))
    return told


def _reproduced(table: pd.DataFrame) -> Finding:
    part = table[(table["world"] == PUBLISHED) & table["policy"].isin(PAPER_METHODS.values())]
    near = part["difference_in_errors"].abs() <= _SURE
    text = f"{int(near.sum())} of {len(part)} cells of Table 1 are within {_SURE:g} standard errors of ours."
    for method, rows in part[~near].groupby("method", sort=False):
        worst = rows["difference_in_errors"].abs().max()
        text += f" {method}: {len(rows)} cells are not, by up to {worst:.1f}. {WHY_DIFFERENT[str(method)]}"
    return Finding("Is Table 1 reproduced?", text)


def _is_gfp_best(described: Results) -> Finding:
    pairs = described.differences
    pairs = pairs[pairs["metric"] == REWARD]
    rivals = [policy for policy in described.policies if not policy.startswith("gfp")]
    parts, behind, unsure = [], [], []
    for discount in described.comparison.discounts:
        ahead = {rival: _difference(pairs, "gfp", rival, discount) for rival in rivals}
        nearest = min(rivals, key=lambda rival: ahead[rival][0])
        mean, low, high = ahead[nearest]
        parts.append(f"{discount:g}: {mean:+.1f}{_interval(low, high)} above {METHODS[nearest].lower()}")
        if mean <= 0:
            behind.append(f"{discount:g}")
        elif not low > 0:
            unsure.append(f"{discount:g}")
    verdict = "Yes"
    if behind:
        verdict = f"Not at {', '.join(behind)}"
    elif unsure:
        verdict = f"Yes, but at {', '.join(unsure)} within the noise"
    text = f"{verdict}. Paired differences of repaired GFP to the best other method, by discount: {'; '.join(parts)}."
    return Finding("Is GFP best at every discount?", text)


def _ordering(described: Results) -> Finding:
    means = described.summary[described.summary["metric"] == REWARD]
    orders = []
    for discount in described.comparison.discounts:
        part = means[means["discount"] == discount].sort_values("mean", ascending=False)
        orders.append(tuple(policy for policy in part["policy"] if policy in PAPER_METHODS.values()))
    named = " > ".join(METHODS[policy] for policy in orders[0])
    same = all(order == orders[0] for order in orders)
    text = f"The paper's five methods: {named}" + (
        " at every discount." if same else f" at {described.comparison.discounts[0]:g}; it changes with the discount."
    )
    return Finding("Is the ordering of the methods stable?", text)


def _training(described: Results) -> Finding:
    pairs = described.differences
    pairs = pairs[pairs["metric"] == REWARD]
    said = []
    for policy, name in (("gfp-paper", "to the letter"), ("gfp", "repaired")):
        gains = [_difference(pairs, policy, "gfp-untrained", d) for d in described.comparison.discounts]
        shown = ", ".join(f"{mean:+.1f}{_interval(low, high)}" for mean, low, high in gains)
        said.append(f"{name} {shown}")
    text = f"Above the untrained planner, by discount: {'; '.join(said)}."
    return Finding("Does the value network's training matter?", text)


def _room(described: Results) -> Finding:
    assert described.bounds is not None, "asked only where there are bounds"
    rewards = described.episodes[described.episodes["policy"] == "gfp"].groupby("discount")["discounted_reward"].mean()
    bounds = described.bounds.groupby("discount")["bound"].mean()
    shares = ", ".join(f"{rewards[d] / bounds[d]:.1%}" for d in described.comparison.discounts)
    return Finding(
        "How much better could any method be?",
        f"Repaired GFP earns {shares} of an upper bound on every policy (by discount).",
    )


def _early_speed(described: Results) -> Finding:
    discount = max(described.comparison.discounts)
    early = {}
    for policy in ("gfp", "population_dp"):
        runs = [run for run in described.runs if run.policy == policy and run.discount == discount]
        so_far = [run.trajectories.recruits[:, :4].sum(axis=1).mean() for run in runs]
        final = [run.trajectories.total_recruits.mean() for run in runs]
        early[policy] = (sum(so_far) / len(runs), sum(final) / len(runs))
    text = (
        f"At discount {discount:g}, after four rounds GFP has {early['gfp'][0]:.0f} recruits and IID-Population DP "
        f"{early['population_dp'][0]:.0f}; in the end {early['gfp'][1]:.0f} and {early['population_dp'][1]:.0f}."
    )
    return Finding("Does early speed predict the final result?", text)


def _difference(pairs: pd.DataFrame, policy: str, against: str, discount: float) -> tuple[float, float, float]:
    """Mean and 95% interval of policy - against."""
    rows = pairs[pairs["discount"] == discount]
    forward = rows[(rows["policy"] == policy) & (rows["against"] == against)]
    if len(forward):
        row = forward.iloc[0]
        return float(row["mean"]), float(row["low"]), float(row["high"])
    row = rows[(rows["policy"] == against) & (rows["against"] == policy)].iloc[0]
    return -float(row["mean"]), -float(row["high"]), -float(row["low"])


def _interval(low: float, high: float) -> str:
    return "" if pd.isna(low) else f" [{low:.1f}, {high:.1f}]"
