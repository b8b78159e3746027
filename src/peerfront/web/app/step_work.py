"""The work of the steps, in a process of its own: `python -m peerfront.web.app.step_work FOLDER-OF-THE-JOB`.

It runs in the study's folder, so that a large or damaged file, or a fault of ours, never stops the pages. Each function
takes the choices of the forms, calls the library as the command of the same name does, writes the same files, and
returns what the page shows: sentences and messages as data, tables as rows.
"""

import signal
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from peerfront.foundation.errors import DataFileError, PeerfrontError
from peerfront.foundation.files import claimed
from peerfront.foundation.messages import Message, Progress, Severity, note
from peerfront.web.app.app_folder import STATE, AppFolder, read_data, write_data
from peerfront.web.app.app_jobs import ORDER_FILE, PROGRESS_FILE, RESULT_FILE
from peerfront.words import commands, result_files
from peerfront.words.language import Medium, catalogue, speaking
from peerfront.words.study_charts import outlook_facts

if TYPE_CHECKING:
    import pandas as pd

    from peerfront.data.problems import ProblemGroup, Proposal
    from peerfront.study.coupon_sheet import Heading
    from peerfront.study.orders import PlanOrder
    from peerfront.study.outlook import Outlook

Choices = Mapping[str, Any]
Result = dict[str, Any]
_ENDED = 143  # exit code of a process that SIGTERM ended
_MARKED = 0.01  # progress after which the time is noted
MODEL, SCHEMA = Path(commands.MODEL), Path(commands.SCHEMA)


def main() -> None:
    """Carry out the order in the job's folder, and write the result or the error beside it."""
    own = Path(sys.argv[1])
    if hasattr(signal, "SIGTERM"):
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # end as Ctrl-C does: temporary files are removed
    order = read_data(own / ORDER_FILE)
    try:
        with speaking(catalogue(order["language"], Medium.TERMINAL)):  # as the command writes files
            content = _content(order, own)
    except KeyboardInterrupt:
        sys.exit(_ENDED)
    write_data(own / RESULT_FILE, content)


def _content(order: Mapping[str, Any], own: Path) -> Result:
    begun, marks = time.monotonic(), [(0.0, 0.0)]

    def progress(share: float, what: object) -> None:
        write_data(own / PROGRESS_FILE, {"share": share, "what": what})
        if share >= marks[-1][0] + _MARKED:
            marks.append((share, time.monotonic() - begun))

    try:
        return {"result": WORK[order["work"]](order["choices"], progress), "marks": marks[1:]}
    except PeerfrontError as problem:
        return {"error": problem.message}
    except MemoryError:
        return {"error": Message("work.out_of_memory", severity=Severity.ERROR)}


# The steps -----------------------------------------------------------------------------------------------------------


def read(choices: Choices, progress: Progress, notes: "Sequence[Message]" = ()) -> Result:
    """Read the study's file: write its contents for the pages, its schema, and the files of `check`."""
    from peerfront.data.mending import changes_of
    from peerfront.web.app.file_look import look

    if choices.get("example"):
        from peerfront.simulation.demo_study import EXAMPLE_FILES, demo_study

        example = Path(commands.EXAMPLE)
        with claimed(example, EXAMPLE_FILES, overwrite=True):
            demo_study().write(example)
    folder = AppFolder(Path())
    progress(0.0, note("work.reading"))
    looked = look(folder, choices)
    progress(0.8, note("work.writing"))
    looked.contents["notes"] += notes
    if looked.parts is not None:
        study, summary, guess = looked.parts
        checked, waiting = Path(commands.CHECKED), Path(commands.WAITING)
        (checked / result_files.CHANGES_FILE).unlink(missing_ok=True)
        with _outputs({checked: result_files.CHECK_FILES, waiting: ()}, Path(choices["file"])):
            changes = changes_of(Path(choices["file"]))
            result_files.write_check(checked, study, summary, guess.schema, guess.reasons, changes=changes)
            result_files.write_waiting(waiting, study)
    folder.write_contents(looked.contents)
    if looked.error is not None:
        raise looked.error
    return {"choices": {"reading": looked.contents["reading"]}}


def mend(choices: Choices, progress: Progress) -> Result:
    """Carry out the accepted changes in a copy of the study's file, and read that one from now on."""
    from peerfront.data.mending import ACCEPTED, REFUSED, copy_beside, mendable, mended_in_rounds
    from peerfront.web.app.file_look import alike_key, offer_key, read_settings_of
    from peerfront.words.study_check import offer_text

    original = Path(choices["file"])
    accepted, alike = ({tuple(each) for each in choices[name]} for name in ("accepted", "alike"))

    def chosen(groups: "tuple[ProblemGroup, ...]") -> "list[Proposal]":
        return [
            each
            for group in groups
            for each in group.proposals
            if tuple(alike_key(group)) in alike or offer_key(group, each) in accepted
        ]

    opened = mendable(original, read_settings_of(choices.get("reading", {})))
    mended, decisions = mended_in_rounds(opened, chosen)
    refused = [
        note("mending.refused", offer=offer_text(d.proposal), why=d.why) for d in decisions if d.decision == REFUSED
    ]
    if not any(each.decision == ACCEPTED for each in decisions):
        raise DataFileError("mending.nothing_changed", why=refused or "")
    copy = copy_beside(original, opened.path.suffix)
    while copy.exists():
        copy = copy_beside(copy)
    result_files.write_mended(original, copy, mended.content, decisions)
    reading = {**choices.get("reading", {})}
    if opened.path != original:
        reading |= {"sheet": "", "columns": {role: list(names) for role, names in mended.settings.columns.items()}}
    told = {"file": copy.as_posix(), "reading": reading, "copy": copy.as_posix(), "original": original.as_posix()}
    folder = AppFolder(Path())
    first = folder.choices.get("original") or {"file": original.as_posix(), "reading": choices.get("reading", {})}
    folder.choose(file=told["file"], reading=reading, original=first)
    return {"choices": told | read({**choices, **told}, progress, refused)["choices"]}


def fit(choices: Choices, progress: Progress) -> Result:
    """Fit a model to the study's file, and prepare plans for the coupons that are left."""
    from peerfront.data.schema_file import read_schema
    from peerfront.study.artifacts import claimed_target
    from peerfront.study.fit_settings import FitSettings
    from peerfront.study.model import fit as fit_model
    from peerfront.study.week_changes import read_running_study

    with claimed_target(MODEL, overwrite=True):
        names = ("budget", "rounds", "max_per_person", "people", "response", "discount", "accept_gain")
        settings = FitSettings(**_given(choices, names), max_per_round=choices.get("round_cap"))
        schema = read_schema(SCHEMA)
        study = read_running_study(Path(choices["file"]), schema.reading, Path())
        fitted = fit_model(study, schema, settings, progress=progress)
        fitted.save(MODEL, overwrite=True)
    return {"lines": fitted.summary.lines(), "details": fitted.summary.details()}


def plan(choices: Choices, progress: Progress) -> Result:
    """Plan this round and look ahead: the sheet, and what to expect of it."""
    from peerfront.study.model import load
    from peerfront.study.week_changes import read_running_study
    from peerfront.words.sheet import sheet_lines

    files = [Path(name) for name in (commands.SHEET, commands.WORKBOOK, commands.PDF)]
    ahead, own = Path(commands.FORECAST), choices.get("waiting")
    source = Path(own or choices["file"])
    made = {**dict.fromkeys((*files, result_files.curve_file(files[0])), ()), ahead: result_files.FORECAST_FILES}
    with _outputs(made, MODEL, source):
        order, heading = _order(choices), _heading(choices)
        fitted = load(MODEL)
        reading = fitted.schema.reading
        people = fitted.frontier(source) if own else read_running_study(source, reading, Path(), newest=True)
        given = _given(choices, ("already", "as_of"))
        sheet = fitted.advise(people, order, progress=progress, **given).sheet
        for file in files:
            result_files.write_sheet(file, sheet, heading)
        if sheet.outlook is None:
            for name in result_files.FORECAST_FILES:
                (ahead / name).unlink(missing_ok=True)
        else:
            result_files.write_forecast(ahead, sheet.outlook)
    return {
        "choices": {"ahead": sheet.outlook is not None},
        "lines": sheet_lines(sheet, with_groups=False),
        "details": sheet.details(),
        **_people(sheet.table),
        "curve": _rows(sheet.curve),
        "outlook": None if sheet.outlook is None else _outlook(sheet.outlook),
    }


def _outlook(outlook: "Outlook") -> Result:
    from peerfront.words.outlook_words import horizon_text, outlook_tables

    return {
        "lines": outlook.lines(),
        "details": outlook.details(),
        "tables": [dict(vars(each)) for each in outlook_tables(outlook)],
        "plan": _rows(outlook.summary)[0],
        "facts": outlook_facts(outlook),
        "until": horizon_text(outlook),
        "target": outlook.target if outlook.still_wanted else None,
        "choices": {
            each.described.code: each.recruits for each in outlook.choices.each if isinstance(each.described, Message)
        },
    }


def estimate(choices: Choices, progress: Progress) -> Result:
    """Estimate shares and means in the population."""
    from peerfront.data.reading import read_study
    from peerfront.data.schema_file import read_schema
    from peerfront.study.estimation import estimate as estimates_of
    from peerfront.words.estimates import common_lines, outcome_results

    place, file, outcomes = Path(commands.ESTIMATES), Path(choices["file"]), choices["outcome"]
    groups = bool(choices.get("by"))
    names = result_files.estimate_files(len(outcomes), groups=groups)
    with _outputs({place: names}, file, SCHEMA):
        study = read_study(file, read_schema(SCHEMA).reading)
        estimates = estimates_of(
            study, outcomes, decisions=Path(choices["decisions"]) if choices.get("decisions") else (),
            **_given(choices, ("population", "by", "interval", "bootstraps")),
        )  # fmt: skip
        result_files.write_estimates(place, estimates, groups=groups)
    return {"outcomes": outcome_results(estimates), "lines": common_lines(estimates)}


def report(choices: Choices, progress: Progress) -> Result:
    """Write the report about study, model, plan and forecast."""
    from peerfront.study.model import load
    from peerfront.study.week_changes import read_running_study

    out, file, asked = Path(commands.REPORT), Path(choices["file"]), choices["order"]
    with _outputs({out: ()}, MODEL, file):
        fitted = load(MODEL)
        order = _order(asked)
        fitted.report(
            read_running_study(file, fitted.schema.reading, Path(), newest=True),
            fitted.frontier(Path(asked["waiting"])) if asked.get("waiting") else None,
            order,
            out=out,
            seed=order.seed,
            heading=_heading(asked),
            with_trees=not choices.get("without_trees"),
            progress=progress,
            **_given(asked, ("as_of",)),
            **_given(choices, ("with_ids", "outcome")),
        )
    return {}


def week(choices: Choices, progress: Progress) -> Result:
    """Plan this week of the running study."""
    from peerfront.foundation.settings import calendar_day
    from peerfront.study.week import WeekRequest, run_week
    from peerfront.study.week_plan import WeekOrder

    names = {*(each.name for each in fields(WeekOrder)), "more_coupons"}
    request = WeekRequest(
        calendar_day("date", choices["date"]) if choices.get("date") else None,
        choices.get("refit") or "auto",
        model=Path(choices["model"]) if choices.get("model") else None,
        study=choices.get("study") or "",
        given=_given(choices, names),
    )
    result = run_week(Path(choices["file"]), Path(), request, progress)
    if result.plan is not None:
        ahead = result.plan.outlook
        shown = _people(result.plan.table) | ({} if ahead is None else {"outlook": {"facts": outlook_facts(ahead)}})
        AppFolder(Path()).write(f"{STATE}/{result.folder.name}.json", shown)
    return {}


def undo_week(choices: Choices, progress: Progress) -> Result:
    """Take back the last week."""
    from peerfront.study.week import undo_week as undo

    undo(Path())
    return {}


WORK: Mapping[str, Callable[[Choices, Progress], Result]] = {
    work.__name__: work
    for work in (read, mend, fit, plan, estimate, report, week, undo_week)
}  # fmt: skip


# Parts ---------------------------------------------------------------------------------------------------------------


def _given(choices: Choices, names: Iterable[str]) -> Result:
    """The settings that were entered; the library's defaults hold for the others."""
    return {name: choices[name] for name in names if choices.get(name) is not None}


def _order(choices: Choices) -> "PlanOrder":
    from peerfront.study.orders import PlanOrder

    names = {each.name for each in fields(PlanOrder)} - {"already"}
    listed = {"strata": (choices["strata"],) if choices.get("strata") else (), "at_least": choices.get("at_least", ())}
    return PlanOrder(**_given({**choices, **{name: tuple(value) for name, value in listed.items()}}, names))


def _heading(choices: Choices) -> "Heading":
    from datetime import date

    from peerfront.study.coupon_sheet import Heading

    return Heading(choices.get("study") or "", choices.get("date") or date.today().isoformat(), choices.get("round"))


def _outputs(outputs: Mapping[Path, tuple[str, ...]], *inputs: Path) -> ExitStack:
    """Lock the outputs until they are written: files, and folders with the names of the files within them."""
    with ExitStack() as held:
        for path, names in outputs.items():
            held.enter_context(claimed(path, names, overwrite=True, inputs=inputs))
        return held.pop_all()


def _people(table: "pd.DataFrame") -> Result:
    """The people of a coupon sheet, and the reasons that they share: in a few words and whole, in any language."""
    from peerfront.words.reason_words import reason_text, short_reason

    places: dict[Any, int] = {}
    people = [
        {"person": person, "coupons": coupons, "reason": places.setdefault(reason, len(places))}
        for person, coupons, reason in table[["person", "coupons", "reason"]].to_numpy(dtype=object).tolist()
    ]
    return {"people": people, "reasons": [(short_reason(each), reason_text(each)) for each in places]}


def _rows(table: "pd.DataFrame") -> list[Result]:
    return [{str(name): value for name, value in row.items()} for row in table.to_dict("records")]


if __name__ == "__main__":
    main()
