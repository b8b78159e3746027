"""A saved fit is the fit, bit for bit; what cannot be saved is refused."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load as load_arrays

from models.small_fits import FITS, SCHEMA, a_history, codes, fitted
from peerfront.foundation.covariates import Schema
from peerfront.foundation.errors import DataFileError, OutputExists, SettingError
from peerfront.foundation.randomness import Luck, named_luck
from peerfront.gfp.story import Story
from peerfront.gfp.surrogate import FrozenSurrogate, LaplaceNetwork, PersonInputs, learned_networks
from peerfront.models.offspring.generator_choice import OffspringChoice, fit_offspring
from peerfront.problem import Frontier, Rules, State, rollout
from peerfront.study.artifacts import MANIFEST, WEIGHTS, Fit, fingerprint, load_fit, planned_stories
from problem.given_responses import GivenResponse
from small_artifacts import RULES, a_belief, a_fit, people


@dataclasses.dataclass(frozen=True)
class FirstRecruits:
    def sample(self, luck: Luck) -> np.ndarray:
        return (luck.uniforms("first", 2) * SCHEMA.sizes).astype(np.int16)


@pytest.mark.parametrize(
    ("part", "generator", "deadline", "sees"),
    [
        ("all", "inheritance", True, True),
        ("capacity", "softmax", False, True),
        ("per_coupon", "masked", True, False),
        ("all", "diffusion", False, False),
        ("all", "diffusion-paper", True, True),
    ],
)
def test_a_loaded_fit_is_the_saved_one(tmp_path: Path, part: str, generator: str, deadline: bool, sees: bool) -> None:
    fit = a_fit(part, generator, deadline=deadline, sees=sees)
    fit.save(tmp_path / "fit")
    again = load_fit(tmp_path / "fit")
    for name, content in again.files().items():
        assert content == (tmp_path / "fit" / name).read_bytes()  # the same fit, the same bytes
    crowd = np.concatenate([people(300), codes((-1, 2), (0, -1), (-1, -1))])
    luck = named_luck(("luck",), len(crowd))
    np.testing.assert_array_equal(fit.offspring.sample(crowd, luck), again.offspring.sample(crowd, luck))
    assert again.belief.weights == fit.belief.weights
    assert again.belief.fields == fit.belief.fields
    saved, loaded = (each.belief.response for each in (fit, again))
    np.testing.assert_array_equal(saved.gains(crowd, 9), loaded.gains(crowd, 9))
    np.testing.assert_array_equal(saved.sample(crowd, 9, luck), loaded.sample(crowd, 9, luck))
    one, other = (
        rollout(each.world(Frontier.of(crowd[:4])), each.planner, RULES, named_luck(("episodes",), 40))
        for each in (fit, again)
    )
    for field in dataclasses.fields(one):
        np.testing.assert_array_equal(getattr(one, field.name), getattr(other, field.name))
    assert (again.schema, again.rules, again.discount) == (fit.schema, fit.rules, 0.95)
    assert (again.study_schema, again.data_fingerprint) == (fit.study_schema, fit.data_fingerprint)
    assert again.settings == fit.settings
    assert again.scores["value"]["history"] == [["start", 1.5]]
    assert again.planner.name == "gfp of a test"
    assert again.planner.rounds == (4 if deadline else None)
    assert again.versions["peerfront"]


def test_what_the_usual_number_brought_lately_is_kept(tmp_path: Path) -> None:
    plain, lately = a_fit("all"), a_belief("capacity")
    fit = dataclasses.replace(plain, lately=lately)
    fit.save(tmp_path / "fit")
    again = load_fit(tmp_path / "fit")
    assert again.lately is not None
    assert again.lately.same_draws(lately)
    assert plain.fingerprint != again.fingerprint == fit.fingerprint
    assert again.of_usual().belief.same_draws(lately)
    assert set(again.of_usual().responses) == {"capacity"} < set(again.responses)
    assert plain.of_usual() is plain


@given(
    st.sampled_from(["all", "capacity", "per_coupon"]),
    st.sampled_from(sorted(FITS)),
    st.lists(st.tuples(st.integers(-1, 2), st.integers(-1, 3)), min_size=1, max_size=6),
    st.integers(1, 15),
    st.integers(0, 3),
)
@settings(max_examples=12)
def test_plans_are_the_same_to_the_last_bit(tmp_path_factory, part, generator, rows, budget, number) -> None:
    folder = tmp_path_factory.mktemp("fits") / "fit"
    fit = a_fit(part, generator)
    fit.save(folder)
    again = load_fit(folder)
    state = State(budget, Frontier.of(codes(*rows)), number, RULES)
    one, other = (each.planner.plan(state) for each in (fit, again))
    for name in ("person", "now", "later", "values"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    np.testing.assert_array_equal(one.allocation.coupons, other.allocation.coupons)
    luck = named_luck(("children",), len(rows))
    np.testing.assert_array_equal(fit.offspring.sample(codes(*rows), luck), again.offspring.sample(codes(*rows), luck))


def test_the_manifest_is_readable_sorted_and_knows_nobody(tmp_path: Path) -> None:
    fit = a_fit()
    fit.save(tmp_path / "fit")
    text = (tmp_path / "fit" / MANIFEST).read_text()
    manifest = json.loads(text)
    assert text == json.dumps(manifest, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    assert manifest["format_version"] == 3
    assert manifest["schema"][0] == {"name": "a", "categories": ["1", "2", "3"]}
    assert manifest["models"]["planner"]["discount"] == 0.95
    assert manifest["models"]["belief"]["most"] == 4
    assert manifest["rules"]["max_per_person"] == 3
    assert "Alter, in Jahren: ä" in text
    arrays = load_arrays((tmp_path / "fit" / WEIGHTS).read_bytes())
    rows, draws = len(a_history().coupons), len(fit.belief)
    assert draws != rows
    assert all(rows not in array.shape for array in arrays.values())  # nothing has one entry per participant
    for name in ("limited", "spur", "levels", "effects", "drift", "spread"):
        kept = arrays[f"belief/draws/{name}"]
        assert len(kept) == draws
        assert np.array_equal(kept, np.round(kept, 3))  # more decimals could reveal single people
    fit.save(tmp_path / "other")
    assert (tmp_path / "other" / MANIFEST).read_text() == text


def test_a_fingerprint_is_that_of_the_data() -> None:
    history = a_history()
    assert fingerprint(history) == fingerprint(a_history())
    changed = dataclasses.replace(history, recruits=np.minimum(history.recruits + 1, history.coupons))
    assert fingerprint(changed) != fingerprint(history)
    renamed = dataclasses.replace(history, schema=Schema.of_sizes({"a": 3, "c": 4}))
    assert fingerprint(renamed) != fingerprint(history)


def test_scores_of_the_models_can_be_saved() -> None:
    chosen = fit_offspring(a_history(), rivals=("inheritance",))
    lone = OffspringChoice("inheritance", chosen.model, pd.DataFrame({"generator": ["x"], "log_score": [np.nan]}), "so")
    assert lone.scores()["rivals"] == [{"generator": "x", "log_score": None}]
    scores = {"offspring": chosen.scores(), "lone": lone.scores()}
    manifest = json.loads(dataclasses.replace(a_fit(), scores=scores).files()[MANIFEST])
    assert manifest["scores"]["offspring"]["rivals"][0]["generator"] == "inheritance"


# Writing ------------------------------------------------------------------------------------------------------------


def test_nothing_is_replaced_without_being_asked(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "fit"
    first, second = a_fit(), dataclasses.replace(a_fit(), study_schema="another")
    first.save(folder)
    with pytest.raises(OutputExists, match="holds a fit already"):
        second.save(folder)
    assert load_fit(folder).study_schema == first.study_schema
    second.save(folder, overwrite=True)
    assert load_fit(folder).study_schema == "another"
    assert [file.name for file in folder.parent.iterdir()] == ["fit"]  # nothing temporary is left
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(OutputExists, match="other things .notes.txt."):
        first.save(folder, overwrite=True)
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputExists, match="is a file"):
        first.save(tmp_path / "file", overwrite=True)
    (tmp_path / "empty").mkdir()
    first.save(tmp_path / "empty")
    assert load_fit(tmp_path / "empty").rules == RULES


def test_a_failed_write_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, folder = a_fit(), tmp_path / "fit"
    first.save(folder)
    second = dataclasses.replace(first, study_schema="another")
    rename = Path.replace

    def fails(self: Path, target: Path) -> Path:
        if self.name.endswith(".tmp"):
            raise OSError("no space")
        return rename(self, target)

    monkeypatch.setattr(Path, "replace", fails)
    with pytest.raises(DataFileError, match="no space"):
        second.save(folder, overwrite=True)
    with pytest.raises(DataFileError, match="no space"):
        second.save(tmp_path / "new")
    monkeypatch.undo()
    assert load_fit(folder).study_schema == first.study_schema
    assert [file.name for file in tmp_path.iterdir()] == ["fit"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scores": {"x": float("nan")}}, "finite numbers"),
        ({"settings": {"x": object()}}, "texts, finite numbers"),
        ({"offspring": FirstRecruits()}, "A FirstRecruits cannot be saved"),
        ({"schema": Schema.of_sizes({"a": 3, "z": 4})}, "the same schema"),
        ({"rules": Rules(budget=21)}, "learned for at most 20"),
    ],
)
def test_what_cannot_be_saved_is_refused(tmp_path: Path, change: dict, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        dataclasses.replace(a_fit(), **change).save(tmp_path / "fit")
    assert not (tmp_path / "fit").exists()


def test_a_broken_model_is_not_saved(tmp_path: Path) -> None:
    fit = a_fit()
    surrogate, laplace = learned_networks(fit.planner.stories[0])

    def with_networks(surrogate: FrozenSurrogate, laplace: LaplaceNetwork) -> Fit:
        stories = planned_stories(fit.belief, surrogate, laplace)
        return dataclasses.replace(fit, planner=dataclasses.replace(fit.planner, stories=stories))

    assert with_networks(surrogate, laplace).files() == fit.files()
    weights = surrogate.weights.copy()
    weights[1, 5, 0] = np.nan
    broken = dataclasses.replace(surrogate, weights=weights)
    with pytest.raises(SettingError, match="planner/surrogate/weights/tables has numbers that are not finite"):
        with_networks(broken, laplace).save(tmp_path / "fit")
    odd = dataclasses.replace(laplace, inputs=PersonInputs(SCHEMA, fitted("zip")))
    with pytest.raises(SettingError, match="parts of its belief"):
        with_networks(surrogate, odd).files()


def test_a_planner_of_another_belief_is_not_saved() -> None:
    """Only the belief is kept: whatever else the planner knows would be lost."""
    fit, stories = a_fit(), a_fit().planner.stories
    assert len(stories) > 1

    def refused(*changed: Story) -> None:
        other = dataclasses.replace(fit, planner=dataclasses.replace(fit.planner, stories=changed))
        with pytest.raises(SettingError, match="parts of its belief"):
            other.files()

    refused(dataclasses.replace(stories[0], weight=1.0))  # fewer parts
    even = [dataclasses.replace(story, weight=1 / len(stories)) for story in stories]
    refused(*even)
    refused(dataclasses.replace(stories[0], response=GivenResponse(np.full((3, 2), 0.5))), *stories[1:])
    refused(dataclasses.replace(stories[0], response=dataclasses.replace(stories[0].response, zeal=0.5)), *stories[1:])
    own = dataclasses.replace(stories[0].surrogate, weights=stories[0].surrogate.weights.copy())
    refused(dataclasses.replace(stories[0], surrogate=own), *stories[1:])  # a value of its own
    with pytest.raises(SettingError, match="parts of its belief"):
        dataclasses.replace(fit, belief=a_belief("capacity")).files()
