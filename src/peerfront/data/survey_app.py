"""The JSON export of a survey app: a list of records, one for each person who took part.

`surveyCode` is the person (and the coupon they came with), `parentSurveyCode` the recruiter or `__SEED__`,
`childSurveyCodes` the codes issued, `responses` the answers, `createdAt` the date; records with a `deletedAt` are left
out.
"""

import json
import math
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from peerfront.data.listing import Listing, Texts, guess_columns, without_missing
from peerfront.data.problems import Problem
from peerfront.data.read_settings import ANSWER_ROLES, APP, CALENDAR_ROLES, MOST_COUPONS_EACH, ReadSettings
from peerfront.foundation.errors import DataFileError, SettingError
from peerfront.foundation.messages import note

SEED = "__SEED__"
DATE = "createdAt"
_ESCAPED_HALF = re.compile(r"\\u[dD][89a-fA-F]")
_NEEDED = ("surveyCode", "parentSurveyCode", "childSurveyCodes")


def list_app(path: Path, text: str, settings: ReadSettings, problems: tuple[Problem, ...]) -> Listing:
    """List the people of a survey app's export."""
    if settings.coupons_each is not None:
        raise SettingError(
            f"{path.name} lists the codes issued to each person. "
            "Leave --coupons-each (coupons_each in a schema file) out."
        )
    records = _records(path, text)
    problems_so_far = list(problems)
    rows, kept = [], []
    for number, record in enumerate(records, start=1):
        absent = [name for name in _NEEDED if name not in record]
        if absent:
            raise DataFileError(
                f"{path}, record {number}: there is no {absent[0]!r}. Each record needs {', '.join(_NEEDED)}."
            )
        _check_record(f"{path}, record {number}", record)
        if record.get("deletedAt"):
            code = _text(record["surveyCode"])
            problems_so_far.append(Problem("deleted", number, code, note("problems.deleted", code=code)))
            continue
        rows.append(number)
        kept.append(record)
    if not kept:
        raise DataFileError(f"{path}: there is nobody in it. Export the surveys again.")
    answers = pd.DataFrame(
        [{str(name).strip(): _text(answer) for name, answer in (r.get("responses") or {}).items()} for r in kept],
        dtype=object,
        index=range(len(kept)),
    ).fillna("")
    if any(record.get(DATE) for record in kept):
        answers.insert(0, DATE, [_text(record.get(DATE)) for record in kept], allow_duplicates=True)
    repeated = answers.columns[answers.columns.duplicated()]
    if len(repeated):
        raise DataFileError(f"{path}: the answer {repeated[0]!r} has the name of another one. Rename it.")
    answers = without_missing(answers.astype(object), settings.missing)
    if not set(settings.columns) <= set(ANSWER_ROLES):
        raise SettingError(
            f"{path.name} is a survey app's file: --map ([columns] in a schema file) can name only network_size and "
            f"the calendar in it ({', '.join(CALENDAR_ROLES)})."
        )
    columns = guess_columns(list(answers.columns), settings.columns, path.name)
    parents = _codes([record["parentSurveyCode"] for record in kept])
    ids = _codes([record["surveyCode"] for record in kept])
    seeds = parents == SEED
    return Listing(
        source=path.name,
        format=APP,
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


def _records(path: Path, text: str) -> list[dict[str, Any]]:
    try:
        content = json.loads(text, parse_float=_finite, parse_constant=_constant, object_pairs_hook=_once_each)
        if _ESCAPED_HALF.search(text):
            json.dumps(content, ensure_ascii=False).encode()
    except json.JSONDecodeError as problem:
        raise DataFileError(
            f"{path}, line {problem.lineno}: this is not correct JSON ({problem.msg}). Export it again."
        ) from None
    except RecursionError:
        raise DataFileError(f"{path}: its lists are nested too deeply. Export the surveys again.") from None
    except UnicodeEncodeError as problem:
        half = f"\\u{ord(problem.object[problem.start]):04x}"
        raise DataFileError(
            f"{path}: it holds half of a character ({half} without its other half). Export it again in UTF-8."
        ) from None
    except ValueError as problem:  # ours, and whole numbers of thousands of digits
        reason = "a number has thousands of digits" if "integer string" in str(problem) else problem
        raise DataFileError(f"{path}: this cannot be read ({reason}). Correct it, or export it again.") from None
    if isinstance(content, dict):
        lists = [value for value in content.values() if isinstance(value, list)]
        content = lists[0] if len(lists) == 1 else [content]
    if not content or not isinstance(content, list) or not all(isinstance(record, dict) for record in content):
        raise DataFileError(f"{path}: expected a list of survey records. Export the surveys again.")
    return list(content)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"the number {text} is too large")
    return number


def _constant(name: str) -> None:
    """Read NaN, which JSON does not have and many programs write, as nothing; refuse the infinities."""
    if name != "NaN":
        raise ValueError(f"{name} is not a number")


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        name = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise ValueError(f"one record gives {name!r} twice")
    return content


def _check_record(place: str, record: dict[str, Any]) -> None:
    """Refuse codes and answers that cannot be any; `place` is the file and record for messages."""
    given, answers = record["childSurveyCodes"] or [], record.get("responses") or {}
    if not isinstance(given, list) or not isinstance(answers, dict):
        raise DataFileError(f"{place}: childSurveyCodes must be a list of codes, and responses a set of answers.")
    if len(given) > MOST_COUPONS_EACH:
        raise DataFileError(
            f"{place}: {len(given):,} codes were issued to one person; at most {MOST_COUPONS_EACH:,} are possible."
        )
    for code in (record["surveyCode"], record["parentSurveyCode"], *given):
        if code is not None and (isinstance(code, bool | list | dict) or (isinstance(code, float) and code % 1)):
            raise DataFileError(f"{place}: a code must be a text or a whole number; found {code!r}.")
    for answer in answers.values():
        if isinstance(answer, list) and any(isinstance(part, list) for part in answer):
            raise DataFileError(f"{place}: answers may be lists, and not lists of lists; found {answer!r}.")


def _text(value: Any) -> str:
    """Turn an answer into text: whole numbers without a point, several choices joined by a plus."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, list):
        return "+".join(map(_text, value))
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False, sort_keys=True)
    return str(value).strip()


def _codes(values: list[Any]) -> Texts:
    codes = np.empty(len(values), dtype=object)
    codes[:] = [_text(value) for value in values]
    return codes


def _slots(lists: list[list[Any]]) -> Texts:
    """Put lists of codes side by side, [people, slots], with "" where a list is shorter."""
    slots = np.full((len(lists), max(map(len, lists), default=0)), "", dtype=object)
    for person, codes in enumerate(lists):
        slots[person, : len(codes)] = [_text(code) for code in codes]
    return slots
