"""The fast code against the paper as it is written: Equations 3 to 12 (Algorithm 1 itself: test_greedy.py)."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from peerfront.baselines.simple_rules import RandomSplit
from peerfront.foundation.networks import Adam
from peerfront.foundation.randomness import named_generator, named_luck
from peerfront.gfp import fitted_value_iteration, paper, training
from peerfront.gfp.backup import Tables
from peerfront.gfp.learning import sampled_embeddings
from peerfront.gfp.planner import Planner
from peerfront.gfp.states import StateBatch, sampled_recruits, visited
from peerfront.gfp.surrogate import LaplaceSettings, PersonInputs, SurrogateSettings
from peerfront.gfp.training import LaplaceTrainer, Surrogate, fit_values
from peerfront.problem import Rules
from peerfront.simulation.typed import bridge

WORLD = bridge()
INPUTS = PersonInputs(WORLD.schema)
RULES = Rules(budget=7, people=3)


@given(st.integers(1, 5), st.integers(1, 8), st.integers(1, 3), st.integers(0, 10**6))
@settings(max_examples=150)
def test_what_coupons_leave_uncovered_is_equation_7(people: int, coupons: int, latent: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    survival = np.sort(rng.random((people, coupons)), axis=1)[:, ::-1].copy()
    embeddings = rng.uniform(0.05, 1.0, (people, latent))
    shares = paper.uncovered_shares(survival, embeddings)
    tables = Tables.of_capacity(survival, embeddings)
    np.testing.assert_allclose(tables.transform(), shares, atol=1e-12)
    np.testing.assert_allclose(tables.covers, paper.newly_covered(shares), atol=1e-9)


def a_surrogate(paper_settings: bool) -> Surrogate:
    chosen = SurrogateSettings.paper() if paper_settings else SurrogateSettings()
    return Surrogate(INPUTS, RULES.budget, chosen, 3)


def states() -> StateBatch:
    met = visited(WORLD, RandomSplit(), RULES, named_luck(("paper",), 12))
    return StateBatch(met.budgets, met.first, met.covariates)


@pytest.mark.parametrize("paper_settings", [True, False])
def test_the_value_is_that_of_equations_3_and_4(paper_settings: bool) -> None:
    surrogate, batch = a_surrogate(paper_settings), states()
    frozen, rows = surrogate.freeze(), INPUTS.rows(batch.covariates)
    coverage = paper.latent_coverage(surrogate.coverage_network(rows).astype(np.float64))
    np.testing.assert_allclose(frozen.coverage(rows), coverage, rtol=1e-5)
    for budget in range(RULES.budget + 1):
        seen = surrogate._budget_inputs(np.array([budget], dtype=np.float32))
        outputs = surrogate.weight_network(seen)[0].astype(np.float64)
        np.testing.assert_allclose(frozen.weights[budget], paper.budget_weights(budget, outputs), rtol=1e-5)
    values = [
        paper.frontier_value(frozen.weights[budget], coverage[first:end])
        for budget, first, end in zip(batch.budgets, batch.first[:-1], batch.first[1:], strict=True)
    ]
    np.testing.assert_allclose(frozen.values(batch.budgets, rows, batch.first), values, rtol=1e-5, atol=1e-9)


def test_embeddings_are_fitted_to_equation_5() -> None:
    value, parents = a_surrogate(False).freeze(), np.arange(4, dtype=np.int16)[:, None]
    luck, chosen = named_luck(("recruits",), 4), LaplaceSettings(parents=4, children=20)
    recruits, _ = sampled_recruits(WORLD.offspring, parents, 20, luck)
    coverage = value.coverage(INPUTS.rows(recruits)).reshape(4, 20, -1)
    trainer = LaplaceTrainer(INPUTS, WORLD.offspring, parents, value.latent, chosen, luck, 0)
    plain = paper.laplace_embeddings(coverage)
    np.testing.assert_allclose(trainer.targets(value), plain, rtol=1e-12)
    np.testing.assert_allclose(sampled_embeddings(WORLD.offspring, value, parents, 20, luck), plain, rtol=1e-12)


def test_targets_are_those_of_equation_11() -> None:
    value = a_surrogate(False).freeze()
    embeddings = LaplaceTrainer(
        INPUTS, WORLD.offspring, np.arange(4, dtype=np.int16)[:, None], value.latent,
        LaplaceSettings(parents=4, children=20, steps=5), named_luck(("recruits",), 4), 0,
    ).follow(value)  # fmt: skip
    planner, batch = Planner.of(WORLD.response, value, embeddings, 0.9), states()
    targets = fitted_value_iteration._targets(planner, RULES, batch)
    for number, budget in enumerate(batch.budgets.tolist()):
        codes = batch.take(np.array([number])).covariates
        survival = WORLD.response.gains(codes, budget)
        shares = paper.uncovered_shares(survival, embeddings.uncovered(INPUTS.rows(codes)))
        weights = value.weights[: budget + 1]
        plain = paper.value_target(survival, paper.newly_covered(shares), weights, 0.9)
        assert targets[number] == pytest.approx(plain, rel=1e-6)  # networks calculate in single precision


def test_the_loss_is_that_of_equation_12(monkeypatch: pytest.MonkeyPatch) -> None:
    surrogate, batch = a_surrogate(True), states()
    targets = np.linspace(0.0, 3.0, len(batch))
    losses: list[float] = []
    of_equation_12 = training.squared_error

    def watched(*values: np.ndarray) -> tuple[float, np.ndarray]:
        losses.append(of_equation_12(*values)[0])
        return of_equation_12(*values)

    monkeypatch.setattr(training, "squared_error", watched)
    values = surrogate.freeze().values(batch.budgets, INPUTS.rows(batch.covariates), batch.first)
    optimiser, rng = Adam(surrogate.parameters, 1e-3), named_generator("loss", 0)
    fit_values(surrogate, batch, targets, optimiser, steps=1, batch=len(batch), rng=rng, relative=False)
    assert losses == [pytest.approx(paper.value_loss(values, targets), rel=1e-4)]


def test_one_softplus_for_large_and_small_outputs() -> None:
    outputs = np.array([-800.0, -1.0, 0.0, 1.0, 800.0])
    np.testing.assert_allclose(paper.latent_coverage(outputs), np.logaddexp(0.0, outputs))
