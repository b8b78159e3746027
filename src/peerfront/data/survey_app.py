"""The JSON export of a survey app: a list of records, one for each person who took part.

`surveyCode` is the person (and the coupon they came with), `parentSurveyCode` the recruiter or `__SEED__`,
`childSurveyCodes` the codes issued, `responses` the answers, `createdAt` the date; records with a `deletedAt` are left
out.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from peerfront.data.listing import Listing, Texts, guess_columns, without_missing
from peerfront.data.problems import Problem
from peerfront.data.read_settings import APP, ReadSettings
from peerfront.foundation.errors import DataFileError, SettingError

SEED = "__SEED__"
DATE = "createdAt"
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
        if not isinstance(record["childSurveyCodes"] or [], list) or not isinstance(
            record.get("responses") or {}, dict
        ):
            raise DataFileError(
                f"{path}, record {number}: childSurveyCodes must be a list of codes, and responses a set of answers."
            )
        if record.get("deletedAt"):
            code = _text(record["surveyCode"])
            problems_so_far.append(Problem("deleted", number, code, f"{code!r} is marked as deleted."))
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
    if not set(settings.columns) <= {"network_size", "date"}:
        raise SettingError(
            f"{path.name} is a survey app's file: --map ([columns] in a schema file) can name only network_size and "
            "date in it."
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
            **{role: names for role, names in columns.items() if role in ("network_size", "date")},
        },
        recruiters=np.where(seeds, "", parents),
        own_coupons=np.where(seeds | (parents == ""), "", ids),
        coupons=_slots([record["childSurveyCodes"] or [] for record in kept]),
        problems=tuple(problems_so_far),
    )


def _records(path: Path, text: str) -> list[dict[str, Any]]:
    try:
        content = json.loads(text)
    except json.JSONDecodeError as problem:
        raise DataFileError(
            f"{path}, line {problem.lineno}: this is not correct JSON ({problem.msg}). Export it again."
        ) from None
    if isinstance(content, dict):
        lists = [value for value in content.values() if isinstance(value, list)]
        content = lists[0] if len(lists) == 1 else [content]
    if not content or not all(isinstance(record, dict) for record in content):
        raise DataFileError(f"{path}: expected a list of survey records. Export the surveys again.")
    return list(content)


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
