"""The policies by name, and how each is prepared for a world.

A policy is prepared in a *planning* world and tested in the *testing* world, which it never sees. With the true models
the two are the same; with learned models the planning world is made of those (`planning_world.py`). Policies that have
to learn something first are prepared in `learned_policies.py`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

from peerfront.experiments.learned_policies import (
    FEW_ROUNDS,
    REINFORCEMENT_OPTIONS,
    SEES,
    check_gfp,
    check_reinforcement,
    prepare_budget_dqn,
    prepare_factorized_rl,
    prepare_gfp,
    prepare_gfp_paper,
    prepare_price_index,
    trained_at_discount,
)
from peerfront.experiments.planning_world import POPULATION_SAMPLE, Discounts, Preparation
from peerfront.foundation.errors import SettingError, UnknownName
from peerfront.foundation.messages import Message, note
from peerfront.foundation.randomness import named_luck
from peerfront.foundation.settings import (
    MOST_SEED,
    Option,
    Spec,
    checked_discount,
    one_of,
    positive,
    proportion,
    whole_number,
)
from peerfront.problem import Policy, Rules, World
from peerfront.problem.limits import MOST_COUPONS
from peerfront.simulation.catalog import make_world


@dataclass(frozen=True)
class PolicyEntry:
    """How a named policy is described and prepared; `prepare` takes the settings given after the colon."""

    summary: Message | str
    prepare: Callable[..., Policy]
    options: Mapping[str, Option]
    discounts: Callable[[Spec], Discounts]
    """What the discount means to the policy of this specification."""
    check: Callable[..., object] = lambda **_: None
    """Refuses impossible settings at once, before any work; takes them as `prepare` does."""


def make_policy(
    spec: Spec | str, world: World | str, rules: Rules | None = None, discount: float = 0.9, seed: int = 0
) -> Policy:
    """Make a policy by name and prepare it in a world: tuned, fitted or trained with the world's own models.

    `spec` is a name with its settings (`peerfront policies` lists them), `world` a world or its name. The policy plans
    for these rules (the paper's by default) and this discount; the seed names the luck of its preparation.

    >>> import peerfront as pf
    >>> world, rules = pf.make_world("bridge"), pf.Rules(budget=20, people=5)
    >>> policy = pf.make_policy("threshold:cutoff=0.5,at_least=4", world, rules)
    >>> played = pf.rollout(world, policy, rules, pf.named_luck(("example",), 100))
    >>> bool(played.total_recruits.mean() > 5)
    True
    """
    place = make_world(world) if isinstance(world, str) else world
    discount = checked_discount(discount)
    preparation = Preparation(place, rules or Rules(), discount, (discount,), whole_number("seed", seed, 0, MOST_SEED))
    return prepare_policy(Spec.parse(spec) if isinstance(spec, str) else spec, preparation)


def prepare_policy(spec: Spec, preparation: Preparation) -> Policy:
    """The policy of a specification such as `constant:coupons=3`, ready to play."""
    entry = policy_entry(spec)
    return entry.prepare(preparation, **spec.read_options(entry.options))


def policy_entry(spec: Spec) -> PolicyEntry:
    """The entry of a specification's name, its settings checked."""
    if spec.name not in POLICIES:
        raise UnknownName(note("policy_setting.policy"), spec.name, POLICIES)
    entry = POLICIES[spec.name]
    entry.check(**spec.read_options(entry.options))
    return entry


# Checks of the settings given after the colon, before any work ---------------------------------------------------


def _check_constant(**options: Any) -> None:
    from peerfront.baselines.simple_rules import Constant

    whole_number(note("settings.of", name="coupons", owner="constant"), options.get("coupons", 0), 0, MOST_COUPONS)
    Constant(**options)


def _check_threshold(cutoff: float | None = None, at_least: int | None = None) -> None:
    if (cutoff is None) != (at_least is None):
        raise SettingError("policy_settings.threshold_needs_both")
    if cutoff is not None and at_least is not None:
        proportion(note("settings.of", name="cutoff", owner="threshold"), cutoff)
        whole_number(note("settings.of", name="at_least", owner="threshold"), at_least, 0)


def _check_evenly(pace: float = 1.0) -> None:
    positive(note("settings.of", name="pace", owner="evenly"), pace)


def _check_population_dp(population: int = POPULATION_SAMPLE, marginal: str = "mixture", recruits: int = 0) -> None:
    from peerfront.baselines.population_dp import MARGINALS

    whole_number(note("settings.of", name="population", owner="population_dp"), population, 1, 1_000_000)
    one_of(note("kinds.marginal"), marginal, MARGINALS)
    whole_number(note("settings.of", name="recruits", owner="population_dp"), recruits, 0, 1_000_000)


# Preparations; each imports what it needs, so that nothing is loaded for policies that do not play ---------------


def _random_split(_: Preparation) -> Policy:
    from peerfront.baselines.simple_rules import RandomSplit

    return RandomSplit()


def _constant(_: Preparation, **options: Any) -> Policy:
    from peerfront.baselines.simple_rules import Constant

    return Constant(**options)


def _evenly(preparation: Preparation, pace: float = 1.0) -> Policy:
    from peerfront.baselines.simple_rules import Evenly

    return Evenly(preparation.planning_world.response, pace)


def _threshold(preparation: Preparation, cutoff: float | None = None, at_least: int | None = None) -> Policy:
    from peerfront.baselines.simple_rules import Threshold

    world, discounts = preparation.planning_world, preparation.discounts
    if cutoff is not None and at_least is not None:
        return Threshold(world.response, cutoff, at_least)
    return _tuned_thresholds(world, preparation.rules, discounts, preparation.seed)[preparation.discount]


@lru_cache(maxsize=1)
def _tuned_thresholds(world: World, rules: Rules, discounts: tuple[float, ...], seed: int) -> Mapping[float, Policy]:
    """Kept for the other discounts of the same task: one simulated grid serves them all."""
    from peerfront.baselines.simple_rules import tune_threshold

    return tune_threshold(world, rules, discounts, seed=seed)


def _population_dp(
    preparation: Preparation, population: int = POPULATION_SAMPLE, marginal: str = "mixture", recruits: int = 0
) -> Policy:
    from peerfront.baselines.population_dp import fit_population_dp

    world, rules, discount = preparation.planning_world, preparation.rules, preparation.discount
    people = world.population(named_luck(("population", preparation.seed), population))
    if recruits:
        from peerfront.gfp.states import planning_population

        people = planning_population(world, population, recruits, preparation.seed)
    return fit_population_dp(world.response, people, rules, discount, marginal=marginal)


POLICIES: dict[str, PolicyEntry] = {
    "random_split": PolicyEntry(
        summary=note("policy_summary.random_split"),
        prepare=_random_split,
        options={},
        discounts=lambda _: Discounts.IGNORED,
    ),
    "constant": PolicyEntry(
        summary=note("policy_summary.constant"),
        prepare=_constant,
        options={"coupons": Option(int, note("policy_setting.coupons"))},
        discounts=lambda _: Discounts.IGNORED,
        check=_check_constant,
    ),
    "threshold": PolicyEntry(
        summary=note("policy_summary.threshold"),
        prepare=_threshold,
        options={
            "cutoff": Option(float, note("policy_setting.cutoff")),
            "at_least": Option(int, note("policy_setting.at_least")),
        },
        discounts=lambda spec: Discounts.IGNORED if "cutoff" in dict(spec.options) else Discounts.TOGETHER,
        check=_check_threshold,
    ),
    "evenly": PolicyEntry(
        summary=note("policy_summary.evenly"),
        prepare=_evenly,
        options={"pace": Option(float, note("policy_setting.pace"))},
        discounts=lambda _: Discounts.IGNORED,
        check=_check_evenly,
    ),
    "population_dp": PolicyEntry(
        summary=note("policy_summary.population_dp"),
        prepare=_population_dp,
        options={
            "population": Option(int, note("policy_setting.population")),
            "marginal": Option(str, note("policy_setting.marginal")),
            "recruits": Option(int, note("policy_setting.recruits")),
        },
        discounts=lambda _: Discounts.SEPARATE,
        check=_check_population_dp,
    ),
    "budget_dqn": PolicyEntry(
        summary=note("policy_summary.budget_dqn"),
        prepare=prepare_budget_dqn,
        options=REINFORCEMENT_OPTIONS,
        discounts=trained_at_discount,
        check=check_reinforcement,
    ),
    "factorized_rl": PolicyEntry(
        summary=note("policy_summary.factorized_rl"),
        prepare=prepare_factorized_rl,
        options=REINFORCEMENT_OPTIONS,
        discounts=trained_at_discount,
        check=check_reinforcement,
    ),
    "gfp": PolicyEntry(
        summary=note("policy_summary.gfp"),
        prepare=prepare_gfp,
        options={
            "learn": Option(str, note("policy_setting.learn")),
            "deadline": Option(str, note("policy_setting.deadline", rounds=FEW_ROUNDS)),
            "sees": Option(str, note("policy_setting.sees", choices=SEES)),
            "training": Option(str, note("training_setting.training")),
        },
        discounts=lambda _: Discounts.SEPARATE,
        check=check_gfp,
    ),
    "gfp-paper": PolicyEntry(
        summary=note("policy_summary.gfp_paper"),
        prepare=prepare_gfp_paper,
        options={},
        discounts=lambda _: Discounts.SEPARATE,
    ),
    "gfp-untrained": PolicyEntry(
        summary=note("policy_summary.gfp_untrained"),
        prepare=partial(prepare_gfp_paper, iterations=0),
        options={},
        discounts=lambda _: Discounts.SEPARATE,
    ),
    "price_index": PolicyEntry(
        summary=note("policy_summary.price_index"),
        prepare=prepare_price_index,
        options={},
        discounts=lambda _: Discounts.SEPARATE,
    ),
}
