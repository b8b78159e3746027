"""One contract for every generator, what each can learn, and the choice among them."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from safetensors.numpy import save
from scipy.special import erf
from small_fits import fitted
from truth_errors import field_distances

from peerfront.experiments.planning_world import RememberedOffspring
from peerfront.foundation.covariates import Schema
from peerfront.foundation.errors import SettingError, UnknownName
from peerfront.foundation.randomness import Luck, named_generator, named_luck
from peerfront.models.offspring.category_networks import _gelu
from peerfront.models.offspring.category_training import (
    MaskedSettings,
    SoftmaxSettings,
    field_loss,
    fit_masked,
    fit_softmax,
)
from peerfront.models.offspring.diffusion import DiffusionSettings, fit_diffusion
from peerfront.models.offspring.generator_choice import GENERATORS, QUICK_RIVALS, fit_generator, fit_offspring
from peerfront.models.offspring.inheritance_tables import draw_fields, fit_inheritance
from peerfront.models.offspring.pairs import Pairs, sampled_log_scores
from peerfront.problem import History
from peerfront.simulation.catalog import make_world
from peerfront.simulation.simulated_history import HistorySettings, followed_history, simulate_history

FITS = {
    "inheritance": fit_inheritance,
    "softmax": lambda pairs: fit_softmax(pairs, SoftmaxSettings(epochs=30)),
    "softmax network": lambda pairs: fit_softmax(pairs, SoftmaxSettings(hidden=(16,), epochs=30)),
    "masked": lambda pairs: fit_masked(pairs, MaskedSettings(hidden=(32,), epochs=20)),
    "diffusion": lambda pairs: fit_diffusion(pairs, DiffusionSettings(hidden=(32,), epochs=4, fast_steps=5)),
}


def history_of(schema: Schema, parents: np.ndarray, children: np.ndarray) -> History:
    nothing = np.zeros(0, dtype=np.int64)
    parents, children = parents.astype(np.int16), children.astype(np.int16)
    return History(schema, parents[:0], nothing, nothing, parents, children)


def pairs_of(world: str, count: int) -> Pairs:
    return Pairs.of(simulate_history(make_world(world), HistorySettings(triples=0, pairs=count)))


@pytest.mark.parametrize("name", FITS)
def test_the_contract(name) -> None:
    pairs = pairs_of("icpsr22140", 400)
    model = FITS[name](pairs)
    luck = named_luck(("contract",), 60)
    children = model.sample(pairs.parents[:60], luck)
    pairs.schema.check(children)
    assert (children >= 0).all()
    assert children.dtype == np.int16
    backwards = model.sample(pairs.parents[:60][::-1], Luck(luck.keys[::-1].copy()))[::-1]
    assert np.array_equal(children, backwards)  # a child's luck is its own, whatever its company
    alone = np.concatenate([model.sample(pairs.parents[i : i + 1], luck.row(i)) for i in range(60)])
    assert np.array_equal(children, alone)
    assert model.sample(pairs.parents[:0], Luck(luck.keys[:0])).shape == (0, 17)
    again = FITS[name](pairs).sample(pairs.parents[:60], luck)
    assert np.array_equal(children, again)  # fits are reproducible


@pytest.mark.parametrize("name", FITS)
def test_missing_unseen_and_single(name) -> None:
    schema = Schema.of_sizes({"a": 3, "b": 4})
    unknown = np.array([[-1, -1], [2, 3], [0, -1]], dtype=np.int16)
    luck = named_luck(("odd",), 3)
    holes = history_of(
        schema, np.array([[0, -1], [1, 1], [-1, 2], [0, 0]]), np.array([[-1, 0], [1, -1], [2, 2], [0, 0]])
    )
    for history in (history_of(schema, np.array([[0, 1]]), np.array([[0, 2]])), holes):
        model = FITS[name](Pairs.of(history))
        children = model.sample(unknown, luck)
        schema.check(children)
        assert (children >= 0).all()


def test_tables_draw_as_field_by_field() -> None:
    """Sums made once, fields of other sizes and unknown recruiters: the recruits of the plain rule."""
    world = make_world("icpsr22140")
    luck = named_luck(("tables",), 5000)
    parents = world.population(luck)
    children = world.offspring.sample(parents, luck)
    tables = fit_inheritance(Pairs(world.schema, parents, children))
    parents = np.where(named_generator("unknown").random(parents.shape) < 0.1, -1, parents).astype(np.int16)
    plain = draw_fields(tables.probabilities(parents), luck)
    assert np.array_equal(tables.sample(parents, luck), plain)
    assert tables.sample(parents[:0], named_luck(("tables",), 0)).shape == (0, 17)


def test_no_pairs_is_an_error() -> None:
    schema = Schema.of_sizes({"a": 2})
    with pytest.raises(SettingError, match="no recruiter-recruit pair"):
        Pairs.of(history_of(schema, np.zeros((0, 1)), np.zeros((0, 1))))


def test_the_table_is_the_frequencies_shrunk_to_the_marginal() -> None:
    schema = Schema.of_sizes({"a": 3})
    parents = np.array([[0]] * 500 + [[1]] * 1)
    children = np.array([[0]] * 400 + [[1]] * 100 + [[2]])
    table = fit_inheritance(Pairs.of(history_of(schema, parents, children))).tables[0]
    assert table.sum(axis=1) == pytest.approx(1.0)
    assert table[0] == pytest.approx([0.8, 0.2, 0.0], abs=0.02)  # many pairs: their own frequencies
    assert table[1, 2] < 0.9  # one pair: pulled towards the marginal
    assert table[2] == pytest.approx(table[-1])  # never seen: the marginal


@pytest.mark.parametrize("name", ["inheritance", "softmax", "masked"])
def test_the_papers_kernel_is_learned(name) -> None:
    world = make_world("icpsr22140")
    model = fit_generator(name, pairs_of("icpsr22140", 4096))
    parents = world.population(named_luck(("judged",), 200))
    assert field_distances(model, world.offspring, parents, 50).mean() < 0.05


def dependent_pairs(count: int) -> Pairs:
    """Recruits whose second field repeats their first, whoever recruits them: no per-field model can know."""
    rng = named_generator("dependent")
    first = rng.integers(0, 3, count)
    children = np.column_stack([first, np.where(rng.random(count) < 0.9, first, rng.integers(0, 3, count))])
    schema = Schema.of_sizes({"a": 3, "b": 3})
    return Pairs.of(history_of(schema, rng.integers(0, 3, (count, 2)), children))


def test_masked_diffusion_sees_dependence_between_fields() -> None:
    pairs = dependent_pairs(1500)
    masked, table = fit_masked(pairs, MaskedSettings(steps=2)), fit_inheritance(pairs)
    luck = named_luck(("alike",), len(pairs.parents))
    alike = {
        name: np.mean(np.equal(*model.sample(pairs.parents, luck).T)) for name, model in (("m", masked), ("t", table))
    }
    assert abs(alike["m"] - np.mean(np.equal(*pairs.children.T))) < 0.05
    assert alike["t"] < 0.5, "each field on its own"
    assert sampled_log_scores(fit_inheritance(pairs), pairs).shape == (1500, 2)


@pytest.mark.parametrize("hidden", [(), (16,), (24, 16)])
@pytest.mark.parametrize("steps", [1, 3, 17, 40])
def test_revealing_in_bulk_is_revealing_by_the_letter(hidden, steps) -> None:
    pairs = pairs_of("icpsr22140", 600)
    model = fit_masked(pairs, MaskedSettings(hidden=hidden, epochs=1, steps=steps))
    for array in (*model.network.deep.weights, *model.network.deep.biases):
        array += 0.3 * named_generator("weights").standard_normal(array.shape)  # one epoch teaches next to nothing
    parents = np.tile(pairs.parents, (5, 1))
    parents[named_generator("holes").random(parents.shape) < 0.1] = -1
    luck = named_luck(("bulk",), len(parents))
    quick, plain = model.sample(parents, luck), model.sample_plainly(parents, luck)
    # The sums are added in another order: a uniform within rounding of a boundary may fall on its other side.
    assert (quick != plain).any(axis=1).mean() < 2e-3
    tables = fit_inheritance(pairs).sample(parents, luck)
    assert (plain != tables).any(axis=1).mean() > 0.9


def test_the_quick_gelu_is_gelu() -> None:
    sums = np.linspace(-12.0, 12.0, 20_001, dtype=np.float32)[None, :]
    exact = 0.5 * sums.astype(float) * (1.0 + erf(sums / np.sqrt(2.0)))
    outputs = np.empty_like(sums)
    _gelu(sums, outputs)
    assert np.abs(outputs - exact).max() < 2e-6


def test_a_recruit_of_the_masked_diffusion_is_the_same_in_any_company() -> None:
    pairs = pairs_of("icpsr22140", 300)
    model = fit_masked(pairs, MaskedSettings(hidden=(24, 16), epochs=1))
    luck = named_luck(("company",), 300)
    together = model.sample(pairs.parents, luck)
    alone = [model.sample(pairs.parents[i : i + 1], luck.row(i)) for i in range(300)]
    assert (together != np.concatenate(alone)).any(axis=1).mean() < 0.01


SAMPLE_WITHOUT_TORCH = """
import sys
from pathlib import Path
import numpy as np
from safetensors.numpy import load
from peerfront.foundation.covariates import Schema
from peerfront.foundation.randomness import named_luck
from peerfront.foundation.stored import Stored
from peerfront.models.response.learned_response import LearnedResponse
from peerfront.models.response.response_fit import ResponseSettings
from peerfront.models.model_diagnostics import response_report
from peerfront.models.offspring.generator_choice import fit_offspring
from peerfront.models.offspring.category_networks import MaskedDiffusion
from peerfront.models.offspring.category_networks import SoftmaxOffspring

schema, parents = Schema.of_sizes({"a": 3, "b": 4}), np.array([[0, 1], [2, -1]], dtype=np.int16)
for kind, settings in ((SoftmaxOffspring, {}), (MaskedDiffusion, {"steps": 8, "tables": {}, "deep": {}})):
    arrays = load((Path(sys.argv[1]) / kind.__name__).read_bytes())
    print(kind.restored(Stored(settings, arrays), schema).sample(parents, named_luck(("alone",), 2)).tolist())
assert "torch" not in sys.modules
"""


def test_saved_networks_are_sampled_without_torch(tmp_path) -> None:
    parents = np.array([[0, 1], [2, -1]], dtype=np.int16)
    children = []
    for name in ("softmax", "masked"):
        model = fitted(name)
        arrays = {key: np.ascontiguousarray(array) for key, array in model.stored().arrays.items()}
        (tmp_path / type(model).__name__).write_bytes(save(arrays))
        children.append(str(model.sample(parents, named_luck(("alone",), 2)).tolist()))
    run = subprocess.run([sys.executable, "-c", SAMPLE_WITHOUT_TORCH, str(tmp_path)], capture_output=True, text=True)
    assert run.stdout.splitlines() == children, run.stderr


def test_a_remembered_recruit_is_the_same_and_drawn_once(monkeypatch) -> None:
    pairs = pairs_of("icpsr22140", 200)
    model = FITS["diffusion"](pairs)
    asked: list[int] = []

    class Counting:
        def sample(self, parents, luck):
            asked.append(len(parents))
            return model.sample(parents, luck)

    remembered, luck = RememberedOffspring(Counting()), named_luck(("again",), 90)
    parents = pairs.parents[:90]
    truth = model.sample(parents, luck)
    order = named_generator("order").integers(0, 90, 300)
    for chosen in (np.arange(30), order, np.zeros(0, dtype=int), np.arange(90)):
        assert np.array_equal(remembered.sample(parents[chosen], Luck(luck.keys[chosen])), truth[chosen])
    assert sum(asked) == 90
    others = remembered.sample(parents[::-1].copy(), luck)  # the same keys with other recruiters are other people
    assert np.array_equal(others, model.sample(parents[::-1].copy(), luck))
    monkeypatch.setattr("peerfront.experiments.planning_world._MAX_REMEMBERED", 100)
    assert np.array_equal(remembered.sample(parents, luck), truth)  # too many: forgotten, and drawn again


def test_holding_out_keeps_recruiters_together() -> None:
    pairs = pairs_of("icpsr22140", 300)
    training, judged = pairs.split(0.3, 0)
    kinds = [set(map(tuple, part.parents.tolist())) for part in (training, judged)]
    assert not kinds[0] & kinds[1]
    assert len(training) + len(judged) == 300
    one_kind = Pairs(pairs.schema, pairs.parents[:1], pairs.children[:1])
    assert one_kind.split(0.3, 0) == (one_kind, one_kind)


def test_auto_takes_the_best_held_out_score_and_shows_the_rivals() -> None:
    history = simulate_history(make_world("icpsr22140"), HistorySettings(triples=0, pairs=1500))
    reports: list[tuple[float, str]] = []
    chosen = fit_offspring(
        history, rivals=("inheritance", "softmax"), progress=lambda share, what: reports.append((share, what))
    )
    assert chosen.kind == chosen.rivals["generator"][0]
    assert list(chosen.rivals["log_score"]) == sorted(chosen.rivals["log_score"], reverse=True)
    assert chosen.rivals["below_best"][0] == 0.0
    assert "held-out log score" in str(chosen.reason)
    shares = [share for share, _ in reports]
    assert shares == sorted(shares)
    assert (reports[0][0], str(reports[0][1])) == (0.0, "judging inheritance")
    assert str(reports[-1][1]).startswith("fitting")
    assert fit_offspring(history, "inheritance").kind == "inheritance"
    assert set(QUICK_RIVALS) <= set(GENERATORS)
    with pytest.raises(UnknownName, match="Did you mean 'masked'"):
        fit_offspring(history, "maskd")


def test_a_few_kinds_of_recruiters_are_all_learned() -> None:
    """In a world of four types no type may be held out whole: its recruits would never be seen."""
    world = make_world("bridge")
    history = followed_history(world, HistorySettings(triples=0, pairs=800))
    training, judged = Pairs.of(history).split(0.2, 0)
    assert set(training.parents[:, 0]) == {0, 1, 2, 3}
    assert 0.1 < len(judged) / 800 < 0.3
    parents = np.repeat(np.arange(3, dtype=np.int16)[:, None], 2000, axis=0)
    luck = named_luck(("types",), len(parents))
    for name in ("inheritance", "softmax", "masked"):
        children = fit_generator(name, Pairs.of(history)).sample(parents, luck)[:, 0].reshape(3, 2000)
        shares = np.stack([np.bincount(row, minlength=4) / 2000 for row in children])
        assert np.abs(shares - world.transition[:3]).max() < 0.1, name
    assert fit_offspring(history).rivals["log_score"].max() > -0.5


def test_the_loss_of_categories_is_torch_s_cross_entropy() -> None:
    schema, rng = Schema.of_sizes({"a": 3, "b": 4}), named_generator("cross-entropy")
    logits, weights = rng.standard_normal((9, 7)).astype(np.float32), rng.random((9, 2)).astype(np.float32)
    codes = np.stack([rng.integers(-1, size, 9) for size in (3, 4)], axis=1).astype(np.int16)
    loss, slope = field_loss(schema, logits, codes, weights)
    twin = torch.tensor(logits, requires_grad=True)
    total = torch.zeros(())
    for f, start, end in ((0, 0, 3), (1, 3, 7)):
        known = codes[:, f] >= 0
        each = torch.nn.functional.cross_entropy(
            twin[known, start:end], torch.as_tensor(codes[known, f], dtype=torch.int64), reduction="none"
        )
        total = total + (each * torch.as_tensor(weights[known, f])).sum()
    assert loss == pytest.approx(total.item(), rel=1e-5)
    total.backward()
    np.testing.assert_allclose(slope, twin.grad.numpy(), rtol=1e-4, atol=1e-6)
