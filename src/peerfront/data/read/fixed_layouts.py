"""Files whose columns have fixed places or names: RDSAT's text format, and the JSON export of a survey app.

In RDSAT's format line 1 says `RDS`; line 2 gives the number of people, the most coupons, the code for "none", and the
names of the covariates; then a line per person: id, network size, own coupon, coupons issued, covariates.

A survey app exports a list of records, one for each person who took part: `surveyCode` is the person (and the coupon
they came with), `parentSurveyCode` the recruiter or `__SEED__`, `childSurveyCodes` the codes issued, `responses` the
answers, `createdAt` the date; records with a `deletedAt` are left out.
"""

import json
import math
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from peerfront.data.problems import Problem
from peerfront.data.read.listing import Listing, Texts, guess_columns, texts, without_missing
from peerfront.data.read.read_settings import ANSWER_ROLES, APP, CALENDAR_ROLES, MOST_COUPONS_EACH, RDSAT, ReadSettings
from peerfront.foundation.errors import DataFileError, SettingError
from peerfront.foundation.messages import Message, Remedy, note
from peerfront.foundation.text_tables import MOST_COLUMNS

# RDSAT ------------------------------------------------------------------------------------------------------------


NETWORK_SIZE = "network.size"
OWN_COUPON = "own.coupon"


def coupon_names(count: int) -> tuple[str, ...]:
    return tuple(f"coupon.{number + 1}" for number in range(count))


def list_rdsat(path: Path, text: str, settings: ReadSettings, problems: tuple[Problem, ...]) -> Listing:
    """List the people of an RDSAT file."""
    if settings.columns:
        raise SettingError("rdsat.fixed_places", source=path.name, map=Remedy("map", ("ROLE",)))
    if settings.coupons_each is not None:
        raise SettingError("rdsat.lists_coupons", source=path.name, coupons_each=Remedy("coupons_each"))
    lines = text.splitlines()
    if len(lines) < 2:
        raise DataFileError("rdsat.short", path=path)
    header = _cut(lines[1], _separator(lines[1:2]))
    try:
        announced, slots, none = _count(header[0]), _count(header[1]), header[2]
    except (IndexError, ValueError):
        raise DataFileError("rdsat.second_line", path=path, line=lines[1].strip()) from None
    if slots > MOST_COUPONS_EACH:
        raise DataFileError("rdsat.too_many_coupons", path=path, coupons=slots, most=MOST_COUPONS_EACH)
    if len(header) - 3 > MOST_COLUMNS:
        raise DataFileError("rdsat.too_many_columns", path=path, n=len(header) - 3, most=MOST_COLUMNS)
    names = ["id", NETWORK_SIZE, OWN_COUPON, *coupon_names(slots), *header[3:]]
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise DataFileError("rdsat.name_twice", path=path, name=repeated[0])
    numbered = [(number, line) for number, line in enumerate(lines[2:], start=3) if line.strip()]
    if not numbered:
        raise DataFileError("rdsat.nobody", path=path)
    separator = _separator([line for _, line in numbered])
    records = []
    for number, line in numbered:
        cells = _cut(line, separator)
        if len(cells) != len(names):
            expected = {"expected": len(names), "coupons": slots, "covariates": len(header) - 3, "none": none}
            raise DataFileError("rdsat.cells", path=path, line=number, n=len(cells), **expected)
        records.append(cells)
    frame = pd.DataFrame(records, columns=names, dtype=object)
    if announced != len(frame):
        fault = note("problems.row_count", announced=announced, people=len(frame))
        problems = (*problems, Problem("row-count", 2, "", fault))
    frame = without_missing(frame, (none, *settings.missing))
    issued = coupon_names(slots)
    return Listing(
        source=path.name,
        format=RDSAT,
        settings=settings,
        place="line",
        rows=np.array([number for number, _ in numbered], dtype=np.int64),
        ids=texts(frame, "id"),
        people=frame[[NETWORK_SIZE, *header[3:]]],
        columns={
            "id": ("id",),
            "own_coupon": (OWN_COUPON,),
            "coupons": issued,
            "network_size": (NETWORK_SIZE,),
        },
        own_coupons=texts(frame, OWN_COUPON),
        coupons=frame[list(issued)].to_numpy(dtype=object),
        problems=problems,
    )


def rdsat_columns(text: str) -> tuple[list[str], str, str]:
    """The columns of a text that `list_rdsat` reads, the code for "none", and what stands between cells."""
    lines = text.splitlines()
    header = _cut(lines[1], _separator(lines[1:2]))
    names = ["id", NETWORK_SIZE, OWN_COUPON, *coupon_names(_count(header[1])), *header[3:]]
    return names, header[2], _separator([line for line in lines[2:] if line.strip()])


def cut_line(line: str, separator: str) -> list[tuple[int, int]]:
    """Where the cells of a line stand, without the blanks around them."""
    cells = re.finditer(rf"[^{separator}]*(?:{separator}|$)" if separator else r"\S+", line)
    spans = []
    for cell in cells:
        text = cell[0].rstrip(separator) if separator else cell[0]
        start = cell.start() + len(text) - len(text.lstrip())
        spans.append((start, start + len(text.strip())))
    return spans


def _count(text: str) -> int:
    """Read a number of people or coupons, in at most 12 digits."""
    if not re.fullmatch("[0-9]{1,12}", text):
        raise ValueError(text)
    return int(text)


def _separator(lines: list[str]) -> str:
    """Return tabs or commas if every line has them, else "" for any blanks."""
    for separator in ("\t", ","):
        if all(separator in line for line in lines):
            return separator
    return ""


def _cut(line: str, separator: str) -> list[str]:
    if not separator:
        return line.split()
    cells = [cell.strip() for cell in re.split(separator, line)]
    while len(cells) > 1 and not cells[-1]:
        cells.pop()
    return cells


# Survey app -------------------------------------------------------------------------------------------------------


SEED = "__SEED__"
DATE = "createdAt"
_ESCAPED_HALF = re.compile(r"\\u[dD][89a-fA-F]")
_NEEDED = ("surveyCode", "parentSurveyCode", "childSurveyCodes")


def list_app(path: Path, text: str, settings: ReadSettings, problems: tuple[Problem, ...]) -> Listing:
    """List the people of a survey app's export."""
    if settings.coupons_each is not None:
        raise SettingError("survey_app.lists_codes", source=path.name, coupons_each=Remedy("coupons_each"))
    records = _records(path, text)
    problems_so_far = list(problems)
    rows, kept = [], []
    for number, record in enumerate(records, start=1):
        absent = [name for name in _NEEDED if name not in record]
        if absent:
            raise DataFileError("survey_app.no_key", path=path, record=number, key=absent[0], needed=list(_NEEDED))
        _check_record(note("survey_app.at_record", path=path, record=number), record)
        if record.get("deletedAt"):
            code = answer_text(record["surveyCode"])
            problems_so_far.append(Problem("deleted", number, code, note("problems.deleted", code=code)))
            continue
        rows.append(number)
        kept.append(record)
    if not kept:
        raise DataFileError("survey_app.nobody", path=path)
    answers = pd.DataFrame(
        [{str(name).strip(): answer_text(answer) for name, answer in (r.get("responses") or {}).items()} for r in kept],
        dtype=object,
        index=range(len(kept)),
    ).fillna("")
    if any(record.get(DATE) for record in kept):
        answers.insert(0, DATE, [answer_text(record.get(DATE)) for record in kept], allow_duplicates=True)
    repeated = answers.columns[answers.columns.duplicated()]
    if len(repeated):
        raise DataFileError("survey_app.answer_twice", path=path, answer=repeated[0])
    answers = without_missing(answers.astype(object), settings.missing)
    if not set(settings.columns) <= set(ANSWER_ROLES):
        raise SettingError(
            "survey_app.roles", source=path.name, map=Remedy("map", ("ROLE",)), roles=list(CALENDAR_ROLES)
        )
    columns = guess_columns(list(answers.columns), settings.columns, path.name)
    parents = _codes([record["parentSurveyCode"] for record in kept])
    ids = _codes([record["surveyCode"] for record in kept])
    seeds = parents == SEED
    return Listing(
        source=path.name,
        format=APP,
        settings=settings,
        place="record",
        rows=np.array(rows, dtype=np.int64),
        ids=ids,
        people=answers,
        columns={
            "id": ("surveyCode",),
            "recruiter": ("parentSurveyCode",),
            "coupons": ("childSurveyCodes",),
            **{role: names for role, names in columns.items() if role in ANSWER_ROLES},
        },
        recruiters=np.where(seeds, "", parents),
        own_coupons=np.where(seeds | (parents == ""), "", ids),
        coupons=_slots([record["childSurveyCodes"] or [] for record in kept]),
        problems=tuple(problems_so_far),
    )


class _Unreadable(Exception):
    """Something that JSON allows and a survey cannot hold, with a message that says what."""


def _records(path: Path, text: str) -> list[dict[str, Any]]:
    try:
        content = json.loads(text, parse_float=_finite, parse_constant=_constant, object_pairs_hook=_once_each)
        if _ESCAPED_HALF.search(text):
            json.dumps(content, ensure_ascii=False).encode()
    except json.JSONDecodeError as problem:
        raise DataFileError("survey_app.bad_json", path=path, line=problem.lineno, problem=problem.msg) from None
    except RecursionError:
        raise DataFileError("survey_app.too_deep", path=path) from None
    except UnicodeEncodeError as problem:
        half = f"\\u{ord(problem.object[problem.start]):04x}"
        raise DataFileError("survey_app.half_character", path=path, half=half) from None
    except _Unreadable as problem:
        raise DataFileError("survey_app.unreadable", path=path, reason=problem.args[0]) from None
    except ValueError:  # whole numbers of thousands of digits
        reason = note("survey_app.long_number")
        raise DataFileError("survey_app.unreadable", path=path, reason=reason) from None
    if isinstance(content, dict):
        lists = [value for value in content.values() if isinstance(value, list)]
        content = lists[0] if len(lists) == 1 else [content]
    if not content or not isinstance(content, list) or not all(isinstance(record, dict) for record in content):
        raise DataFileError("survey_app.no_list", path=path)
    return list(content)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise _Unreadable(note("survey_app.large_number", number=text))
    return number


def _constant(name: str) -> None:
    """Read NaN, which JSON does not have and many programs write, as nothing; refuse the infinities."""
    if name != "NaN":
        raise _Unreadable(note("survey_app.no_number", name=name))


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        name = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise _Unreadable(note("survey_app.key_twice", name=name))
    return content


def _check_record(place: Message, record: dict[str, Any]) -> None:
    """Refuse codes and answers that cannot be any; `place` is the file and record for messages."""
    given, answers = record["childSurveyCodes"] or [], record.get("responses") or {}
    if not isinstance(given, list) or not isinstance(answers, dict):
        raise DataFileError("survey_app.no_codes", place=place)
    if len(given) > MOST_COUPONS_EACH:
        raise DataFileError("survey_app.too_many_codes", place=place, n=len(given), most=MOST_COUPONS_EACH)
    for code in (record["surveyCode"], record["parentSurveyCode"], *given):
        if code is not None and (isinstance(code, bool | list | dict) or (isinstance(code, float) and code % 1)):
            raise DataFileError("survey_app.bad_code", place=place, value=code)
    for answer in answers.values():
        if isinstance(answer, list) and any(isinstance(part, list) for part in answer):
            raise DataFileError("survey_app.nested_answer", place=place, value=answer)


def answer_text(value: Any) -> str:
    """Turn an answer into text: whole numbers without a point, several choices joined by a plus."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, list):
        return "+".join(map(answer_text, value))
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False, sort_keys=True)
    return str(value).strip()


def _codes(values: list[Any]) -> Texts:
    codes = np.empty(len(values), dtype=object)
    codes[:] = [answer_text(value) for value in values]
    return codes


def _slots(lists: list[list[Any]]) -> Texts:
    """Put lists of codes side by side, [people, slots], with "" where a list is shorter."""
    slots = np.full((len(lists), max(map(len, lists), default=0)), "", dtype=object)
    for person, codes in enumerate(lists):
        slots[person, : len(codes)] = [answer_text(code) for code in codes]
    return slots
