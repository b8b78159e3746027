"""Learning the value from simulated returns: policy iteration with the paper's surrogate.

The paper's fitted value iteration chases its own estimates; at discounts near 1 it learns to thin the frontier and dies
out. Here V is fitted to what a policy really earns in the planning world, from states it meets and from thinned ones:

1. the base policy is the best of some simple rules, by simulation;
2. explore with it and, now and then, with another rule; thin half of the states; simulate returns from each; fit V;
   refit the Laplace network on people met; the planner that uses both is the next policy;
3. again from that planner, with all the data so far; the best planner, by paired episodes, is kept.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch

from peerfront.allocation.planner import Planner
from peerfront.foundation.errors import SettingError
from peerfront.foundation.randomness import Luck, named_generator, named_luck
from peerfront.foundation.settings import whole_number
from peerfront.problem import Policy, Rules, World, rollouts
from peerfront.value.laplace import LaplaceSettings, LaplaceTrainer
from peerfront.value.learning import (
    Array,
    ExplorationMixture,
    LearnedPlanner,
    Progress,
    earned,
    explored,
    fit_values,
    laplace_parents,
    report_on,
)
from peerfront.value.networks import PersonInputs
from peerfront.value.states import StateBatch, simulated_returns
from peerfront.value.surrogate import Surrogate, SurrogateSettings


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
    """Share of them whose rounds left are drawn anew; only a value that knows the deadline asks for them."""
    exploration: float = 0.3
    """Share of decisions that another simple rule makes."""
    steps: int = 800
    """Gradient steps of each fit."""
    batch: int = 256
    learning_rate: float = 3e-3
    judged_episodes: int = 400
    """Paired episodes by which rules and planners are compared."""
    sees: str = "capacity"
    """What the networks see of a person: nothing, covariates, or those and what the capacity model says."""
    surrogate: SurrogateSettings = field(default_factory=SurrogateSettings)
    laplace: LaplaceSettings = field(default_factory=LaplaceSettings)
    seed: int = 0

    @classmethod
    def with_deadline(cls, seed: int = 0) -> "PolicyIterationSettings":
        """A value that knows how many rounds are left."""
        return cls(surrogate=SurrogateSettings(deadline=True), seed=seed)

    def __post_init__(self) -> None:
        for name in ("rounds", "episodes", "states", "returns", "steps", "batch", "judged_episodes"):
            whole_number(name.replace("_", " "), getattr(self, name), 1)
        for name in ("thinned", "redated", "exploration"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise SettingError(f"{name} is a share between 0 and 1; found {getattr(self, name)}.")
        if not 0.0 < self.learning_rate <= 1.0:
            raise SettingError(f"The learning rate must be above 0 and at most 1; found {self.learning_rate}.")


def learn_by_policy_iteration(
    world: World,
    rules: Rules,
    discount: float,
    simple_rules: Sequence[Policy],
    settings: PolicyIterationSettings | None = None,
    progress: Progress | None = None,
) -> LearnedPlanner:
    """A planner for this (planning) world. `simple_rules` are what to start from and to explore with."""
    chosen = settings or PolicyIterationSettings()
    if not simple_rules:
        raise SettingError("Policy iteration needs at least one simple rule to start from.")
    tell = progress or (lambda share, what: None)
    inputs = PersonInputs.seeing(chosen.sees, world.schema, world.capacity)
    judged = named_luck(("judge", chosen.seed), chosen.judged_episodes)
    tell(0.0, "choosing the rule to start from")
    policy, base_value = best_rule(world, simple_rules, rules, discount, judged)
    history = [(f"start, {policy.name}", base_value)]
    known: list[tuple[StateBatch, Array]] = []
    planners: list[tuple[float, Planner]] = []
    for number in range(chosen.rounds):
        names = (chosen.seed, number)
        tell((number + 0.1) / chosen.rounds, f"round {number + 1}: simulating returns")
        states = explored(
            world,
            ExplorationMixture(policy, simple_rules, chosen.exploration),
            rules,
            episodes=chosen.episodes,
            states=chosen.states,
            thinned=chosen.thinned,
            names=names,
            redated=chosen.redated if chosen.surrogate.deadline else None,
        )
        luck = named_luck(("returns", *names), len(states))
        known.append((states, simulated_returns(world, policy, rules, discount, states, chosen.returns, luck).mean(1)))
        tell((number + 0.5) / chosen.rounds, f"round {number + 1}: fitting the value")
        everything = StateBatch.joined([part for part, _ in known])
        targets = np.concatenate([returns for _, returns in known])
        planner = _fitted(world, inputs, rules, discount, everything, targets, states, chosen, number)
        value = float(earned(world, planner, rules, discount, judged).mean())
        history.append((f"round {number + 1}", value))
        planners.append((value, planner))
        policy = planner
    best = max(planners, key=lambda found: found[0])[1]
    tell(1.0, "done")
    report = report_on(
        best,
        world,
        rules,
        everything,
        targets,
        method="policy iteration on simulated returns",
        iterations=chosen.rounds,
        history=history,
        seed=chosen.seed,
        episodes=min(200, chosen.judged_episodes),
    )
    return LearnedPlanner(best, report)


def _fitted(
    world: World,
    inputs: PersonInputs,
    rules: Rules,
    discount: float,
    states: StateBatch,
    targets: Array,
    met: StateBatch,
    settings: PolicyIterationSettings,
    number: int,
) -> Planner:
    surrogate = Surrogate(inputs, rules.budget, settings.surrogate, settings.seed, rules.rounds)
    optimiser = torch.optim.Adam(surrogate.parameters, lr=settings.learning_rate, fused=True)
    fit_values(
        surrogate,
        states,
        targets,
        optimiser,
        steps=settings.steps,
        batch=settings.batch,
        rng=named_generator("fit value", settings.seed, number),
        schedule=torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, settings.steps),
    )
    learned = surrogate.freeze()
    parents = laplace_parents(met, settings.laplace.parents, settings.seed, number)
    luck = named_luck(("laplace recruits", settings.seed, number), len(parents))
    trainer = LaplaceTrainer(inputs, world.offspring, parents, learned.latent, settings.laplace, luck, settings.seed)
    return Planner(world.capacity, learned, trainer.follow(learned), discount)


def best_rule(
    world: World, rules_tried: Sequence[Policy], rules: Rules, discount: float, episodes: Luck, finalists: int = 4
) -> tuple[Policy, float]:
    """The rule that earns most in paired episodes: all on a quarter of them, the best few on all."""

    def means(policies: Sequence[Policy], luck: Luck) -> Array:
        played = rollouts(world, policies, rules, luck)
        return np.array([trajectories.discounted_rewards(discount).mean() for trajectories in played])

    screened = means(rules_tried, Luck(episodes.keys[: max(1, len(episodes) // 4)]))
    order = np.argsort(-screened, kind="stable")[:finalists]
    final = means([rules_tried[i] for i in order], episodes)
    best = int(np.argmax(final))
    return rules_tried[int(order[best])], float(final[best])
