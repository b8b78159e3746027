"""The store: what is found is what would be made, and nothing else is ever taken for it."""

import dataclasses
import hashlib
import json
import pickle
import re
import shutil
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays

import peerfront
from models.small_fits import fitted
from peerfront.experiments.comparison import BOUND, Comparison, Task, TaskResult, run_task
from peerfront.experiments.planning_world import CAPACITY, OFFSPRING
from peerfront.experiments.result_folder import form_with_cost, restored_result, stored_result
from peerfront.experiments.store import _CANNOT_CHANGE_RESULTS, Form, Store, _checksum, program
from peerfront.foundation.errors import DataFileError, PeerfrontError
from peerfront.foundation.randomness import named_luck
from peerfront.foundation.stored import Stored
from peerfront.problem import Rules
from small_artifacts import people

PLAIN = Form(lambda value: Stored({"value": value}, {}), lambda stored: stored.settings["value"])


def test_a_result_is_made_once_and_found_again(tmp_path) -> None:
    store = Store(tmp_path / "store")
    made = []

    def make() -> dict[str, int]:
        made.append(1)
        return {"answer": 42}

    asked = {"discount": 0.9, "rules": Rules(budget=20)}
    assert [store.find_or_make("part", asked, make, PLAIN) for _ in range(3)] == [{"answer": 42}] * 3
    assert len(made) == 1


def test_everything_in_the_identity_counts(tmp_path) -> None:
    store = Store(tmp_path)
    asked = {"discount": 0.9, "rules": Rules(budget=20)}
    store.find_or_make("part", asked, lambda: "first", PLAIN)
    others = [("other", asked), ("part", {**asked, "discount": 0.95}), ("part", {**asked, "rules": Rules(budget=21)})]
    for kind, identity in others:
        assert store.find_or_make(kind, identity, lambda: "another", PLAIN) == "another"
    assert store.find_or_make("part", dict(reversed(asked.items())), lambda: "never", PLAIN) == "first"


def test_none_is_a_result_too(tmp_path) -> None:
    store = Store(tmp_path)
    assert store.find_or_make("part", {}, lambda: None, PLAIN) is None
    assert store.find_or_make("part", {}, lambda: "made again", PLAIN) is None


@pytest.mark.parametrize("damage", [b"", b"short", None])
def test_a_damaged_result_is_made_again(tmp_path, damage) -> None:
    store = Store(tmp_path)
    store.find_or_make("part", {}, lambda: "good", PLAIN)
    (file,) = tmp_path.iterdir()
    content = file.read_bytes()
    file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]) if damage is None else damage)
    assert store.find_or_make("part", {}, lambda: "again", PLAIN) == "again"


def test_a_folder_that_cannot_be_used_is_a_clear_error(tmp_path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(DataFileError, match="Choose another folder"):
        Store(tmp_path / "file").find_or_make("part", {}, lambda: 1, PLAIN)


def test_the_program_is_its_source_and_its_libraries() -> None:
    assert {"python", "peerfront", "source", "numpy", "torch"} <= program().keys()


@pytest.mark.parametrize("name", _CANNOT_CHANGE_RESULTS)
def test_what_cannot_change_results_exists(name) -> None:
    place = Path(peerfront.__file__).parent / name
    assert place.is_dir() if name.endswith("/") else place.is_file()


def test_a_change_of_the_program_gives_results_other_names(tmp_path, monkeypatch) -> None:
    copy = tmp_path / "peerfront"
    shutil.copytree(Path(peerfront.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(peerfront, "__file__", str(copy / "__init__.py"))
    before = program.__wrapped__()
    for file, changes in [("cli/main.py", False), ("experiments/results.py", False), ("gfp/greedy.py", True)]:
        with (copy / file).open("a") as source:
            source.write("# another line\n")
        assert (program.__wrapped__() != before) == changes


# Data, not code -----------------------------------------------------------------------------------------------------


def test_nothing_in_the_program_reads_what_could_run_code() -> None:
    """Neither pickles nor evaluated text; messages between processes of one run are not files to share."""
    forbidden = re.compile(
        r"\b(pickle|cloudpickle|dill|shelve|marshal|jsonpickle)\b\.?(loads?|Unpickler|import)?|torch\.load|"
        r"joblib\.(load|Memory)|allow_pickle=True|(?<![\w.])(eval|exec)\(|yaml\.(unsafe_)?load\(|__import__"
    )
    allowed = {"foundation/errors.py": "travels by pickle", "experiments/result_folder.py": "allow_pickle=False"}
    root = Path(peerfront.__file__).parent
    # Policies and worlds of one's own travel to the processes of a run, and back from nowhere.
    travelling = (root / "foundation/own_parts.py").read_text(encoding="utf-8")
    assert [line.strip() for line in travelling.splitlines() if "load" in line and "pickle" in line] == [
        "return pickle.loads(content)"
    ]
    users = [file.name for file in root.rglob("*.py") if "own_parts.from_bytes" in file.read_text(encoding="utf-8")]
    assert users == ["comparison.py"]
    for file in set(root.rglob("*.py")) - {root / "foundation/own_parts.py"}:
        for line in file.read_text(encoding="utf-8").splitlines():
            excuse = allowed.get(file.relative_to(root).as_posix(), "")
            if forbidden.search(line) and not (excuse and excuse in line):
                pytest.fail(f"{file}: {line}")


class Bomb:
    def __reduce__(self) -> tuple:
        return Path.touch, (Path("exploded"),)


def test_a_pickle_in_the_store_is_never_opened(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    store = Store(tmp_path / "store")
    store.find_or_make("part", {}, lambda: "good", PLAIN)
    (file,) = (tmp_path / "store").iterdir()
    body = pickle.dumps(Bomb())
    for content in (body, hashlib.sha256(body).digest() + body):
        for name in (file, file.with_suffix(".pickle")):
            name.write_bytes(content)
        assert store.find_or_make("part", {}, lambda: "made again", PLAIN) == "made again"
        assert not (tmp_path / "exploded").exists()


RULES = Rules(budget=8, people=4, rounds=3, max_per_person=3)


@pytest.mark.parametrize("kind", ["inheritance", "softmax", "masked", "diffusion"])
def test_models_come_back_and_draw_as_before(kind, tmp_path) -> None:
    store, luck = Store(tmp_path), named_luck(("children",), 30)
    store.find_or_make("offspring", {}, lambda: fitted(kind), OFFSPRING)
    back = store.find_or_make("offspring", {}, lambda: pytest.fail("it is kept"), OFFSPRING)
    assert np.array_equal(back.sample(people(30), luck), fitted(kind).sample(people(30), luck))
    for family in ("poisson", "nb", "zinb"):
        store.find_or_make(family, {}, lambda f=family: fitted(f), CAPACITY)
        response = store.find_or_make(family, {}, lambda: pytest.fail("it is kept"), CAPACITY)
        assert np.array_equal(response.gains(people(30), 5), fitted(family).survival(people(30), 5))


def test_what_was_not_fitted_is_not_kept(tmp_path) -> None:
    """The truth of a simulated world is made each time."""
    from peerfront.simulation.catalog import make_world

    world = make_world("bridge")
    store = Store(tmp_path)
    for form, value in (
        (CAPACITY, world.response),
        (OFFSPRING, world.offspring),
    ):
        assert store.find_or_make("x", {}, lambda value=value: value, form) is value
    assert not list(tmp_path.iterdir())


def rewritten(file: Path, change) -> None:
    """Change the settings and arrays of a stored result, and repair its checksum."""
    content = file.read_bytes()
    arrays = {name: array.copy() for name, array in load_arrays(content).items()}
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    settings = json.loads(header["__metadata__"]["settings"])
    change(settings, arrays)
    text = json.dumps(settings)
    file.write_bytes(save_arrays(arrays, metadata={"settings": text, "sha256": _checksum(text, arrays)}))


FORGED = {
    "an unknown kind": lambda settings, _: settings.update(kind="os.system"),
    "schema of a text": lambda settings, _: settings.update(schema="abc"),
    "schema of numbers": lambda settings, _: settings.update(schema=[{"name": 1, "categories": [1, 2]}]),
    "no settings": lambda settings, _: settings.clear(),
    "no array": lambda _, arrays: arrays.clear(),
    "arrays of another shape": lambda _, arrays: arrays.update({name: a[:1] for name, a in arrays.items()}),
    "numbers that are not finite": lambda _, arrays: [array.fill(np.nan) for array in arrays.values()],
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_model_is_made_again(name, tmp_path) -> None:
    model, store = fitted("inheritance"), Store(tmp_path)
    store.find_or_make("model", {}, lambda: model, OFFSPRING)
    (file,) = tmp_path.iterdir()
    rewritten(file, lambda *_: None)
    assert store.find_or_make("model", {}, lambda: pytest.fail("it is kept"), OFFSPRING) is not model
    rewritten(file, FORGED[name])
    assert store.find_or_make("model", {}, lambda: model, OFFSPRING) is model


@cache
def small_result() -> tuple[Comparison, TaskResult]:
    comparison = Comparison(("bridge",), ("constant",), (0,), (0.9, 1.0), 5, RULES)
    return comparison, run_task(comparison, Task("bridge", 0, "constant", (0.9, 1.0)))


def test_results_come_back() -> None:
    comparison, result = small_result()
    result = dataclasses.replace(result, learning=(np.array([1.0, np.nan]),))
    back = restored_result(stored_result(result), result.task, comparison.episodes)
    assert np.array_equal(back.trajectories[0].recruits, result.trajectories[0].recruits)
    assert np.array_equal(back.learning[0], result.learning[0], equal_nan=True)
    bound = TaskResult(Task("bridge", 0, BOUND, (0.9,)), ("how",), (), (np.arange(5.0),))
    assert np.array_equal(restored_result(stored_result(bound), bound.task, 5).bounds[0], np.arange(5.0))


def test_results_come_back_with_what_they_cost(tmp_path) -> None:
    comparison, result = small_result()
    store = Store(tmp_path)
    for task, made in ((result.task, (result, 1.5, 200)), (None, (None, 2.0, 0))):
        form = form_with_cost(task, comparison.episodes)
        store.find_or_make("piece", {"task": task}, lambda made=made: made, form)
        back = store.find_or_make("piece", {"task": task}, lambda: pytest.fail("it is kept"), form)
        assert back[1:] == made[1:]
        assert (back[0] is None) == (task is None)


@pytest.mark.parametrize(
    "change",
    [
        lambda arrays: arrays.update(recruits_0=arrays["recruits_0"] - 10),
        lambda arrays: arrays.update(recruits_0=arrays["recruits_0"].astype(float)),
        lambda arrays: arrays.update(spend_0=arrays["spend_0"][:, :-1]),
        lambda arrays: arrays.update(spend_0=arrays["spend_0"][:-1]),
        lambda arrays: arrays.update(rounds_0=arrays["rounds_0"] + 1),
        lambda arrays: arrays.update(ending_0=arrays["ending_0"] + 10),
        lambda arrays: arrays.pop("frontier_0"),
        lambda arrays: arrays.update(learning_0=np.zeros((2, 2))),
    ],
)
def test_impossible_results_are_refused(change) -> None:
    comparison, result = small_result()
    stored = stored_result(result)
    arrays = dict(stored.arrays)
    change(arrays)
    with pytest.raises((PeerfrontError, ValueError)):
        restored_result(Stored(stored.settings, arrays), result.task, comparison.episodes)
    for prepared in ([], [1], ["a", "b", "c"], "constant", None):
        with pytest.raises((PeerfrontError, ValueError)):
            restored_result(Stored({"prepared": prepared}, stored.arrays), result.task, comparison.episodes)
