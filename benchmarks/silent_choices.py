"""What four choices are worth about which the paper is silent (docs/explanation/deviations.md).

OMP_NUM_THREADS=1 python benchmarks/silent_choices.py [bias] [loss] [rounding] [targets]

- bias: the count network's output starts at the mean rate, or at zero; the paper's capacity fit, errors of mean
  capacities on 400 people of the pool
- loss: the Laplace network learns by cross-entropy, or by squared error, behind the same sigmoid; the paper's sizes and
  ours, mean error against embeddings of 500 sampled recruits each on 100 people
- rounding: how often the generated numbers of a field, each rounded to 0 or 1, name exactly one category, so that
  there is nothing to choose and argmax is plain rounding; diffusions of at most 20 epochs
- targets: target parameters follow every 10, 25, 50 or 200 iterations in the paper's value training; reward at .9 and 1
  in 400 paired episodes

The paper's world with the true models, draw 0 (bias: draws 0 to 2; rounding: a diffusion fitted to its history).
"""

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
from scipy.special import expit

from peerfront.baselines.simple_rules import RandomSplit
from peerfront.foundation.randomness import named_luck
from peerfront.gfp import training
from peerfront.gfp.fitted_value_iteration import FittedValueIterationSettings, learn_by_fitted_value_iteration
from peerfront.gfp.learning import earned, embedding_error, sampled_embeddings
from peerfront.gfp.surrogate import LaplaceSettings, PersonInputs, SurrogateSettings
from peerfront.gfp.training import LaplaceTrainer, Surrogate
from peerfront.models.offspring import diffusion
from peerfront.models.offspring.pairs import Pairs
from peerfront.models.response import response_training
from peerfront.models.response.response_fit import ResponseSettings, fit_response
from peerfront.problem import Rules
from peerfront.simulation.catalog import make_world
from peerfront.simulation.simulated_history import simulate_history

sys.path.append(str(Path(__file__).parents[1] / "tests" / "models"))

from truth_errors import rate_errors

WORLD = "icpsr22140"


def bias() -> None:
    for draw in range(3):
        world = make_world(WORLD, draw)
        history = simulate_history(world)
        people = world.population(named_luck(("judged", draw), 400))
        true = world.response.rates(people)  # type: ignore[attr-defined]
        at_mean = fit_response(history, ResponseSettings.paper())
        with patch.object(response_training, "_inverse_link", lambda link, means: np.zeros_like(means)):
            at_zero = fit_response(history, ResponseSettings.paper())
        for start, model in (("the mean rate", at_mean), ("zero", at_zero)):
            errors = rate_errors(model.expected(people), true)
            found = ", ".join(f"{what} {error:.3f}" for what, error in errors.items())
            print(f"bias, draw {draw}, start at {start}: {found}", flush=True)


def loss() -> None:
    world = make_world(WORLD, 0)
    inputs = PersonInputs.seeing("covariates", world.schema, world.response)
    people = world.population(named_luck(("laplace people",), 1124))

    def slope_of_squares(scores, wanted):
        shares = expit(scores)
        return 2.0 * (shares - wanted) * shares * (1.0 - shares) / np.float32(scores.size)

    squared = patch.object(training, "embedding_slope", slope_of_squares)
    for sizes, surrogate_settings, settings in (
        ("the paper's", SurrogateSettings.paper(), LaplaceSettings.paper()),
        ("ours", SurrogateSettings(), LaplaceSettings()),
    ):
        value = Surrogate(inputs, 100, surrogate_settings, seed=0).freeze()
        parents, judged = people[: settings.parents], people[1024:]
        sampled = sampled_embeddings(world.offspring, value, judged, 500, named_luck(("truth",), len(judged)))
        luck = named_luck(("recruits",), len(parents))

        def error(
            settings: LaplaceSettings = settings,
            value=value,
            parents=parents,
            judged=judged,
            sampled=sampled,
            luck=luck,
        ) -> str:
            trainer = LaplaceTrainer(inputs, world.offspring, parents, value.latent, settings, luck, 0)
            found = embedding_error(trainer.follow(value), sampled, judged)
            return ", ".join(f"{what} {number:.4f}" for what, number in found.items())

        print(f"loss, {sizes} sizes, cross-entropy: {error()}", flush=True)
        with squared:
            print(f"loss, {sizes} sizes, squared error: {error()}", flush=True)


def rounding() -> None:
    world = make_world(WORLD, 0)
    pairs = Pairs.of(simulate_history(world))
    for name, settings in (
        ("repaired", diffusion.DiffusionSettings()),
        ("the paper's", diffusion.DiffusionSettings.paper()),
    ):
        settings = replace(settings, epochs=min(settings.epochs, 20))
        model = diffusion.fit_diffusion(pairs, settings)
        seen: list[np.ndarray] = []
        step = diffusion.ddpm_step if model.fast_steps is None else diffusion.ddim_step

        def last_step(*values, step=step, seen=seen):
            found = step(*values)
            seen[:] = [found.numpy()]
            return found

        parents = world.population(named_luck(("rounded",), 500))
        with patch.object(diffusion, step.__name__, last_step):
            model.sample(parents, named_luck(("rounding",), len(parents)))
        middle = 0.0 if settings.signs else 0.5
        fields = zip(world.schema.offsets, world.schema.sizes, strict=True)
        active = np.stack([(seen[0][:, a : a + n] > middle).sum(axis=1) for a, n in fields], axis=1)
        print(
            f"rounding, {name} diffusion ({settings.epochs} epochs): exactly one category in "
            f"{(active == 1).mean():.3%} of fields, none in {(active == 0).mean():.3%}, "
            f"several in {(active > 1).mean():.3%}",
            flush=True,
        )


def targets() -> None:
    world, rules = make_world(WORLD, 0), Rules()
    luck = named_luck(("episode", 0, WORLD, 0), 400)
    for discount in (0.9, 1.0):
        base = None
        for every in (25, 10, 50, 200):
            settings = replace(FittedValueIterationSettings.paper(), synchronise=every)
            planner = learn_by_fitted_value_iteration(world, rules, discount, [RandomSplit()], settings).planner
            rewards = earned(world, planner, rules, discount, luck)
            base = rewards if base is None else base
            gaps = rewards - base
            error = gaps.std(ddof=1) / np.sqrt(len(gaps))
            print(
                f"targets, discount {discount:g}, every {every}: {rewards.mean():.2f} "
                f"({gaps.mean():+.2f} above every 25, standard error {error:.2f})",
                flush=True,
            )


CHOICES: dict[str, Callable[[], None]] = {"loss": loss, "bias": bias, "targets": targets, "rounding": rounding}

if __name__ == "__main__":
    for chosen in sys.argv[1:] or CHOICES:
        CHOICES[chosen]()
