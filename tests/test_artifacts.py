"""A saved fit is the fit, bit for bit, and nothing else is ever taken for one."""

import dataclasses
import hashlib
import json
import shutil
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays

from models.small_fits import FITS, SCHEMA, a_history, codes, fitted
from peerfront.artifacts import MANIFEST, WEIGHTS, Fit, fingerprint, load
from peerfront.covariates import Schema
from peerfront.errors import DataFileError, OutputExists, SettingError
from peerfront.models.capacity import NETWORK, CapacitySettings, fit_capacity
from peerfront.models.count_families import FAMILIES
from peerfront.models.offspring.choice import ChosenOffspring, fit_offspring
from peerfront.models.offspring.diffusion import DiffusionSettings, fit_diffusion
from peerfront.models.offspring.pairs import Pairs
from peerfront.planning.laplace import LaplaceNetwork
from peerfront.planning.networks import PersonInputs, frozen, perceptron
from peerfront.planning.planner import Planner
from peerfront.planning.surrogate import Surrogate, SurrogateSettings
from peerfront.problem import BranchingWorld, Frontier, Rules, State, rollout
from peerfront.randomness import Luck, named_luck
from peerfront.stored import Stored

RULES = Rules(budget=15, people=4, rounds=4, max_per_person=3)


@cache
def other_model(name: str):
    """Models that the small fits do not have: a rate network, and the paper's diffusion with all its steps."""
    if name == "network":
        return fit_capacity(a_history(), CapacitySettings("zinb", (NETWORK,), folds=2, epochs=3))
    paper = dataclasses.replace(DiffusionSettings.paper(), hidden=(16,), epochs=2, steps=10)
    return fit_diffusion(Pairs.of(a_history()), paper)


def a_fit(family: str = "poisson", generator: str = "inheritance", *, deadline: bool = True, sees: bool = True) -> Fit:
    capacity = other_model(family) if family == "network" else fitted(family)
    offspring = other_model(generator) if generator == "diffusion-paper" else fitted(generator)
    inputs = PersonInputs(SCHEMA, capacity if sees else None)
    surrogate = Surrogate(inputs, 20, SurrogateSettings(latent=3, hidden=8, deadline=deadline), 1, RULES.rounds)
    laplace = LaplaceNetwork(inputs, frozen(perceptron([inputs.width, 8, 3], 2)))
    return Fit(
        SCHEMA,
        capacity,
        offspring,
        Planner(capacity, surrogate.freeze(), laplace, 0.95, name="gfp of a test"),
        RULES,
        study_schema='[columns]\nage = "Alter, in Jahren: ä"\n',
        data_fingerprint=fingerprint(a_history()),
        settings={"seed": 3, "capacity": {"family": family}},
        scores={"capacity": capacity.scores(), "value": {"residual": 0.25, "history": (("start", 1.5),)}},
    )


def people(count: int, schema: Schema = SCHEMA) -> np.ndarray:
    return (named_luck(("people",), count).uniforms("x", len(schema.fields)) * schema.sizes).astype(np.int16)


@dataclasses.dataclass(frozen=True)
class FirstRecruits:
    def sample(self, luck: Luck) -> np.ndarray:
        return (luck.uniforms("first", 2) * SCHEMA.sizes).astype(np.int16)


@pytest.mark.parametrize(
    ("family", "generator", "deadline", "sees"),
    [
        ("poisson", "inheritance", True, True),
        ("zip", "softmax", False, True),
        ("nb", "masked", True, False),
        ("zinb", "diffusion", False, False),
        ("network", "diffusion-paper", True, True),
    ],
)
def test_a_loaded_fit_is_the_saved_one(tmp_path: Path, family: str, generator: str, deadline: bool, sees: bool) -> None:
    fit = a_fit(family, generator, deadline=deadline, sees=sees)
    fit.save(tmp_path / "fit")
    again = load(tmp_path / "fit")
    for name, content in again.files().items():
        assert content == (tmp_path / "fit" / name).read_bytes()  # the same fit, the same bytes
    crowd = np.concatenate([people(300), codes((-1, 2), (0, -1), (-1, -1))])
    luck = named_luck(("luck",), len(crowd))
    np.testing.assert_array_equal(fit.offspring.sample(crowd, luck), again.offspring.sample(crowd, luck))
    np.testing.assert_array_equal(fit.capacity.survival(crowd, 9), again.capacity.survival(crowd, 9))
    np.testing.assert_array_equal(fit.capacity.sample(crowd, luck), again.capacity.sample(crowd, luck))
    worlds = (
        BranchingWorld("learned", SCHEMA, each.capacity, each.offspring, FirstRecruits()) for each in (fit, again)
    )
    one, other = (
        rollout(world, each.planner, RULES, named_luck(("episodes",), 40))
        for world, each in zip(worlds, (fit, again), strict=True)
    )
    for field in dataclasses.fields(one):
        np.testing.assert_array_equal(getattr(one, field.name), getattr(other, field.name))
    assert (again.schema, again.rules, again.discount) == (fit.schema, fit.rules, 0.95)
    assert (again.study_schema, again.data_fingerprint) == (fit.study_schema, fit.data_fingerprint)
    assert again.settings == fit.settings
    assert again.scores["value"]["history"] == [["start", 1.5]]
    assert again.planner.name == "gfp of a test"
    assert again.planner.surrogate.rounds == (4 if deadline else None)
    assert again.versions["peerfront"]


@given(
    st.sampled_from(FAMILIES),
    st.sampled_from(sorted(FITS)),
    st.lists(st.tuples(st.integers(-1, 2), st.integers(-1, 3)), min_size=1, max_size=6),
    st.integers(1, 15),
    st.integers(0, 3),
)
@settings(max_examples=12)
def test_plans_are_the_same_to_the_last_bit(tmp_path_factory, family, generator, rows, budget, number) -> None:
    folder = tmp_path_factory.mktemp("fits") / "fit"
    fit = a_fit(family, generator)
    fit.save(folder)
    again = load(folder)
    state = State(budget, Frontier.of(codes(*rows)), number, RULES)
    one, other = (each.planner.plan(state) for each in (fit, again))
    for name in ("person", "now", "later", "values"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    np.testing.assert_array_equal(one.allocation.vouchers, other.allocation.vouchers)
    luck = named_luck(("children",), len(rows))
    np.testing.assert_array_equal(fit.offspring.sample(codes(*rows), luck), again.offspring.sample(codes(*rows), luck))


def test_the_manifest_is_readable_sorted_and_knows_nobody(tmp_path: Path) -> None:
    fit = a_fit()
    fit.save(tmp_path / "fit")
    text = (tmp_path / "fit" / MANIFEST).read_text()
    manifest = json.loads(text)
    assert text == json.dumps(manifest, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    assert manifest["format_version"] == 1
    assert manifest["schema"][0] == {"name": "a", "categories": ["1", "2", "3"]}
    assert manifest["models"]["planner"]["discount"] == 0.95
    assert manifest["models"]["capacity"]["size"] is None  # a Poisson's is infinite, which JSON cannot say
    assert manifest["rules"]["max_per_person"] == 3
    assert "Alter, in Jahren: ä" in text
    arrays = load_arrays((tmp_path / "fit" / WEIGHTS).read_bytes())
    rows = len(a_history().vouchers)
    assert all(rows not in array.shape for array in arrays.values())  # nothing has one entry per participant
    assert "held_out" not in str(sorted(arrays))
    fit.save(tmp_path / "other")
    assert (tmp_path / "other" / MANIFEST).read_text() == text


def test_a_fingerprint_is_that_of_the_data() -> None:
    history = a_history()
    assert fingerprint(history) == fingerprint(a_history())
    changed = dataclasses.replace(history, recruits=np.minimum(history.recruits + 1, history.vouchers))
    assert fingerprint(changed) != fingerprint(history)
    renamed = dataclasses.replace(history, schema=Schema.of_sizes({"a": 3, "c": 4}))
    assert fingerprint(renamed) != fingerprint(history)


def test_scores_of_the_models_can_be_saved() -> None:
    capacity = fit_capacity(a_history(), CapacitySettings("poisson", folds=1, epochs=1))
    assert capacity.scores()["tried"][0]["held_out"] is None  # nothing was held out
    chosen = fit_offspring(a_history(), rivals=("inheritance",))
    lone = ChosenOffspring("inheritance", chosen.model, pd.DataFrame({"generator": ["x"], "log_score": [np.nan]}), "so")
    assert lone.scores()["rivals"] == [{"generator": "x", "log_score": None}]
    scores = {"capacity": capacity.scores(), "offspring": chosen.scores(), "lone": lone.scores()}
    manifest = json.loads(dataclasses.replace(a_fit(), scores=scores).files()[MANIFEST])
    assert manifest["scores"]["offspring"]["rivals"][0]["generator"] == "inheritance"


# Writing ------------------------------------------------------------------------------------------------------------


def test_nothing_is_replaced_without_being_asked(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "fit"
    first, second = a_fit(), dataclasses.replace(a_fit(), study_schema="another")
    first.save(folder)
    with pytest.raises(OutputExists, match="holds a fit already"):
        second.save(folder)
    assert load(folder).study_schema == first.study_schema
    second.save(folder, overwrite=True)
    assert load(folder).study_schema == "another"
    assert [file.name for file in folder.parent.iterdir()] == ["fit"]  # nothing temporary is left
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(OutputExists, match="other things .notes.txt."):
        first.save(folder, overwrite=True)
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputExists, match="is a file"):
        first.save(tmp_path / "file", overwrite=True)
    (tmp_path / "empty").mkdir()
    first.save(tmp_path / "empty")
    assert load(tmp_path / "empty").rules == RULES


def test_a_failed_write_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, folder = a_fit(), tmp_path / "fit"
    first.save(folder)
    second = dataclasses.replace(first, study_schema="another")
    rename = Path.rename

    def fails(self: Path, target: Path) -> Path:
        if self.name.endswith(".tmp"):
            raise OSError("no space")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fails)
    with pytest.raises(DataFileError, match="no space"):
        second.save(folder, overwrite=True)
    with pytest.raises(DataFileError, match="no space"):
        second.save(tmp_path / "new")
    monkeypatch.undo()
    assert load(folder).study_schema == first.study_schema
    assert [file.name for file in tmp_path.iterdir()] == ["fit"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scores": {"x": float("nan")}}, "finite numbers"),
        ({"settings": {"x": object()}}, "texts, finite numbers"),
        ({"offspring": FirstRecruits()}, "A FirstRecruits cannot be saved"),
        ({"capacity": fitted("zip")}, "planner must use that one"),
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
    weights = fit.planner.surrogate.weights.copy()
    weights[1, 5, 0] = np.nan
    surrogate = dataclasses.replace(fit.planner.surrogate, weights=weights)
    with pytest.raises(SettingError, match="planner/surrogate/weights/tables has numbers that are not finite"):
        dataclasses.replace(fit, planner=dataclasses.replace(fit.planner, surrogate=surrogate)).save(tmp_path / "fit")
    looks = PersonInputs(SCHEMA, fitted("zip"))
    odd = dataclasses.replace(fit.planner.laplace, inputs=looks)
    with pytest.raises(SettingError, match="another capacity model"):
        dataclasses.replace(fit, planner=dataclasses.replace(fit.planner, laplace=odd)).files()


# Reading ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    a_fit("nb", "masked").save(tmp_path / "fit")
    return tmp_path / "fit"


def test_missing_files_are_named(saved: Path) -> None:
    with pytest.raises(DataFileError, match="There is no fit at"):
        load(saved.parent / "nowhere")
    shutil.copytree(saved, saved.parent / "copy")
    (saved / WEIGHTS).unlink()
    with pytest.raises(DataFileError, match="has no weights.safetensors"):
        load(saved)
    (saved.parent / "copy" / MANIFEST).unlink()
    with pytest.raises(DataFileError, match="has no manifest.json"):
        load(saved.parent / "copy")


@pytest.mark.parametrize("text", ["[]", "3", "null", '"text"', "{}", "[" * 100_000, '{"format": "\\ud800"}', "\x00"])
def test_what_is_not_a_manifest_is_refused(saved: Path, text: str) -> None:
    (saved / MANIFEST).write_text(text)
    with pytest.raises(DataFileError):
        load(saved)


@pytest.mark.parametrize("name", [MANIFEST, WEIGHTS])
@given(data=st.data())
@settings(max_examples=25)
def test_a_truncated_or_edited_file_is_refused(tmp_path_factory, name: str, data: st.DataObject) -> None:
    folder = tmp_path_factory.mktemp("edited") / "fit"
    for file, content in small_files().items():
        folder.mkdir(exist_ok=True)
        if file == name:
            place = data.draw(st.integers(0, len(content) - 1))
            flipped = bytes([content[place] ^ data.draw(st.integers(1, 255))])
            content = data.draw(st.sampled_from([content[:place], content[:place] + flipped + content[place + 1 :]]))
            if name == MANIFEST and _same_json(content, small_files()[name]):
                content = b""
        (folder / file).write_bytes(content)
    with pytest.raises(DataFileError):
        load(folder)


def _same_json(content: bytes, other: bytes) -> bool:
    """Another blank between two numbers changes nothing that is read."""
    try:
        return json.loads(content) == json.loads(other)
    except ValueError:
        return False


@cache
def small_files() -> dict[str, bytes]:
    return a_fit().files()


def rewritten(folder: Path, change_manifest=lambda manifest: None, change_arrays=lambda arrays: None) -> Path:
    """Changed by somebody who also repaired every checksum."""
    manifest = json.loads((folder / MANIFEST).read_text())
    arrays = {name: array.copy() for name, array in load_arrays((folder / WEIGHTS).read_bytes()).items()}
    change_manifest(manifest)
    change_arrays(arrays)
    weights = save_arrays(arrays)
    manifest["files"] = {WEIGHTS: {"sha256": hashlib.sha256(weights).hexdigest(), "bytes": len(weights)}}
    manifest.pop("sha256", None)
    text = json.dumps(manifest, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    manifest["sha256"] = hashlib.sha256(text.encode()).hexdigest()
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=2, sort_keys=True, ensure_ascii=False) + "\n")
    (folder / WEIGHTS).write_bytes(weights)
    return folder


def put(*path: str, value: object):
    """A change of one entry of the manifest."""

    def change(manifest: dict) -> None:
        for name in path[:-1]:
            manifest = manifest[name]
        manifest[path[-1]] = value

    return change


def test_rewriting_alone_changes_nothing(saved: Path) -> None:
    assert load(rewritten(saved)).rules == RULES


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (put("format", value="a zip file"), "not the manifest of a fit"),
        (put("format_version", value=2), "has format 2; this version .* reads up to 1. Install a newer one"),
        (put("format_version", value="1"), "format version is '1'"),
        (put("schema", value=[{"name": "a", "categories": ["1", "2"]}]), "expected float64 of shape"),
        (put("schema", value=[]), "at least one field"),
        (put("schema", value="abc"), "do not fit together"),
        (put("rules", "budget", value=-3), "budget must be a whole number"),
        (put("rules", "speed", value=3), "do not fit together"),
        (put("more", value=1), "more, or something else"),
        (put("models", "capacity", "family", value="normal"), "family"),
        (put("models", "capacity", "size", value=-1.0), "impossible for the family"),
        (put("models", "capacity", "size", value=None), "impossible for the family"),
        (put("models", "capacity", "more", value=1), "more, or something else"),
        (put("models", "capacity", "rates", "hidden", value=[4]), "shape"),
        (put("models", "capacity", "rates", "hidden", value=["4"]), "expected whole numbers"),
        (put("models", "offspring_kind", value="oracle"), "generator 'oracle' is not known"),
        (put("models", "offspring_kind", value="softmax"), "cannot be used"),
        (put("models", "offspring", "steps", value="8"), "expected a whole number"),
        (put("models", "offspring", "steps", value=True), "expected a whole number"),
        (put("models", "planner", "discount", value=1.5), "discount must lie above 0"),
        (put("models", "planner", "surrogate", value=None), "expected a table"),
        (put("study_schema", value=None), "'study_schema' is None; expected a text"),
        (put("scores", value=[]), "expected a table"),
        (put("scores", "x", value=float("nan")), "not readable"),
    ],
)
def test_another_manifest_is_refused_even_with_good_checksums(saved: Path, change, message: str) -> None:
    with pytest.raises(DataFileError, match=message):
        load(rewritten(saved, change))


def fill(name: str, value: float):
    def change(arrays: dict) -> None:
        arrays[name].flat[0] = value

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (fill("planner/surrogate/weights/tables", np.nan), "not finite"),
        (fill("planner/surrogate/weights/tables", 1.0), "not those of a value between 0 and the budget"),
        (fill("planner/laplace/network/weights 0", np.inf), "not finite"),
        (fill("capacity/rates/log scale", np.nan), "not finite"),
        (lambda arrays: arrays.pop("offspring/deep/biases 0"), "'biases 0' is missing"),
        (lambda arrays: arrays.pop("offspring/tables/known"), "'known' is missing"),
        (lambda arrays: arrays.update(more=np.zeros(3)), "more, or something else"),
        (lambda arrays: arrays.update({"offspring/tables/known": np.zeros((7, 7))}), "expected float32"),
        (lambda arrays: arrays.pop("planner/laplace/network/weights 1"), "expected them to end with 3"),
    ],
)
def test_other_weights_are_refused_even_with_good_checksums(saved: Path, change, message: str) -> None:
    with pytest.raises(DataFileError, match=message):
        load(rewritten(saved, change_arrays=change))


@pytest.mark.parametrize(
    ("kind", "name", "array", "message"),
    [
        ("inheritance", "field 0", np.full((4, 3), 0.5), "not made of chances"),
        ("inheritance", "field 0", np.full((3, 3), 1 / 3), r"shape \(4, 3\)"),
        ("diffusion", "schedule/betas", np.full(100, 1.5), "out of range"),
    ],
)
def test_impossible_generators_are_refused(kind: str, name: str, array: np.ndarray, message: str) -> None:
    stored = fitted(kind).stored()
    changed = Stored(stored.settings, {**stored.arrays, name: array})
    type(fitted(kind)).restored(stored, SCHEMA)
    with pytest.raises(DataFileError, match=message):
        type(fitted(kind)).restored(changed, SCHEMA)


@pytest.mark.parametrize(("name", "value"), [("clip", [0.0]), ("clip", ["a", "b"]), ("never_known", [2])])
def test_impossible_settings_of_a_diffusion_are_refused(name: str, value: list) -> None:
    stored = fitted("diffusion").stored()
    with pytest.raises(DataFileError, match="out of range"):
        type(fitted("diffusion")).restored(Stored({**stored.settings, name: value}, stored.arrays), SCHEMA)
