"""The program's own files, changed by somebody: a model, a study's folder with its weeks, a schema, logs, results.

Each is made once, copied, and one of its files is emptied, cut, edited, exchanged or replaced by something that is no
file. The commands that read it either refuse it in words, or answer as if nothing had happened.
"""

import atexit
import contextlib
import datetime
import io
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hostile.options import STUDY, WAITING
from hostile.runner import ACCEPTED, EITHER, Case, run_case
from study.running_study import ORDER, Running, quick_fits
from study.small_advice import a_fit

Change = Callable[[Path], None]


@cache
def originals() -> Path:
    """A folder with one of each: model, week (with harbour.csv and study), compared, designed, checked, decided."""
    folder = Path(tempfile.mkdtemp(prefix="hostile-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    a_fit().save(folder / "model")
    week = folder / "week"
    week.mkdir()
    running = Running(week)
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(io.StringIO()):
        quick_fits(patch)
        running.week(ORDER)
        running.week()
        running.week()
    running.write()  # as it is in the week after
    made = {
        "compared": ("compare", "--world=bridge", "--policy=constant", "--discount=1", "--workers=1", "--episodes=4",
                     "--out=out"),
        "designed": ("design", "--repetitions=2", "--bootstraps=10", "--population=300", "--sample=60", "--out=out"),
        "checked": ("check", "study", "--out=out"),
        "decided": ("plan", "{model}", "people", "--budget=5", "--decisions=out", "--study=a", "--date=2024-09-01"),
    }  # fmt: skip
    for name, arguments in made.items():
        place = folder / name
        place.mkdir()
        case = Case("", name, arguments, ACCEPTED, "", {"study": STUDY, "people": WAITING})
        fault = run_case(case, place, folder / "model", 120).fault
        assert not fault, fault
    return folder


# What can be done to a file ----------------------------------------------------------------------------------------


def _bytes(change: Callable[[bytes], bytes]) -> Change:
    return lambda path: void(path.write_bytes(change(path.read_bytes())))


def void(_: object) -> None:
    """Forget what a call gives."""


def _flipped(content: bytes, luck: np.random.Generator) -> bytes:
    if not content:
        return b"x"
    place = int(luck.integers(0, len(content)))
    return content[:place] + bytes([content[place] ^ int(luck.integers(1, 256))]) + content[place + 1 :]


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _loop(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.name)


def _device(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


def _sparse(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(2**30 + 1)


def _lines(content: bytes) -> list[bytes]:
    return content.splitlines(keepends=True)


CHANGES: dict[str, Change] = {
    "gone": Path.unlink,
    "empty": _bytes(lambda _: b""),
    "half": _bytes(lambda content: content[: len(content) // 2]),
    "cut by 3": _bytes(lambda content: content[:-3]),
    "more": _bytes(lambda content: content + b"\n\x00more"),
    "NULs": _bytes(lambda content: b"\0" * len(content)),
    "twice": _bytes(lambda content: content * 2),
    "first line lost": _bytes(lambda content: b"".join(_lines(content)[1:])),
    "last line lost": _bytes(lambda content: b"".join(_lines(content)[:-1])),
    "last line twice": _bytes(lambda content: content + b"".join(_lines(content)[-1:])),
    "digits are 9": _bytes(lambda content: b"".join(b"9" if 48 <= b < 58 else bytes([b]) for b in content)),
    "minus": _bytes(lambda content: content.replace(b": 1", b": -1").replace(b",1", b",-1")),
    "NaN": _bytes(lambda content: content.replace(b": 1", b": NaN").replace(b",1", b",nan")),
    "JSON null": _bytes(lambda _: b"null"),
    "JSON list": _bytes(lambda _: b"[" * 2000),
    "UTF-16": _bytes(lambda content: content.decode("latin-1").encode("utf-16")),
    "a folder": _folder,
    "a pipe": _pipe,
    "a loop": _loop,
    "/dev/zero": _device,
    "a gigabyte": _sparse,
}


def _json_paths(content: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    if isinstance(content, dict):
        for key, value in content.items():
            yield from _json_paths(value, (*path, key))
    elif isinstance(content, list):
        for place, value in enumerate(content[:3]):
            yield from _json_paths(value, (*path, place))


VALUES: tuple[Any, ...] = (None, -1, 1e308, "x", "", [], {}, True, 0, float("nan"), 10**30, [[[]]], "\x1b[31m")


def _edited_json(luck: np.random.Generator) -> Change:
    """One value of a JSON file, or of one line of a log, is another; where it has a checksum, that is left as it is."""

    def change(path: Path) -> None:
        text = path.read_text(encoding="utf-8")
        lines = text.splitlines() if text.lstrip().startswith("{") and text.count("\n{") else [text]
        place = int(luck.integers(0, len(lines)))
        content = json.loads(lines[place])
        paths = list(_json_paths(content))[1:]
        chosen = paths[int(luck.integers(0, len(paths)))]
        inner = content
        for key in chosen[:-1]:
            inner = inner[key]
        inner[chosen[-1]] = VALUES[int(luck.integers(0, len(VALUES)))]
        lines[place] = json.dumps(content)
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")

    return change


CELLS = ("", "-1", "nan", "1e308", "x", "999999999999", "\x1b[31m", "=1+1", "2024-02-30", "P0001", "P9999")


def _edited_table(luck: np.random.Generator) -> Change:
    """One cell of a CSV file is another."""

    def change(path: Path) -> None:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
        place = int(luck.integers(0, len(lines)))
        cells = lines[place].split(",")
        cells[int(luck.integers(0, len(cells)))] = str(luck.choice(CELLS))
        lines[place] = ",".join(cells)
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")

    return change


TOML = ("= -1", "= nan", "= 1e308", '= "x"', "= []", "= {}", "= true", "= 1979-05-27", '= ""', "= [[1]]", "=")


def _edited_toml(luck: np.random.Generator) -> Change:
    def change(path: Path) -> None:
        lines = path.read_text(encoding="utf-8").splitlines()
        places = [n for n, line in enumerate(lines) if "=" in line and not line.startswith("#")]
        place = int(luck.choice(places))
        lines[place] = f"{lines[place].partition('=')[0]}{luck.choice(TOML)}"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")

    return change


def _flip(luck: np.random.Generator) -> Change:
    return _bytes(lambda content: _flipped(content, luck))


def _random_changes(path: Path, seed: int, many: int) -> Iterator[tuple[str, Change]]:
    """Changes that chance makes in a file of this kind."""
    makers = {".json": _edited_json, ".jsonl": _edited_json, ".csv": _edited_table, ".toml": _edited_toml}
    for number in range(many):
        for name, maker in (("edited", makers.get(path.suffix, _flip)), ("a byte", _flip)):
            yield f"{name} {number}", maker(np.random.default_rng((seed, number, len(name))))


def _copied(original: Path, file: str, change: Change) -> Callable[[Path], None]:
    def copy(to: Path) -> None:
        shutil.copytree(original, to) if original.is_dir() else shutil.copy(original, to)
        change(to / file if file else to)

    return copy


# Cases -------------------------------------------------------------------------------------------------------------

NEXT = str(datetime.date(2026, 3, 2) + datetime.timedelta(weeks=3))
LAST = str(datetime.date(2026, 3, 2) + datetime.timedelta(weeks=2))


NEVER_READ = (".png", ".svg", "summary.txt", "design.txt", ".md", ".gz", ".xlsx", ".dot")


def _of_folder(
    kind: str, original: Path, commands: dict[str, tuple[str, ...]], many: int, **others: Any
) -> Iterator[Case]:
    """Every file of a folder (or the file itself) with every change, once for each command in turn."""
    found = sorted(str(path.relative_to(original)) for path in original.rglob("*") if path.is_file())
    names = [name for name in found if not name.endswith(NEVER_READ) and "week-02" not in name] or [""]
    turn = 0
    for number, name in enumerate(names):
        path = original / name if name else original
        changes = [*CHANGES.items(), *_random_changes(path, number, many)]
        for what, change in changes:
            chosen = list(commands)[turn % len(commands)]
            turn += 1
            files = {"its": _copied(original, name, change), **others}
            yield Case(kind, f"{chosen}, {name or path.name} {what}", commands[chosen], EITHER, "", files)


def cases(many: int = 3) -> Iterator[Case]:
    """`many` is how many random changes of each sort a file gets."""
    made = originals()
    people = {"people": WAITING, "study": STUDY}
    plans = {
        "plan": ("plan", "its", "people", "--budget=5"),
        "forecast": ("forecast", "its", "people", "--budget=5", "--episodes=10"),
        "fit": ("fit", "study", "--budget=nan", "--prior=its", "--out=m"),
        "report": ("report", "its", "study", "--out=r", "--episodes=10"),
    }
    yield from _of_folder("model", made / "model", plans, 12 * many, **people)
    harbour = (made / "week" / "harbour.csv").read_bytes()
    weeks = {
        "again": ("week", "harbour.csv", "--folder=its", f"--date={LAST}"),
        "next": ("week", "harbour.csv", "--folder=its", f"--date={NEXT}", "--refit=never"),
        "undo": ("week", "harbour.csv", "--folder=its", "--undo"),
    }
    yield from _of_folder("week", made / "week" / "study", weeks, many, **{"harbour.csv": harbour})
    compared = {"resume": ("compare", "--world=bridge", "--policy=constant", "--discount=1", "--workers=1",
                           "--episodes=4", "--out=its", "--resume")}  # fmt: skip
    yield from _of_folder("compared", made / "compared" / "out", compared, many)
    designed = {"resume": ("design", "--repetitions=2", "--bootstraps=10", "--population=300", "--sample=60",
                           "--out=its", "--resume")}  # fmt: skip
    yield from _of_folder("designed", made / "designed" / "out", designed, many)
    schemas = {
        "check": ("check", "study", "--schema=its"),
        "convert": ("convert", "study", "--to=app", "--out=made", "--schema=its"),
        "estimate": ("estimate", "study", "--outcome=sex", "--bootstraps=10", "--schema=its"),
    }
    yield from _of_folder("schema.toml", made / "checked" / "out" / "schema.toml", schemas, 12 * many, **people)
    logs = {
        "plan": ("plan", "{model}", "people", "--budget=5", "--decisions=its", "--study=a", "--date=2024-09-01"),
        "estimate": ("estimate", "study", "--outcome=sex", "--bootstraps=10", "--decisions=its"),
        "report": ("report", "{model}", "study", "--out=r", "--episodes=10", "--decisions=its"),
    }
    decided = made / "decided" / "out"
    yield from _of_folder("decisions", decided, logs, 4 * many, **people)
