"""What not knowing what a coupon does costs where everybody is alike, by exact dynamic programming.

python benchmarks/alike_stories.py PATH     (PATH holds nyjazz/ and rdstools_toy/)

A negative binomial capacity and a beta-binomial number of coupons used, without covariates, are fitted to each study by
maximum likelihood. Each of the two is then true in turn. With 60 coupons, at most 3 each, 5 rounds and 20 people
waiting, every allocation of every state is considered. A plan maximises sum_m pi_m Q_m, where Q_m is the exact value of
a decision if story m is true and known from now on: the planner's average with the weights pi. Weights are kept, or
updated by Bayes after each round's number of recruits; results are exact expectations, nothing is simulated. The
average of shares of the best divides each story's values by what it brings when it is known: a story that promises more
recruits then counts no more than one that promises fewer.
"""

import argparse
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from peerfront.data.reading import read_study
from peerfront.problem import ResponseModel
from peerfront.simulation.catalog import make_world

Array = NDArray[np.float64]
BUDGET, MOST_EACH, ROUNDS, PEOPLE = 60, 3, 5, 20
FAMILIES = {
    "Poisson": ("alike:rate={:.17g}", 1),
    "negative binomial": ("alike:rate={:.17g},size={:.17g}", 2),
    "binomial": ("alike:response=per_coupon,chance={:.17g}", 1),
    "beta-binomial": ("alike:response=per_coupon,chance={:.17g},spread={:.17g}", 2),
}
SHOWN = ("negative binomial", "beta-binomial")  # the stories that are planned for: capacity, per coupon
ONE = np.zeros((1, 1), dtype=np.int16)
_NEGLIGIBLE = 1e-13  # chance of a course of the study below which it is not followed


def response_of(family: str, parameters: Array) -> ResponseModel:
    """The response of people who are all alike; parameters are on the log or logit scale."""
    spec, count = FAMILIES[family]
    held = np.clip(parameters[:count], -12.0, 12.0)
    values = 1.0 / (1.0 + np.exp(-held)) if "per_coupon" in spec else np.exp(held)
    return make_world(spec.format(*values)).response


def fitted(family: str, coupons: NDArray[np.int64], recruits: NDArray[np.int64]) -> tuple[ResponseModel, float]:
    """The most likely response, and its AIC."""
    counts = {int(k): np.bincount(recruits[coupons == k], minlength=int(k) + 1) for k in np.unique(coupons)}

    def loss(parameters: Array) -> float:
        response = response_of(family, parameters)
        return -sum(float(n @ np.log(np.maximum(response.counts(ONE, k)[0], 1e-300))) for k, n in counts.items())

    number = FAMILIES[family][1]
    starts = [np.full(number, value) for value in (-1.0, 0.5)]
    best = min((minimize(loss, start, method="Nelder-Mead", options={"xatol": 1e-8}) for start in starts), key=_loss)
    return response_of(family, best.x), 2.0 * best.fun + 2.0 * number


def _loss(result: object) -> float:
    return float(result.fun)  # type: ignore[attr-defined]


@dataclass(frozen=True, eq=False)
class Actions:
    """Every way to give out at most the budget: how many people get 1, 2, ... coupons."""

    given: NDArray[np.int64]  # [actions, MOST_EACH]

    @classmethod
    def all(cls) -> "Actions":
        grids = np.meshgrid(*(np.arange(BUDGET // k + 1) for k in range(1, MOST_EACH + 1)), indexing="ij")
        given = np.stack([grid.ravel() for grid in grids], axis=1)
        return cls(given[given @ np.arange(1, MOST_EACH + 1) <= BUDGET])

    @property
    def spend(self) -> NDArray[np.int64]:
        spend: NDArray[np.int64] = self.given @ np.arange(1, MOST_EACH + 1)
        return spend

    @property
    def people(self) -> NDArray[np.int64]:
        people: NDArray[np.int64] = self.given.sum(axis=1)
        return people

    def outcomes(self, response: ResponseModel) -> Array:
        """P(so many recruits), [actions, BUDGET + 1]."""
        powers = []  # for each number of coupons, the distributions for 0, 1, 2, ... people
        for k in range(1, MOST_EACH + 1):
            one, rows = response.counts(ONE, k)[0], [np.eye(1, BUDGET + 1)[0]]
            for _ in range(BUDGET // k):
                rows.append(np.convolve(rows[-1], one)[: BUDGET + 1])
            powers.append(np.array(rows))
        total = powers[0][self.given[:, 0]]
        for k in range(1, MOST_EACH):
            own, grown = powers[k][self.given[:, k]], np.zeros_like(total)
            for recruits in range(BUDGET + 1):
                grown[:, recruits:] += own[:, recruits, None] * total[:, : BUDGET + 1 - recruits]
            total = grown
        return total


class Problem:
    """Exact values of every decision by every story, and what a way to weigh the stories earns."""

    def __init__(self, stories: dict[str, ResponseModel]) -> None:
        actions = Actions.all()
        order = np.lexsort((actions.spend, actions.people))
        self.actions = Actions(actions.given[order])
        self.spend, self.people = self.actions.spend, self.actions.people
        self.outcomes = {name: self.actions.outcomes(response) for name, response in stories.items()}
        self.now = {name: table @ np.arange(BUDGET + 1) for name, table in self.outcomes.items()}
        self.values = {name: self._values(name) for name in stories}

    def _values(self, name: str) -> Array:
        """V of each number of rounds left, coupons left and people waiting, if the story is true and known."""
        values = np.zeros((ROUNDS + 1, BUDGET + 1, BUDGET + 1))
        for left in range(1, ROUNDS + 1):
            for budget in range(1, BUDGET + 1):
                own, worth = self._worth(name, values[left - 1], budget)
                np.maximum.at(values[left, budget], self.people[own], worth)
                np.maximum.accumulate(values[left, budget], out=values[left, budget])
        return values

    def _worth(self, name: str, later: Array, budget: int) -> tuple[NDArray[np.int64], Array]:
        """The actions that so many coupons allow, and what they are worth: Q."""
        own = np.flatnonzero(self.spend <= budget)
        future = np.einsum("ac,ac->a", self.outcomes[name][own], later[budget - self.spend[own]])
        return own, self.now[name][own] + future

    @cache  # noqa: B019 - a problem lives as long as the script
    def _worth_by_story(self, left: int, budget: int) -> tuple[NDArray[np.int64], Array]:
        worth = [self._worth(name, self.values[name][left - 1], budget) for name in self.values]
        return worth[0][0], np.stack([each for _, each in worth])

    def decision(self, left: int, budget: int, people: int, weights: Array) -> int:
        """The action that is worth most on average."""
        own, worth = self._worth_by_story(left, budget)
        allowed = int(np.searchsorted(self.people[own], people, side="right"))  # sorted by people
        return int(own[np.argmax(weights @ worth[:, :allowed])])

    def earned(self, true: str, weights: Array, updates: bool) -> tuple[float, Array]:
        """Expected recruits where a story is true, planning with these weights; and their mean at the end."""
        names = list(self.values)
        courses = {(BUDGET, PEOPLE, 0.0): 1.0}  # coupons left, people waiting, log odds gained by the first story
        total, mean = 0.0, np.zeros(len(names))
        for left in range(ROUNDS, 0, -1):
            following: dict[tuple[int, int, float], float] = {}
            for (budget, people, gained), chance in courses.items():
                if not budget or not people:
                    following[(budget, people, gained)] = following.get((budget, people, gained), 0.0) + chance
                    continue
                action = self.decision(left, budget, people, shifted(weights, gained))
                total += chance * self.now[true][action]
                brought = self.outcomes[true][action]
                for recruits in np.flatnonzero(brought * chance > _NEGLIGIBLE).tolist():
                    more = 0.0
                    if updates:
                        ratio = self.outcomes[names[0]][action, recruits] / self.outcomes[names[1]][action, recruits]
                        more = round(float(np.log(ratio)), 9)
                    course = (budget - int(self.spend[action]), recruits, round(gained + more, 9))
                    following[course] = following.get(course, 0.0) + chance * float(brought[recruits])
            courses = following
        for (_, _, gained), chance in courses.items():
            mean += chance * shifted(weights, gained)
        return total, mean


def shifted(weights: Array, gained: float) -> Array:
    """Weights of two stories after the first has gained so much log odds."""
    if gained == 0.0:
        return weights
    odds = weights * np.exp(np.array([gained, 0.0]) - max(gained, 0.0))
    shares: Array = odds / odds.sum()
    return shares


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path)
    path = parser.parse_args().path
    for name in ("nyjazz", "rdstools_toy"):
        study = read_study(next(iter(sorted((path / name).rglob(f"{name}.csv")))))
        held = study.issued > 0
        coupons, recruits = study.issued[held], np.minimum(study.recruits, study.issued)[held]
        fits = {family: fitted(family, coupons, recruits) for family in FAMILIES}
        levels = f"{coupons.min()} to {coupons.max()} coupons"
        print(f"\n{name}: {len(coupons)} people with {levels}, {recruits.sum()} recruits\n")
        print("| family | AIC | recruits with 1, 2, 3 coupons |\n| --- | ---: | --- |")
        for family, (response, aic) in fits.items():
            means = ", ".join(f"{mean:.3f}" for mean in np.cumsum(response.gains(ONE, 3)[0]))
            print(f"| {family} | {aic:.1f} | {means} |")
        problem = Problem(
            {story: fits[family][0] for story, family in zip(("capacity", "per coupon"), SHOWN, strict=True)}
        )
        even = np.array([0.5, 0.5])
        best = np.array([problem.values[story][ROUNDS, BUDGET, PEOPLE] for story in problem.values])
        shares = even / best / (even / best).sum()
        plans = {
            "planned for capacity": (np.array([1.0, 0.0]), False),
            "planned for per coupon": (np.array([0.0, 1.0]), False),
            "planned for the average of both": (even, False),
            "the average, weights updated each round": (even, True),
            "the average of shares of the best": (shares, False),
            "the average of shares of the best, updated": (shares, True),
        }
        print("\n| recruits | capacity true | per coupon true |\n| --- | ---: | ---: |")
        print(f"| the truth known | {best[0]:.2f} | {best[1]:.2f} |")
        for label, (weights, updates) in plans.items():
            results = [problem.earned(story, weights, updates) for story in problem.values]
            cells = " | ".join(
                f"{total:.2f} ({total / top - 1:+.1%})" for (total, _), top in zip(results, best, strict=True)
            )
            print(f"| {label} | {cells} |", flush=True)
            if updates and weights is even:
                print(f"| (mean weight of capacity at the end) | {results[0][1][0]:.2f} | {results[1][1][0]:.2f} |")


if __name__ == "__main__":
    main()
