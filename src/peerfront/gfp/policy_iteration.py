"""Learning the value from simulated returns: policy iteration with the paper's surrogate.

The paper's fitted value iteration chases its own estimates; at discounts near 1 it learns to thin the frontier and dies
out. Here V is fitted to what a policy really earns in the planning world, from states it meets and from thinned ones:

1. the base policy is the best of some simple rules, by simulation;
2. explore with it and, now and then, with another rule; thin half of the states; simulate returns from each; fit V;
   refit the Laplace network on people met; the planner that uses both is the next policy;
3. again from that planner, with all the data so far;
4. the rule and all planners play fresh paired episodes, in which nothing was learned or tuned; the best of all is kept.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from peerfront.foundation.errors import SettingError
from peerfront.foundation.messages import DONE, Progress, note, silent
from peerfront.foundation.networks import Adam
from peerfront.foundation.randomness import Luck, named_generator, named_luck
from peerfront.foundation.settings import among, check_fields, one_or_more, proportion, seed_number, step_size
from peerfront.gfp.learning import LearnedPlanner, compared, earned, laplace_parents, report_on
from peerfront.gfp.planner import Planner
from peerfront.gfp.states import ExplorationMixture, StateBatch, explored, simulated_returns
from peerfront.gfp.surrogate import SEES, Array, LaplaceSettings, PersonInputs, SurrogateSettings
from peerfront.gfp.training import LaplaceTrainer, Surrogate, fit_values
from peerfront.problem import Policy, Rules, World, rollouts


@dataclass(frozen=True)
class PolicyIterationSettings:
    """How the value is learned from simulated returns."""

    rounds: int = 2
    """Times that returns are simulated and V is fitted."""
    episodes: int = 300
    """Exploring episodes of a round."""
    states: int = 1500
    """States of a round from which returns are simulated."""
    thinned: float = 0.5
    """Share of them that keep only a random few people."""
    returns: int = 4
    """Simulated returns from each state."""
    redated: float = 0.5
    """Share of them whose rounds left are drawn anew; used only by a value that depends on the rounds left."""
    exploration: float = 0.3
    """Share of decisions that another simple rule makes."""
    steps: int = 800
    """Gradient steps of each fit."""
    batch: int = 256
    """States of a gradient step."""
    learning_rate: float = 3e-3
    judged_episodes: int = 400
    """Paired episodes by which the rule to start from is chosen, and fresh ones by which it and the planners are
    compared at the end."""
    sees: str = "capacity"
    """What the networks see of a person: nothing, covariates, or those and what the capacity model says."""
    surrogate: SurrogateSettings = field(default_factory=SurrogateSettings)
    laplace: LaplaceSettings = field(default_factory=LaplaceSettings)
    seed: int = 0

    @classmethod
    def with_deadline(cls, seed: int = 0) -> "PolicyIterationSettings":
        """Settings of a value that depends on the rounds left."""
        return cls(surrogate=SurrogateSettings(deadline=True), seed=seed)

    def __post_init__(self) -> None:
        check_fields(
            self,
            rounds=one_or_more,
            episodes=one_or_more,
            states=one_or_more,
            thinned=proportion,
            returns=one_or_more,
            redated=proportion,
            exploration=proportion,
            steps=one_or_more,
            batch=one_or_more,
            learning_rate=step_size,
            judged_episodes=one_or_more,
            sees=among("thing that networks see", SEES),
            seed=seed_number,
        )


def learn_by_policy_iteration(
    world: World,
    rules: Rules,
    discount: float,
    simple_rules: Sequence[Policy],
    settings: PolicyIterationSettings | None = None,
    progress: Progress = silent,
    earlier: Planner | None = None,
) -> LearnedPlanner:
    """Learn a planner for this (planning) world, starting from and exploring with the simple rules.

    An `earlier` planner, learned in a world that was almost this one, takes the place of the rule to start from, and is
    one of the planners that may be kept: few simulations then do.

    The result holds the best planner and, if the rule that learning started from did better than all planners, that
    rule; its `policy` is the best of all.
    """
    settings = settings or PolicyIterationSettings()
    if not simple_rules:
        raise SettingError("learned_value.no_rule")
    progress(0.0, note("learning_progress.rule"))
    choosing = named_luck(("judge", settings.seed), settings.judged_episodes)
    rule, _ = best_rule(world, simple_rules, rules, discount, choosing)
    policy: Policy = rule if earlier is None else earlier
    parts: list[StateBatch] = []
    returns: list[Array] = []
    planners: dict[str, Planner] = {} if earlier is None else {"earlier": earlier}
    for number in range(settings.rounds):
        names = (settings.seed, number)
        progress((number + 0.1) / settings.rounds, note("learning_progress.returns", round=number + 1))
        states = explored(
            world,
            ExplorationMixture(policy, simple_rules, settings.exploration),
            rules,
            episodes=settings.episodes,
            states=settings.states,
            thinned=settings.thinned,
            names=names,
            redated=settings.redated if settings.surrogate.deadline else None,
        )
        luck = named_luck(("returns", *names), len(states))
        parts.append(states)
        returns.append(simulated_returns(world, policy, rules, discount, states, settings.returns, luck).mean(1))
        progress((number + 0.5) / settings.rounds, note("learning_progress.value", round=number + 1))
        planner = _fitted_planner(world, rules, discount, parts, returns, settings)
        planners[f"round {number + 1}"] = planner
        policy = planner
    start = f"start, {rule.name}"
    # The rule was chosen because it did well in its episodes, so those flatter it: compare everybody in fresh ones.
    fresh = named_luck(("compare rule and planners", settings.seed), settings.judged_episodes)
    played: dict[str, Policy] = {start: rule, **planners}
    candidates = compared({name: earned(world, each, rules, discount, fresh) for name, each in played.items()}, start)
    progress(1.0, DONE)
    best_name = min((each for each in candidates if each.is_planner), key=lambda each: each.behind).name
    report = report_on(
        planners[best_name],
        world,
        rules,
        StateBatch.joined(parts),
        np.concatenate(returns),
        method="policy iteration on simulated returns",
        iterations=settings.rounds,
        history=[(each.name, each.earned) for each in candidates],
        seed=settings.seed,
        episodes=min(200, settings.judged_episodes),
        candidates=candidates,
        compared_episodes=settings.judged_episodes,
    )
    return LearnedPlanner(planners[best_name], report, rule if candidates[0].kept else None, played)


def _fitted_planner(
    world: World,
    rules: Rules,
    discount: float,
    parts: Sequence[StateBatch],
    returns: Sequence[Array],
    settings: PolicyIterationSettings,
) -> Planner:
    """Fit V to the returns of all rounds so far, and its embeddings to people met in the last round."""
    number = len(parts) - 1
    inputs = PersonInputs.seeing(settings.sees, world.schema, world.response)
    surrogate = Surrogate(inputs, rules.budget, settings.surrogate, settings.seed, rules.rounds)
    fit_values(
        surrogate,
        StateBatch.joined(parts),
        np.concatenate(returns),
        Adam(surrogate.parameters, settings.learning_rate),
        steps=settings.steps,
        batch=settings.batch,
        rng=named_generator("fit value", settings.seed, number),
        cosine=True,
    )
    value = surrogate.freeze()
    parents = laplace_parents(parts[-1], settings.laplace.parents, settings.seed, number)
    luck = named_luck(("laplace recruits", settings.seed, number), len(parents))
    trainer = LaplaceTrainer(inputs, world.offspring, parents, value.latent, settings.laplace, luck, settings.seed)
    return Planner.of(world.response, value, trainer.follow(value), discount)


def best_rule(
    world: World, simple_rules: Sequence[Policy], rules: Rules, discount: float, episodes: Luck, finalists: int = 4
) -> tuple[Policy, float]:
    """The rule that earns most in paired episodes, and its mean: all on a quarter of them, the best few on all."""

    def means(policies: Sequence[Policy], luck: Luck) -> Array:
        played = rollouts(world, policies, rules, luck)
        return np.array([trajectories.discounted_rewards(discount).mean() for trajectories in played])

    screened = means(simple_rules, Luck(episodes.keys[: max(1, len(episodes) // 4)]))
    order = np.argsort(-screened, kind="stable")[:finalists]
    final = means([simple_rules[i] for i in order], episodes)
    best = int(np.argmax(final))
    return simple_rules[int(order[best])], float(final[best])
