"""A week of a running study in words: sections with titles, for a terminal, a page and the folder's summary."""

import contextlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from peerfront.foundation.errors import DamagedFile
from peerfront.foundation.own_files import ANYTHING, TEXT, own_bytes, own_json
from peerfront.study.week import NewWeek, WeekResult
from peerfront.words.language import Text, joined, marked, say, say_n
from peerfront.words.stored_text import as_data, restored
from peerfront.words.week_lines import (
    change_lines,
    detail_lines,
    handed_out_lines,
    head_lines,
    left_line,
    model_details,
    model_news,
    sheet_lines,
)

SUMMARY, SUMMARY_DATA = "summary.txt", "summary.json"
HEAD, SINCE, THIS_WEEK, MODEL, DETAILS = "head", "since", "this_week", "model", "details"
"""Keys of the sections."""


@dataclass(frozen=True)
class Section:
    """Some lines of a week's summary; `key` identifies them in every language."""

    key: str
    title: Text
    """The title; empty for the first section."""
    lines: tuple[object, ...]


def week_lines(result: WeekResult) -> list[object]:
    """Titles and lines of the summary, without details."""
    sections = [section for section in sections_of(result) if section.key != DETAILS]
    return [*_with_titles(sections), log_line(result)]


def sections_of(result: WeekResult) -> list[Section]:
    """The sections of a week, newly planned or read from its folder."""
    return stored_sections(result.folder) if result.new is None else _new_sections(result.new)


def stored_sections(folder: Path) -> list[Section]:
    """The sections saved in a week's folder; a single one without a title if version 0.3 wrote it."""
    file = folder / SUMMARY_DATA
    try:
        data = own_json(file, [{"key": TEXT, "title": {}, "lines": [ANYTHING]}])
        return [
            Section(each["key"], restored(each["title"], file), tuple(restored(each["lines"], file))) for each in data
        ]
    except DamagedFile:
        text = ""
        with contextlib.suppress(DamagedFile):
            text = own_bytes(folder / SUMMARY).decode("utf-8", "replace")
        return [Section(HEAD, Text(""), tuple(joined([line]) for line in text.splitlines()))]


def summary_files(new: NewWeek) -> dict[str, bytes]:
    """The summary as text in the language in use, and as data that can be read in any language."""
    sections = _new_sections(new)
    text = "".join(f"{marked(line)}\n" for line in _with_titles(sections))
    data = [{"key": each.key, "title": as_data(each.title), "lines": as_data(each.lines)} for each in sections]
    return {SUMMARY: text.encode(), SUMMARY_DATA: json.dumps(data, ensure_ascii=False).encode()}


def log_line(result: WeekResult) -> Text:
    """How long the log is, and its last hash."""
    return say_n(
        "Log: {n:,} line, hash {head} (note it on paper).",
        "Log: {n:,} lines, hash {head} (note it on paper).",
        result.log_lines,
        head=result.log_head,
    )


def _with_titles(sections: Iterable[Section]) -> list[object]:
    lines: list[object] = []
    for section in sections:
        if section.title:
            lines += ["", section.title, *(_indented(line) for line in section.lines)]
        else:
            lines += section.lines
    return lines


def _indented(line: object) -> Text:
    return joined(["  ", marked(line)], "")


def _new_sections(new: NewWeek) -> list[Section]:
    since: list[object] = []
    if new.changes is not None and new.handed_out is not None:
        since = [*change_lines(new.changes), *handed_out_lines(new.handed_out)]
    left, of_model = [left_line(new.coupons)], model_details(new.choice)
    no_model = new.plan.same_for_all is not None  # only then the sheet does not say how many are kept
    sections = [
        Section(HEAD, Text(""), tuple(head_lines(new))),
        Section(SINCE, say("Since last week"), tuple(since)),
        Section(THIS_WEEK, say("This week"), (*(left if no_model else []), *sheet_lines(new.plan), *new.notes)),
        Section(MODEL, say("The model"), tuple(model_news(new.choice))),
        Section(DETAILS, say("Details"), (*([] if no_model else left), *detail_lines(new.plan), *of_model)),
    ]
    return [section for section in sections if section.lines]
