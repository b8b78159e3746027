"""A week of a running study in words: sections with titles, for a terminal, a page and the folder's summary."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from peerfront.data.problems import KINDS
from peerfront.foundation.messages import Remedy, Severity
from peerfront.study.coupon_sheet import CouponSheet
from peerfront.study.week import NewWeek, WeekResult
from peerfront.study.week_changes import Changes, CouponsLeft, HandedOut
from peerfront.study.week_model import ModelChoice
from peerfront.study.week_plan import FORECAST, PICTURE, PRINTED, SHEET, SameForAll, WeekPlan
from peerfront.words.language import Text, joined, marked, n_coupons, n_people, percent, say, say_n, warn
from peerfront.words.stored_text import as_data, from_data

SUMMARY, SUMMARY_DATA = "summary.txt", "summary.json"
HEAD, SINCE, THIS_WEEK, EXPECT, MODEL, DETAILS = "head", "since", "this_week", "expect", "model", "details"
"""Keys of the sections."""
_LISTED = 8  # people in one sentence


@dataclass(frozen=True)
class Section:
    """Some lines of a week's summary; `key` says which, whatever the title is in the language in use."""

    key: str
    title: Text
    """Empty above the first lines."""
    lines: tuple[object, ...]


def week_lines(result: WeekResult) -> list[object]:
    """Everything that a coordinator has to read, titles and lines; details are left out."""
    shown = [section for section in sections_of(result) if section.key != DETAILS]
    return [*_with_titles(shown), log_line(result)]


def sections_of(result: WeekResult) -> list[Section]:
    """The sections of a week, newly made or read from its folder."""
    return stored_sections(result.folder) if result.new is None else _new_sections(result.new)


def stored_sections(folder: Path) -> list[Section]:
    """The sections that a week's folder keeps; one without titles where it was written by version 0.3."""
    try:
        data = json.loads((folder / SUMMARY_DATA).read_text(encoding="utf-8"))
        return [Section(each["key"], from_data(each["title"]), tuple(from_data(each["lines"]))) for each in data]
    except (OSError, ValueError, KeyError, TypeError):
        file = folder / SUMMARY
        text = file.read_text(encoding="utf-8", errors="replace") if file.exists() else ""
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
        "Log: {n:,} line, last hash {head} (write it on the printed sheet).",
        "Log: {n:,} lines, last hash {head} (write it on the printed sheet).",
        result.log_lines,
        head=result.log_head,
    )


def files_written(plan: WeekPlan) -> list[tuple[str, Text]]:
    """The files of the week's folder, and what each is."""
    files = [(SHEET, say("who gets how many coupons, and why"))]
    if len(plan.table):
        files.append((PRINTED, say("the same to print and fill in")))
    if plan.forecast is not None:
        files += [(FORECAST, say("interviews by week, with bands")), (PICTURE, say("the same as a picture"))]
    return [*files, (SUMMARY, say("everything above")), ("people.csv", say("who was in the file, for next week"))]


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
    needed, details = _sheet_lines(new.plan)
    sections = [
        Section(HEAD, Text(""), tuple(_head(new))),
        Section(SINCE, say("Since last week"), tuple(since)),
        Section(THIS_WEEK, say("This week"), (_left_line(new.coupons), *needed)),
        Section(EXPECT, say("What to expect"), tuple(outlook_lines(new.plan))),
        Section(MODEL, say("The model"), tuple(model_lines(new.choice))),
        Section(DETAILS, say("More about the sheet"), tuple(details)),
    ]
    return [section for section in sections if section.lines]


# The file --------------------------------------------------------------------------------------------------------


def _head(new: NewWeek) -> list[object]:
    title = say(
        "Week {number}, {day}: {people} in {file}.",
        number=new.number,
        day=new.day.isoformat(),
        people=n_people(new.people),
        file=new.source,
    )
    skipped = say_n(
        "{n} week was skipped: the last plan is {days} days old.",
        "{n} weeks were skipped: the last plan is {days} days old.",
        new.skipped,
        days=new.days_since,
    )
    lines: list[object] = [joined([title, skipped]) if new.skipped else title]
    if new.later:
        lines.append(
            warn(
                "{people} of the file took part after {day}, the day of this plan, and were left out. Give a later day "
                "({remedy}) if that is wrong.",
                people=n_people(new.later),
                day=new.day.isoformat(),
                remedy=Remedy("date"),
            )
        )
    if new.problems:
        kinds = [
            say("{problem} ({count:,})", problem=KINDS[kind].title, count=count) for kind, count in new.problems.items()
        ]
        file, schema = new.check
        lines.append(
            warn(
                "The file has doubtful places: {kinds}. `peerfront check {file} --schema {schema}` shows where, and "
                "what to do.",
                kinds=kinds,
                file=file,
                schema=schema,
            )
        )
    return lines


def change_lines(changes: Changes) -> list[Text]:
    """What is new, gone or different in the file since last week."""
    lines = [
        say(
            "New since last week: {recruits}, {seeds}; {coupons} handed out.",
            recruits=say_n("{n:,} recruit", "{n:,} recruits", changes.recruits),
            seeds=say_n("{n:,} seed", "{n:,} seeds", changes.seeds),
            coupons=n_coupons(changes.issued),
        )
    ]
    if changes.lost:
        lines.append(
            warn(
                "Missing from last week's file: {lost}. Rows that are lost take their recruits and coupons with them; "
                "restore them, unless these people withdrew.",
                lost=_listed(changes.lost),
            )
        )
    different = [
        say("{who} has {coupons}, last week {before:,}", who=who, coupons=n_coupons(has), before=had)
        for who, has, had in changes.fewer_coupons
    ]
    different += [
        say(
            "{who} is a recruit of {now}, last week of {before}",
            who=who,
            now=now or say("nobody"),
            before=before or say("nobody"),
        )
        for who, now, before in changes.other_recruiter
    ]
    if different:
        lines.append(say("Changed since last week: {changes}.", changes=_listed(different)))
    return lines


def handed_out_lines(done: HandedOut) -> list[Text]:
    """Last week's plan against what was handed out."""
    if not len(done.table):
        return [say("Last week nobody was waiting, so there was no sheet to follow.")]
    there = done.table.dropna()
    right = there["planned"] == there["given"]
    lines = [
        say(
            "Last week's sheet: {planned} planned for {people}, {given:,} handed out; {right:,} of {all:,} as planned.",
            planned=n_coupons(int(there["planned"].sum())),
            people=n_people(len(there)),
            given=int(there["given"].sum()),
            right=int(right.sum()),
            all=len(there),
        )
    ]
    wrong = there[~right]
    not_yet = [str(person) for person in wrong[wrong["given"] == 0]["person"]]
    if not_yet:
        lines.append(
            say(
                "  Nothing yet for {people}: they are waiting still, and are on this week's sheet.",
                people=_listed(not_yet),
            )
        )
    others = [
        say("{who} ({given:.0f}, planned {planned})", who=who, given=given, planned=planned)
        for who, planned, given in wrong[wrong["given"] > 0].to_numpy(dtype=object).tolist()
    ]
    if others:
        lines.append(say("  Another number: {people}.", people=_listed(others)))
    unplanned = [
        say("{who} ({given})", who=who, given=given) for who, given in done.unplanned.to_numpy(dtype=object).tolist()
    ]
    if unplanned:
        lines.append(say("  Not on the sheet, and got coupons: {people}.", people=_listed(unplanned)))
    return lines


def _listed(texts: Sequence[object]) -> Text:
    """The first of them, and how many more there are."""
    first, more = list(texts[:_LISTED]), len(texts) - _LISTED
    if more <= 0:
        return say("{list}", list=first)
    return say_n("{list} and {n:,} more", "{list} and {n:,} more", more, list=first)


# The plan --------------------------------------------------------------------------------------------------------


def _left_line(coupons: CouponsLeft) -> Text:
    left = say("{left} left to give out, of {budget:,}.", left=n_coupons(coupons.left), budget=coupons.budget)
    if not coupons.of_missing:
        return left
    missing = say(
        "{coupons} of people who are no longer in the file count as handed out.", coupons=n_coupons(coupons.of_missing)
    )
    return joined([left, missing])


def sheet_lines(plan: WeekPlan) -> list[object]:
    """What a coordinator has to read about this week's sheet."""
    return _sheet_lines(plan)[0]


def detail_lines(plan: WeekPlan) -> list[object]:
    """What only somebody who asks needs to know: other numbers of coupons, bounds, what was assumed."""
    return _sheet_lines(plan)[1]


def _sheet_lines(plan: WeekPlan) -> tuple[list[object], list[object]]:
    if plan.same_for_all is not None:
        return [_same_for_all(plan.same_for_all)], []
    lines = _lines_of(plan.sheet)
    n_first = 2 if plan.sheet.certificate is not None else len(lines)
    first, rest = lines[:n_first], lines[n_first:]
    grave = [_is_warning(line) for line in rest]
    return (
        [*first, *(line for line, warns in zip(rest, grave, strict=True) if warns)],
        [line for line, warns in zip(rest, grave, strict=True) if not warns],
    )


def _lines_of(sheet: CouponSheet) -> list[Any]:
    return list(sheet.lines())


def _is_warning(line: object) -> bool:
    if isinstance(line, str):  # until sheets and fits have their own words
        return line.startswith("Warning") or "come within" in line
    return getattr(line, "severity", None) is Severity.WARNING


def _same_for_all(share: SameForAll) -> Text:
    if not share.people:
        return say("Nobody waits for coupons.")
    if not share.available and share.wanted:
        return say("{people} waiting, and no coupon for this week.", people=n_people(share.people))
    if share.one_more:
        return say(
            "Give {coupons} to {people}, drawn by lot, and {each} to the others who wait.",
            coupons=n_coupons(share.each + 1),
            people=n_people(share.one_more),
            each=share.each,
        )
    return say_n(
        "Give {coupons} to the person who waits.",
        "Give {coupons} to each of the {n:,} people who wait.",
        share.people,
        coupons=n_coupons(share.each),
    )


def outlook_lines(plan: WeekPlan) -> list[object]:
    """What to expect by date, or why nothing can be said."""
    if plan.why_no_forecast:
        return [
            say("No forecast by date: {why}. `peerfront forecast` looks ahead by rounds.", why=plan.why_no_forecast)
        ]
    if plan.forecast is None or plan.rounds is None or plan.until is None:
        return []
    until = plan.until.isoformat()
    if plan.has_deadline:
        rounds = say_n(
            "Until {until} (the deadline) {n} generation of recruits fits in, by how long people take to return.",
            "Until {until} (the deadline) {n} generations of recruits fit in, by how long people take to return.",
            plan.rounds,
            until=until,
        )
    else:
        rounds = say_n(
            "Until {until} (as far as is looked ahead; if there is a deadline: {remedy}) {n} generation of recruits "
            "fits in, by how long people take to return.",
            "Until {until} (as far as is looked ahead; if there is a deadline: {remedy}) {n} generations of recruits "
            "fit in, by how long people take to return.",
            plan.rounds,
            until=until,
            remedy=Remedy("deadline"),
        )
    lines: list[object] = [rounds]
    if plan.late:
        share = percent(plan.in_time)
        lines.append(say("Of the recruits whom this week's coupons bring, {share} come by then.", share=share))
    lines += plan.forecast.lines()
    if plan.is_restricted:
        lines.append(
            say(
                "The forecast by date is of the plan without strata and random numbers; the sheet says what these cost."
            )
        )
    return lines


# The model -------------------------------------------------------------------------------------------------------


def model_lines(choice: ModelChoice) -> list[object]:
    """Whether the model is new and why, and what the fit warns of."""
    if choice.too_small is not None:
        return [choice.too_small]
    if not choice.refitted and choice.kept_as_asked:
        return [
            say(
                "The model of {day} is kept, as asked: {news:,} holders and recruits are new since.",
                day=choice.before,
                news=choice.news,
            )
        ]
    if not choice.refitted:
        return [
            say(
                "The model of {day} is kept: {news:,} holders and recruits since, too few to change it.",
                day=choice.before,
                news=choice.news,
            )
        ]
    holders = n_people(choice.fitted_to.holders)
    fitted = (
        say("Fitted to {people} who have had coupons; the fit before was of {day}.", people=holders, day=choice.before)
        if choice.before
        else say("Fitted to {people} who have had coupons.", people=holders)
    )
    return [fitted, *(line for line in _summary_of(choice) if _is_warning(line))]


def _summary_of(choice: ModelChoice) -> list[object]:
    return [] if choice.model is None else list(choice.model.summary)
