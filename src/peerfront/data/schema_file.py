"""The schema of a study as a TOML file, which a person can read and edit."""

import json
import re
import textwrap
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from peerfront.data.columns.column_findings import is_sensitive
from peerfront.data.columns.column_names import MEANING
from peerfront.data.read.read_settings import PRESETS, ROLES, ReadSettings
from peerfront.data.study_schema import FieldRule, StudySchema
from peerfront.foundation.checked_calls import checked
from peerfront.foundation.errors import DataFileError, PeerfrontError, UnknownName
from peerfront.foundation.files import file_bytes
from peerfront.foundation.messages import Message, note

_TOP = ("exclude", "file", "columns", "field")
_FILE = (
    "format", "sheet", "preset", "checkboxes", "missing", "coupons_each", "still_open", "valid_days",
    "active_after_days", "read_anyway",
)  # fmt: skip
_LARGEST_FILE = 16 * 2**20  # bytes
_MOST_KEY_PARTS = 100  # of a key such as columns.recruiter
_LONG_KEY = re.compile(
    rf"""(?:(?:"[^"\n]*+"|'[^'\n]*+'|(?<![\w-])[\w-]++)[ \t]*+\.[ \t]*+){{{_MOST_KEY_PARTS}}}"""
)  # possessive: no text takes long to search
_KEYS = {
    "categories": note("schema_comments.of_categories"),
    "cuts": note("schema_comments.of_cuts"),
    "missing": note("schema_comments.of_missing"),
    "missing_category": note("schema_comments.of_missing_category"),
    "other": note("schema_comments.of_other"),
    "others_unknown": note("schema_comments.of_others_unknown"),
    "use": note("schema_comments.of_use"),
}
"""What the keys of a block [[field]] mean."""
_FIELD = ("name", "cuts", "categories", "missing", "missing_category", "other", "others_unknown", "use")


def schema_text(
    schema: StudySchema, reasons: Mapping[str, Message | str] | None = None, study: str = "STUDY.csv"
) -> str:
    """Write the schema as the text of a file, with comments that explain it and the reasons for excluded columns."""
    reasons = reasons or {}
    reading, look_again = schema.reading, note("schema_comments.look_again")
    lines = [
        _line("schema_comments.title", study=study),
        _line("schema_comments.how_to_change"),
        f"#   {look_again}",
        "",
        _line("schema_comments.exclude"),
        "exclude = [",
        *(f"  {_toml(name)},{_why(name, reasons)}" for name in schema.exclude),
        "]",
        "",
        _line("schema_comments.layout"),
        "[file]",
        f"format = {_toml(reading.format)}",
    ]
    if reading.sheet:
        lines.append(_setting("sheet", reading.sheet, "schema_comments.sheet"))
    lines.append(_setting("preset", reading.preset, "schema_comments.preset", presets=list(PRESETS)))
    if reading.checkboxes is not None:
        lines.append(_setting("checkboxes", reading.checkboxes, "schema_comments.checkboxes"))
    lines.append(_setting("missing", reading.missing, "schema_comments.missing"))
    lines += [f"# {line}" for line in str(note("schema_comments.still_open")).splitlines()]
    lines.append(f"still_open = {_toml(reading.still_open)}")
    if reading.valid_days is not None:
        lines.append(_setting("valid_days", reading.valid_days, "schema_comments.valid_days"))
    if reading.active_after_days:
        lines.append(_setting("active_after_days", reading.active_after_days, "schema_comments.active_after_days"))
    if reading.read_anyway:
        lines.append(_setting("read_anyway", reading.read_anyway, "schema_comments.read_anyway"))
    if reading.coupons_each is not None:
        lines.append(_setting("coupons_each", reading.coupons_each, "schema_comments.coupons_each"))
    if reading.columns:
        lines += ["", _line("schema_comments.columns"), "[columns]"]
        for role in (role for role in ROLES if role in reading.columns):
            names = reading.columns[role]
            lines.append(f"{role} = {_toml(names[0] if len(names) == 1 else names)}  # {ROLES[role]}")
    lines += ["", _line("schema_comments.fields")]
    lines += [f"#   {key:<16}  {explained}" for key, explained in _KEYS.items()]
    if any(rule.use is False and is_sensitive(reasons.get(rule.name)) for rule in schema.fields):
        lines += [f"# {line}" for line in textwrap.wrap(str(MEANING), 110)]
    for rule in schema.fields:
        lines += ["", "[[field]]"]
        for key in _FIELD:
            value = getattr(rule, key)
            if value not in (None, ()) and (value or key != "others_unknown"):
                lines.append(f"{key} = {_toml(value)}{_why(rule.name, reasons) if key == 'use' else ''}")
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    """Write a text, number, truth or list as TOML."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")  # as TOML escapes
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(int(value)) if value == int(value) and abs(value) < 2**53 else repr(value)
    return f"[{', '.join(map(_toml, value))}]"


def _line(code: str, **values: Any) -> str:
    return f"# {_comment(note(code, **values))}"


def _setting(key: str, value: Any, code: str, **values: Any) -> str:
    """A line of the file with a comment that explains it."""
    return f"{key} = {_toml(value)}  {_line(code, **values)}"


def _why(name: str, reasons: Mapping[str, Message | str]) -> str:
    """The comment that says why a column is left out, if there is a reason."""
    return f"  # {_comment(reasons[name])}" if name in reasons else ""


def _comment(text: object) -> str:
    """Keep a comment on its line."""
    return re.sub(r"[\x00-\x1f\x7f]", " ", str(text))


@checked
def read_schema(path: Path | str) -> StudySchema:
    """Read a schema file, which a person may have edited; errors name the line of the field.

    >>> from peerfront.data.schema_file import schema_text
    >>> _ = Path("schema.toml").write_text(schema_text(pf.guess_schema(study).schema))  # `peerfront check` writes it
    >>> pf.read_schema("schema.toml").schema.names
    ('gender', 'age_group', 'district', 'housing', 'acquaintances')
    """
    path = Path(path)
    return parse_schema(file_bytes(path, _LARGEST_FILE), path)


def parse_schema(written: bytes, path: Path | str) -> StudySchema:
    """Read the contents of a schema file; `path` is what messages call it."""
    try:
        text = written.decode("utf-8-sig")
        _check_keys(text, path)
        content = tomllib.loads(text)
    except RecursionError:
        raise DataFileError("schema_file.too_deep", path=path) from None
    except (UnicodeDecodeError, ValueError) as problem:  # ValueError: incorrect TOML, or a date that does not exist
        raise DataFileError("schema_file.bad_toml", path=path, problem=str(problem)) from None
    _only(path, content, _TOP)
    fields = content.get("field", [])
    if not isinstance(fields, list):
        raise DataFileError("schema_file.no_field_list", path=path)
    headers = [n for n, line in enumerate(text.splitlines(), start=1) if re.match(r"\s*\[\[\s*field\s*\]\]", line)]
    rules = []
    for number, entry in enumerate(fields):
        place: object = path
        if len(headers) == len(fields):
            place = note("schema_file.at_line", path=path, line=headers[number])
        rules.append(_rule(place, number + 1, entry))
    repeated = next((name for name, count in Counter(rule.name for rule in rules).items() if count > 1), None)
    if repeated is not None:
        raise DataFileError("schema_file.column_twice", path=path, column=repeated)
    exclude = _texts(path, "exclude", content.get("exclude", []))
    try:
        return StudySchema(tuple(rules), exclude, _reading(path, content), str(path))
    except UnknownName:
        raise
    except PeerfrontError as problem:
        raise DataFileError("schema_file.fault_in", place=path, fault=problem.message) from None


def _check_keys(text: str, path: Path | str) -> None:
    """Refuse keys of absurdly many parts before they are read: that takes time and memory with their square."""
    key = _LONG_KEY.search(text)
    if key:
        line = text.count("\n", 0, key.start()) + 1
        raise DataFileError("schema_file.long_key", path=path, line=line, most=_MOST_KEY_PARTS)


def _reading(path: Path | str, content: Mapping[str, Any]) -> ReadSettings:
    """Read the sections [file] and [columns]: how a study's file is read."""
    file, columns = content.get("file", {}), content.get("columns", {})
    for name, part in (("file", file), ("columns", columns)):
        if not isinstance(part, dict):
            raise DataFileError("schema_file.no_section", path=path, name=name)
    _only(path, file, _FILE, "file")
    _only(path, columns, tuple(ROLES), "columns")
    for key in ("format", "sheet", "preset", "still_open"):
        if not isinstance(file.get(key, ""), str):
            raise DataFileError("schema_file.no_text_in_file", path=path, key=key, value=file[key])
    roles = {
        role: (names,) if isinstance(names, str) else _texts(f"{path}, [columns]", role, names)
        for role, names in columns.items()
    }
    lists = {key: _texts(f"{path}, [file]", key, file[key]) for key in ("missing", "checkboxes") if key in file}
    return ReadSettings(**{**file, **lists, "columns": roles})  # the keys are names of settings


def _rule(place: object, number: int, entry: Any) -> FieldRule:
    """Read one block [[field]]; `place` is the file and line for messages."""
    if not isinstance(entry, dict):
        raise DataFileError("schema_file.no_field", place=place)
    name = entry.get("name")
    if not isinstance(name, str):
        raise DataFileError("schema_file.no_name", place=place, number=number, name=name)
    place = note("schema_file.at_field", place=place, name=name)
    _only(place, entry, _FIELD)
    for key in ("missing_category", "other"):
        if not isinstance(entry.get(key, ""), str):
            raise DataFileError("schema_file.no_text", place=place, key=key, value=entry[key])
    for key in ("others_unknown", "use"):
        if not isinstance(entry.get(key, False), bool):
            raise DataFileError("schema_file.no_truth", place=place, key=key, value=entry[key])
    cuts = entry.get("cuts", [])
    if not isinstance(cuts, list) or not all(map(_is_number, cuts)):
        raise DataFileError("schema_file.bad_cuts", place=place, cuts=cuts)
    if "categories" not in entry:
        raise DataFileError("schema_file.no_categories", place=place)
    lists = {key: _texts(place, key, entry.get(key, [])) for key in ("categories", "missing")}
    try:
        return FieldRule(**{**entry, **lists, "cuts": tuple(map(float, cuts))})  # the keys are fields of a rule
    except PeerfrontError as problem:
        raise DataFileError("schema_file.fault_in", place=place, fault=problem.message) from None


def _is_number(value: Any) -> bool:
    """Tell whether a value is a number that a float can hold."""
    return isinstance(value, float) or (isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**300)


def _texts(place: object, key: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise DataFileError("schema_file.no_texts", place=place, key=key, value=value)
    return tuple(value)


def _only(place: object, entries: Mapping[str, Any], allowed: Sequence[str], section: str = "") -> None:
    """Refuse keys that a section does not have."""
    for key in entries:
        if key not in allowed:
            kind = note("schema_file.setting_in", place=place)
            if section:
                kind = note("schema_file.setting_of", section=section, place=place)
            raise UnknownName(kind, key, allowed)
