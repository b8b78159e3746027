"""The store: what is found is what would be made, and nothing else is ever taken for it."""

import shutil
from pathlib import Path

import pytest

import peerfront
from peerfront.experiments.store import _CANNOT_CHANGE_RESULTS, NO_STORE, Store, StoreSection, program
from peerfront.foundation.errors import DataFileError
from peerfront.problem import Rules


def test_a_result_is_made_once_and_found_again(tmp_path) -> None:
    store = Store(tmp_path / "store")
    made = []

    def make() -> dict[str, int]:
        made.append(1)
        return {"answer": 42}

    asked = {"discount": 0.9, "rules": Rules(budget=20)}
    assert not store.has("part", asked)
    assert [store.find_or_make("part", asked, make) for _ in range(3)] == [{"answer": 42}] * 3
    assert len(made) == 1
    assert store.has("part", asked)


def test_everything_in_the_identity_counts(tmp_path) -> None:
    store = Store(tmp_path)
    asked = {"discount": 0.9, "rules": Rules(budget=20)}
    store.find_or_make("part", asked, lambda: "first")
    others = [("other", asked), ("part", {**asked, "discount": 0.95}), ("part", {**asked, "rules": Rules(budget=21)})]
    for kind, identity in others:
        assert store.find_or_make(kind, identity, lambda: "another") == "another"
    assert store.find_or_make("part", dict(reversed(asked.items())), lambda: "never") == "first"


def test_none_is_a_result_too(tmp_path) -> None:
    store = Store(tmp_path)
    assert store.find_or_make("part", {}, lambda: None) is None
    assert store.find_or_make("part", {}, lambda: "made again") is None


@pytest.mark.parametrize("damage", [b"", b"short", None])
def test_a_damaged_result_is_made_again(tmp_path, damage) -> None:
    store = Store(tmp_path)
    store.find_or_make("part", {}, lambda: "good")
    (file,) = tmp_path.iterdir()
    content = file.read_bytes()
    file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]) if damage is None else damage)
    assert not store.has("part", {})
    assert store.find_or_make("part", {}, lambda: "again") == "again"


def test_without_a_folder_nothing_is_kept() -> None:
    assert [NO_STORE.find_or_make("part", {}, lambda n=n: n) for n in range(2)] == [0, 1]
    assert not NO_STORE.has("part", {})


def test_a_section_keeps_parts_of_one_thing_apart_from_those_of_another(tmp_path) -> None:
    one, other = (StoreSection(Store(tmp_path), name) for name in ("one", "other"))
    assert one.find_or_make("part", lambda: 1) == 1
    assert other.find_or_make("part", lambda: 2) == 2
    assert one.find_or_make("part", lambda: 3) == 1


def test_a_folder_that_cannot_be_used_is_a_clear_error(tmp_path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(DataFileError, match="Choose another folder"):
        Store(tmp_path / "file").find_or_make("part", {}, lambda: 1)


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
    for file, changes in [("cli/main.py", False), ("experiments/tables.py", False), ("allocation/greedy.py", True)]:
        with (copy / file).open("a") as source:
            source.write("# another line\n")
        assert (program.__wrapped__() != before) == changes
