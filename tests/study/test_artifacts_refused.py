"""Nothing but an unchanged fit is ever taken for one: missing, truncated, edited and impossible files."""

import hashlib
import json
import shutil
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays

from models.small_fits import SCHEMA, fitted
from peerfront.foundation.errors import DataFileError
from peerfront.foundation.stored import Stored
from peerfront.models.belief.belief import BeliefResponse
from peerfront.study.artifacts import MANIFEST, WEIGHTS, load_fit
from small_artifacts import RULES, a_fit


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    a_fit("all", "masked").save(tmp_path / "fit")
    return tmp_path / "fit"


def test_missing_files_are_named(saved: Path) -> None:
    with pytest.raises(DataFileError, match="There is no fit at"):
        load_fit(saved.parent / "nowhere")
    shutil.copytree(saved, saved.parent / "copy")
    (saved / WEIGHTS).unlink()
    with pytest.raises(DataFileError, match="has no weights.safetensors"):
        load_fit(saved)
    (saved.parent / "copy" / MANIFEST).unlink()
    with pytest.raises(DataFileError, match="has no manifest.json"):
        load_fit(saved.parent / "copy")


@pytest.mark.parametrize("text", ["[]", "3", "null", '"text"', "{}", "[" * 100_000, '{"format": "\\ud800"}', "\x00"])
def test_what_is_not_a_manifest_is_refused(saved: Path, text: str) -> None:
    (saved / MANIFEST).write_text(text)
    with pytest.raises(DataFileError):
        load_fit(saved)


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
        load_fit(folder)


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
    assert load_fit(rewritten(saved)).rules == RULES


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (put("format", value="a zip file"), "not the manifest of a fit"),
        (put("format_version", value=4), "has format 4; this version .* reads up to 3. Install a newer one"),
        (put("format_version", value=2), "made by an earlier version.* Fit the study again"),
        (put("format_version", value=1), "made by an earlier version.* Fit the study again"),
        (put("format_version", value="1"), "format version is '1'"),
        (put("schema", value=[{"name": "a", "categories": ["1", "2"]}]), "expected float64 of shape"),
        (put("schema", value=[]), "at least one field"),
        (put("schema", value="abc"), "expected a list of fields"),
        (put("rules", "budget", value=-3), "budget must be a whole number"),
        (put("rules", "speed", value=3), "the rules are .*speed"),
        (put("more", value=1), "more, or something else"),
        (put("models", "belief", value=None), "expected a table"),
        (put("models", "belief", "most", value="4"), "expected a whole number"),
        (put("models", "belief", "most", value=3), "'levels' is float64 .* expected float64 of shape"),
        (put("models", "belief", "most", value=10**12), "expected float64 of shape"),
        (put("models", "belief", "fields", value=["age"]), "draws of the belief cannot be"),
        (put("models", "belief", "fields", value=[1]), "expected texts"),
        (put("models", "belief", "fields", value="a"), "expected a list"),
        (put("models", "belief", "effective", value="much"), "expected a number"),
        (put("models", "belief", "effective", value=0.12345), "more, or something else"),
        (put("models", "belief", "more", value=1), "more, or something else"),
        (put("models", "offspring_kind", value="oracle"), "generator 'oracle' is not known"),
        (put("models", "offspring_kind", value="softmax"), "cannot be used"),
        (put("models", "offspring", "steps", value="8"), "expected a whole number"),
        (put("models", "offspring", "steps", value=True), "expected a whole number"),
        (put("models", "planner", "discount", value=1.5), "discount must lie above 0"),
        (put("models", "planner", "surrogate", value=None), "expected a table"),
        (put("study_schema", value=None), "'study_schema' is None; expected a text"),
        (put("scores", value=[]), "expected a table"),
        (put("scores", "x", value=float("nan")), "not readable"),
        (put("schema", value=[{"name": "a", "categories": "abc"}]), "expected texts"),
        (put("schema", value=[{"name": 1, "categories": ["1"]}]), "expected texts"),
        (put("schema", value=[{"name": "a", "categories": ["1", "1"]}]), "more than once"),
        (put("schema", value=[{"name": "a", "categories": ["1"]}] * 2), "share a name"),
        (put("schema", value=[{"name": "a"}]), "expected its name and categories"),
        (put("schema", value=[{"name": "a", "categories": [str(n) for n in range(40_000)]}]), "40,000 categories"),
        (put("rules", value=None), "expected a table"),
        (put("rules", "rounds", value=10**30), "rounds of the rules is 1000.*at most 100,000"),
        (put("rules", "people", value=1e308), "people of the rules is 1e.308"),
        (put("rules", "people", value=True), "people of the rules is True"),
        (put("rules", "rounds", value=5), "learned for 4"),
        (put("rules", "budget", value=21), "learned for at most 20"),
        (put("models", value=[]), "cannot be used"),
        (put("models", "planner", "least_per_person", value=4), "gives everybody 4 coupons"),
        (put("models", "planner", "least_per_person", value=-1), "least per person must be"),
        (put("models", "planner", "discount", value=0.0), "discount must lie above 0"),
        (put("models", "planner", "stories", value=2), "more, or something else"),
        (put("models", "planner", "discount", value="1"), "expected a number"),
        (put("models", "planner", "laplace", "sees", value="everything"), "thing that networks see"),
        (put("models", "offspring", "steps", value=-5), "steps must be"),
        (put("models", "offspring_kind", value="../../evil"), "is not known"),
        (put("versions", "python", value=3.11), "expected a text"),
        (put("scores", "messages", value=3), "; expected "),
        (put("scores", "messages", value=[1]), "; expected "),
        (put("scores", "offspring", value=[]), "; expected "),
        (put("scores", "fields", value="sex"), "; expected "),
        (put("scores", "fields", value=[1]), "; expected "),
    ],
)
def test_another_manifest_is_refused_even_with_good_checksums(saved: Path, change, message: str) -> None:
    with pytest.raises(DataFileError, match=message):
        load_fit(rewritten(saved, change))


def fill(name: str, value: float):
    def change(arrays: dict) -> None:
        arrays[name].flat[0] = value

    return change


def as_integers(name: str):
    return lambda arrays: arrays.update({name: arrays[name].astype(np.int32)})


def without_draws(arrays: dict) -> None:
    arrays.update({name: array[:0].copy() for name, array in arrays.items() if name.startswith("belief/")})


def cut(name: str):
    return lambda arrays: arrays.update({name: arrays[name][:-1].copy()})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (fill("planner/surrogate/weights/tables", np.nan), "not finite"),
        (fill("planner/surrogate/weights/tables", 1.0), "not those of a value between 0 and the budget"),
        (fill("planner/laplace/network/weights 0", np.inf), "not finite"),
        (fill("belief/draws/levels", np.nan), "not finite"),
        (lambda arrays: arrays.pop("offspring/deep/biases 0"), "'biases 0' is missing"),
        (lambda arrays: arrays.pop("offspring/tables/known"), "'known' is missing"),
        (lambda arrays: arrays.update(more=np.zeros(3)), "more, or something else"),
        (lambda arrays: arrays.update({"offspring/tables/known": np.zeros((7, 7))}), "expected float32"),
        (lambda arrays: arrays.pop("planner/laplace/network/weights 1"), "expected them to end with 3"),
        (fill("planner/laplace/network/weights 0", 1e30), "numbers beyond 1e.06"),
        (fill("offspring/deep/weights 0", -1e30), "numbers beyond 1e.06"),
        (fill("offspring/tables/unknown", 1e30), "numbers beyond 1e.06"),
        (fill("belief/draws/effects", 1e300), "numbers beyond 1e.12"),
        (fill("belief/draws/limited", 1.5), "draws of the belief cannot be"),
        (fill("belief/draws/limited", -0.5), "draws of the belief cannot be"),
        (fill("belief/draws/spur", -0.1), "draws of the belief cannot be"),
        (fill("belief/draws/spread", -0.1), "draws of the belief cannot be"),
        (as_integers("belief/draws/levels"), "is int32 .* expected float64"),
        (lambda arrays: arrays.pop("belief/draws/drift"), "'drift' is missing"),
        (fill("planner/surrogate/weights/tables", -1.0), "not those of a value"),
        (as_integers("planner/surrogate/weights/tables"), "is int32 .* expected float64"),
        (as_integers("planner/laplace/network/biases 0"), "is int32 .* expected float32"),
        (cut("planner/surrogate/weights/tables"), "learned for 3"),
        (cut("belief/draws/effects"), "expected float64 of shape"),
        (without_draws, "draws of the belief cannot be"),
    ],
)
def test_other_weights_are_refused_even_with_good_checksums(saved: Path, change, message: str) -> None:
    with pytest.raises(DataFileError, match=message):
        load_fit(rewritten(saved, change_arrays=change))


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


@pytest.mark.parametrize(
    ("name", "value"), [("clip", [0.0]), ("clip", ["a", "b"]), ("clip", [-1e300, 1.0]), ("never_known", [2])]
)
def test_impossible_settings_of_a_diffusion_are_refused(name: str, value: list) -> None:
    stored = fitted("diffusion").stored()
    with pytest.raises(DataFileError, match="out of range"):
        type(fitted("diffusion")).restored(Stored({**stored.settings, name: value}, stored.arrays), SCHEMA)


@pytest.mark.parametrize("recruits", [1.5, -0.5, np.nan])
def test_models_are_tried(saved: Path, monkeypatch, recruits: float) -> None:
    """Whatever draws a forger finds: more recruits than coupons, or fewer than none, are no model."""
    monkeypatch.setattr(BeliefResponse, "gains", lambda _, people, most: np.full((len(people), most), recruits))
    with pytest.raises(DataFileError, match="chance that coupons"):
        load_fit(saved)
