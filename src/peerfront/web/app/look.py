"""Look at the study's file for the pages: what is in it, what is wrong with it, which column is what.

`python -m peerfront.web.app.look`, run in the study's folder, reads the file as the forms say, writes what pages show
to `app/look.json`, and the schema that other commands read to `schema.toml`. It is a process of its own, so that a
large or damaged file never stops the pages.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from peerfront.data.column_findings import is_sensitive, vetted
from peerfront.data.dates import EPOCH, date_text
from peerfront.data.problems import ERROR, KINDS, FaultyStudy, Problem
from peerfront.data.reading import read_study
from peerfront.data.schema_file import schema_text
from peerfront.data.schema_guess import Guess, guess_schema
from peerfront.data.study import Study, summarise
from peerfront.data.study_calendar import coupon_counts
from peerfront.data.study_schema import FieldRule, StudySchema, history_of
from peerfront.data.suggestions import suggested_columns
from peerfront.foundation.errors import PeerfrontError
from peerfront.foundation.files import write_text
from peerfront.foundation.shown import visible, visible_message
from peerfront.study.study_sample import groups_of, outcome_of
from peerfront.web.app.file_header import MOST_COLUMNS, header_of, read_settings_of
from peerfront.web.app.folder import LOOK, SCHEMA, AppFolder

_MOST_PROBLEMS, _MOST_TREES = 1_000, 8
_LONGEST = 600  # characters of a problem that are shown
_BEFORE = "app/schema-before.toml"


def look(folder: AppFolder) -> dict[str, Any]:
    """Read the file that was chosen, and return everything that pages show about it."""
    choices = folder.choices
    file = str(choices["file"])
    path = Path(file)
    reading, ticks = dict(choices.get("reading", {})), dict(choices.get("ticks", {}))
    header = header_of(path, reading)
    notes: list[str] = []
    if reading.get("sheet", "") not in ("", *header.sheets):  # that of a workbook given before
        reading["sheet"] = ""
    if header.names and not set(choices.get("columns", ())) <= set(header.names):
        notes += ["This file has other columns than the one before, so the choices made for that are not used here."]
        reading, ticks = {}, {}
        header = header_of(path, reading)
    seen: dict[str, Any] = {
        "file": file,
        "digest": folder.digest(file),
        "reading": reading,
        "ticks": ticks,
        "notes": notes,
        "columns": [{"name": name, "examples": list(values)} for name, values in header.columns[:MOST_COLUMNS]],
        "recognised": {role: list(names) for role, names in (header.recognised or {}).items()},
        "sheets": list(header.sheets),
        "error": "",
        "problems": [],
        "problem_count": 0,
        "place": "row",
    }
    try:
        study = read_study(path, read_settings_of(reading))
        guess = guess_schema(study)
        schema = _ticked(guess.schema, ticks)
        allowed = vetted(study, schema)
        history_of(study, allowed.schema)
    except FaultyStudy as faults:
        return {**seen, "error": visible_message(str(faults)), **_problems(faults.problems)}
    except PeerfrontError as problem:
        return {**seen, "error": visible_message(str(problem)), **_suggested(problem)}
    _keep_schema(folder, schema_text(schema, guess.reasons, study.source))
    return {
        **seen,
        **_problems(study.problems),
        **_contents(study),
        "place": study.place,
        "fields": _fields(study, guess, schema),
        "warnings": [f"Warning: {each}" for each in allowed.notes],
    }


def _ticked(schema: StudySchema, ticks: Mapping[str, Any]) -> StudySchema:
    """The guessed schema with the columns used, or left out, that were ticked and unticked."""
    use, leave = set(ticks.get("use", ())), set(ticks.get("leave", ()))

    def decided(rule: FieldRule) -> FieldRule:
        if rule.name in leave:
            return replace(rule, use=False)
        return replace(rule, use=True) if rule.name in use and rule.use is False else rule

    return replace(schema, fields=tuple(map(decided, schema.fields)))


def _keep_schema(folder: AppFolder, text: str) -> None:
    """Write the schema; one that was edited by hand is kept beside the app's other files."""
    place = folder.path / SCHEMA
    if place.exists():
        before = place.read_bytes()
        if before == text.encode():
            return
        (folder.path / _BEFORE).write_bytes(before)
    write_text(place, text, private=True)


# What is in it -------------------------------------------------------------------------------------------------------


def _suggested(error: PeerfrontError) -> dict[str, Any]:
    """Columns and settings that would mend the error, so that the form offers them, and its way out."""
    columns = suggested_columns(error.remedies)
    settings = {each.setting: each.value for each in error.remedies if each.setting != "map"}
    found: dict[str, Any] = {"suggested": {role: list(names) for role, names in columns.items()}, "way_out": ""}
    if settings.get("coupons_each"):
        found["suggested_each"] = settings["coupons_each"]
    if columns:
        found["way_out"] = "suggested"
    elif "sheet" in settings or "coupons_each" in settings:
        found["way_out"] = "sheet" if "sheet" in settings else "coupons_each"
    elif error.code == "recognition.unclear":
        found["way_out"] = "columns"
    return found


def _problems(problems: tuple[Problem, ...]) -> dict[str, Any]:
    counts = Counter(problem.kind for problem in problems)
    return {
        "problem_count": len(problems),
        "error_count": sum(problem.severity == ERROR for problem in problems),
        "problem_kinds": [
            {
                "kind": kind,
                "title": str(KINDS[kind].title),
                "severity": KINDS[kind].severity,
                "remedy": str(KINDS[kind].remedy),
                "count": count,
            }
            for kind, count in counts.most_common()
        ],
        "problems": [
            {
                "kind": problem.kind,
                "severity": problem.severity,
                "row": problem.row,
                "person": visible(problem.person),
                "title": str(problem.title),
                "what": visible(str(problem.message), _LONGEST),
                "remedy": str(problem.remedy),
            }
            for problem in problems[:_MOST_PROBLEMS]
        ],
    }


def _contents(study: Study) -> dict[str, Any]:
    summary = summarise(study)
    shown = ("people", "seeds", "deepest wave", "coupons issued", "coupons redeemed")
    trees = summary.trees
    return {
        "roles": {role: list(names) for role, names in study.columns.items()},
        "coupons_each": study.settings.coupons_each,
        "steps": list(map(str, study.steps)),
        "facts": [[what, number] for what, number in summary.facts if number or what in shown],
        "people": len(study),
        "waiting": len(study.waiting),
        "calendar": _calendar(study),
        "counts": [
            [number, summary.recruits_per_person.get(number, 0), summary.coupons_per_person.get(number, 0)]
            for number in sorted({*summary.recruits_per_person, *summary.coupons_per_person})
        ],
        "trees": [
            [visible(str(seed)), int(people), int(waves), bool(known)]
            for seed, people, waves, known in trees.head(_MOST_TREES).itertuples(index=False)
        ],
        "more_trees": max(len(trees) - _MOST_TREES, 0),
        "triples": summary.triples,
        "pairs": summary.pairs,
        "most_coupons": int(study.issued.max(initial=0)),
        "outcomes": _fit_for(outcome_of, study),
        "subgroups": _fit_for(groups_of, study),
    }


def _fit_for(read: Callable[[Study, str], object], study: Study) -> list[str]:
    """Columns that can be read so: not those of one answer, or of too many."""
    found = []
    for name in map(str, study.people.columns[:MOST_COLUMNS]):
        with suppress(PeerfrontError):
            read(study, name)
            found.append(name)
    return found


def _calendar(study: Study) -> dict[str, Any] | None:
    """What is open, expired and used on the study's day; None without dates."""
    if study.day is None:
        return None
    counts = coupon_counts(study)
    endless = study.valid_days is not None and bool(np.isinf(study.valid_days).any())
    last = None if study.numbered_days else (EPOCH + pd.Timedelta(days=int(study.day))).isoformat()[:10]
    return {
        "day": date_text(study.day, study.numbered_days),
        "last": last,
        "used": counts.used,
        "open": counts.open,
        "expired": counts.expired,
        "undated": counts.undated,
        "holders": counts.holders_open,
        "passed_over": counts.passed_over,
        "no_expiry": bool(counts.open and endless and study.settings.open_by_dates),
    }


def _fields(study: Study, guess: Guess, schema: StudySchema) -> list[dict[str, Any]]:
    """Every column that describes people: whether it is used, and what speaks against it."""
    missing = {str(name): int(count) for name, count in (study.people == "").sum().items()}
    rules = {rule.name: rule for rule in schema.fields}
    used = {rule.name for rule in schema.used}
    listed = []
    for name in map(str, study.people.columns):
        rule, reason = rules.get(name), guess.reasons.get(name)
        listed.append(
            {
                "name": name,
                "can": rule is not None,
                "used": name in used,
                "sensitive": is_sensitive(reason),
                "reason": "" if reason is None else str(reason),
                "kind": "" if rule is None else "bands" if rule.cuts else "categories",
                "categories": [] if rule is None else list(rule.categories[:50]),
                "missing": missing.get(name, 0),
            }
        )
    return listed[:MOST_COLUMNS]


def main() -> None:
    folder = AppFolder(Path())
    file = str(folder.choices.get("file", ""))
    try:
        seen = look(folder)
    except MemoryError:
        seen = {
            "file": file,
            "error": "There is not enough memory to read this file. Leave out columns, or use a larger computer.",
        }
    except Exception as problem:  # a defect of ours must not leave the page with what it knew of another file
        seen = {"file": file, "error": f"This file could not be looked at ({type(problem).__name__}: {problem})."}
    folder.write(LOOK, seen)


if __name__ == "__main__":
    main()
