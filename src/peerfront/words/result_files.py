"""Write the files of each result, for the commands and for the app."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from peerfront.foundation.errors import PeerfrontError
from peerfront.foundation.files import write_bytes, write_csv, write_text

if TYPE_CHECKING:
    import pandas as pd

    from peerfront.data.mending import Decision
    from peerfront.data.study import Study, Summary
    from peerfront.data.study_schema import StudySchema
    from peerfront.study.backtest import Backtest
    from peerfront.study.coupon_sheet import CouponSheet, Heading
    from peerfront.study.design import Design
    from peerfront.study.estimation import Estimates
    from peerfront.study.outlook import Outlook

SCHEMA_FILE = "schema.toml"
CHANGES_FILE = "changes.csv"
CHECK_FILES = ("problems.csv", "summary.csv", "summary.json", "tree.dot", SCHEMA_FILE)
FORECAST_FILES = (
    "rounds.csv", "weeks.csv", "summary.csv", "parts.csv", "seeds.csv", "target.csv", "forecast.png", "forecast.svg",
)  # fmt: skip
"""Files of a forecast: rounds.csv without dates, weeks.csv and target.csv with dates, seeds.csv if it may stop."""
BACKTEST_FILES = (
    "forecasts.csv", "simple.csv", "trust.json", "weeks.csv", "backtest.txt", "backtest.png", "backtest.svg",
)  # fmt: skip
DESIGN_FILES = (
    "settings.json", "repetitions.csv", "rules.csv", "estimators.csv", "design.txt", "design.png", "design.svg",
)  # fmt: skip
_ESTIMATE_TABLES = ("estimates.csv", "diagnostics.csv", "estimates.txt")
_COMPARISONS, _POPULATION = "comparisons.csv", "population.csv"
_WEIGHTS = ("weights", "replicate-weights")
_ESTIMATE_PICTURES = ("estimates", "convergence", "bottlenecks", "seeds")
_PICTURE_KINDS = ("png", "svg")


def write_check(
    folder: Path,
    study: "Study",
    summary: "Summary",
    schema: "StudySchema",
    reasons: Mapping[str, Any],
    names: tuple[str, ...] = CHECK_FILES,
    changes: bytes | None = None,
) -> None:
    """Write the results of `check`; `names` may leave out the schema, `changes` are those of a mended copy."""
    from peerfront.data.schema_file import schema_text
    from peerfront.data.writers import dot_text
    from peerfront.foundation.spreadsheets import csv_text
    from peerfront.words.study_check import problem_table

    tables = {"problems.csv": problem_table(study.problems), "summary.csv": summary.table()}
    for name, table in tables.items():
        write_csv(folder / name, csv_text(table), private=True)
    write_text(folder / "summary.json", summary.as_json(), private=True)
    write_text(folder / "tree.dot", dot_text(study), private=True)
    if SCHEMA_FILE in names:
        write_text(folder / SCHEMA_FILE, schema_text(schema, reasons, study.source), private=True)
    if changes is not None:
        write_bytes(folder / CHANGES_FILE, changes, private=True)


def write_mended(original: Path, copy: Path, content: bytes, decisions: "Iterable[Decision]") -> Path:
    """Write a mended copy and beside it the log of its changes, after those of the file it was made from."""
    from datetime import datetime
    from hashlib import sha256

    from peerfront.data.mending import changes_of, log_beside
    from peerfront.foundation.spreadsheets import csv_text
    from peerfront.words.study_check import change_table

    now = datetime.now().astimezone().isoformat(timespec="seconds")
    digests = (sha256(each).hexdigest() for each in (original.read_bytes(), content))
    header, rows = csv_text(change_table(decisions, now, *digests)).split("\n", 1)
    earlier = (changes_of(original) or b"").decode("utf-8-sig") or f"{header}\n"
    log = log_beside(copy)
    is_new = not log.exists()
    write_csv(log, earlier + rows, private=True)
    try:
        write_bytes(copy, content, private=True)
    except PeerfrontError:
        if is_new:
            log.unlink(missing_ok=True)
        raise
    return log


def write_waiting(file: Path, study: "Study") -> int:
    """Write the people who wait for coupons, as `plan` reads them; return their number."""
    from peerfront.foundation.spreadsheets import csv_text

    waiting = study.waiting
    write_csv(file, csv_text(waiting), private=True)
    return len(waiting)


def curve_file(sheet: Path) -> Path:
    """The file beside a sheet with the value of other spends."""
    return sheet.with_name(f"{sheet.stem}-curve.csv")


def write_sheet(file: Path, sheet: "CouponSheet", heading: "Heading") -> None:
    """Write a coupon sheet by its file's ending: a workbook, a PDF, or CSV with the curve of spends beside it."""
    from peerfront.study.coupon_sheet import PDF, WORKBOOK, sheet_kind

    kind = sheet_kind(file)
    if kind == WORKBOOK:
        write_bytes(file, sheet.excel(heading), private=True)
    elif kind == PDF:
        write_bytes(file, sheet.pdf(heading), private=True)
    else:
        write_csv(file, sheet.csv(), private=True)
        write_csv(curve_file(file), sheet.curve.to_csv(index=False, lineterminator="\n", float_format="%.4f"))


def write_forecast(folder: Path, forecast: "Outlook") -> None:
    """Write the tables and the picture of a forecast, by rounds or by date; remove those of the other kind."""
    from peerfront.foundation.spreadsheets import csv_text

    for name in FORECAST_FILES:
        if name.endswith(".csv") and name not in forecast.tables:
            (folder / name).unlink(missing_ok=True)
    for name, table in forecast.tables.items():
        write_text(folder / name, csv_text(table))
    _write_picture(folder / "forecast", forecast.plot())


def write_backtest(folder: Path, test: "Backtest") -> None:
    """Write the tables, the sentences and the picture of a back-test."""
    from peerfront.foundation.spreadsheets import csv_text

    for name, table in (("forecasts", test.forecasts), ("simple", test.simple), ("weeks", test.weeks)):
        write_text(folder / f"{name}.csv", csv_text(table))
    write_text(folder / "trust.json", json.dumps([asdict(each) for each in test.trust], indent=2) + "\n")
    write_text(folder / "backtest.txt", f"{test}\n")
    _write_picture(folder / "backtest", test.plot())


def estimate_files(
    outcomes: int, *, groups: bool = False, guess: bool = False, weights: bool = False
) -> tuple[str, ...]:
    """The files of estimates of this many columns; with groups, a guess of the population, and weights."""
    more = [*([_COMPARISONS] if groups else []), *([_POPULATION] if guess else [])]
    more += [f"{_stem(name, number)}.csv" for number in range(outcomes) for name in _WEIGHTS if weights]
    pictures = [
        f"{_stem(name, number)}.{kind}"
        for number in range(outcomes)
        for name in _ESTIMATE_PICTURES
        for kind in _PICTURE_KINDS
    ]
    return (*_ESTIMATE_TABLES, *more, *pictures)


def write_estimates(
    folder: Path,
    estimates: "Estimates",
    *,
    groups: bool = False,
    weights: Sequence[tuple["pd.DataFrame", "pd.DataFrame"]] = (),
) -> None:
    """Write estimates in full precision, diagnostics, sentences, and pictures for each outcome.

    `weights` are those of each outcome's people, and their replicates, if they are wanted.
    """
    from peerfront.foundation.shown import visible_message
    from peerfront.foundation.spreadsheets import csv_text
    from peerfront.words.language import marked

    write_csv(folder / "estimates.csv", csv_text(estimates.table))
    write_csv(folder / "diagnostics.csv", csv_text(estimates.diagnostic_table()))
    if groups:
        write_csv(folder / _COMPARISONS, csv_text(estimates.comparisons))
    if estimates.population_size is not None:
        write_csv(folder / _POPULATION, csv_text(estimates.population_size.table))
    for number, tables in enumerate(weights):
        for name, table in zip(_WEIGHTS, tables, strict=True):
            write_csv(folder / f"{_stem(name, number)}.csv", csv_text(table), private=True)
    said = [*estimates.lines(), *estimates.details()]
    write_text(folder / "estimates.txt", visible_message("\n".join(map(marked, said))) + "\n")
    for number, each in enumerate(estimates.outcomes):
        for name, figure in estimates.plot(each.outcome.name).items():
            _write_picture(folder / _stem(name, number), figure)


def write_design(folder: Path, design: "Design") -> None:
    """Write the tables, the sentences and the picture of a design; its studies are in the folder already."""
    from peerfront.foundation.shown import visible_message
    from peerfront.foundation.spreadsheets import csv_text

    write_csv(folder / "rules.csv", csv_text(design.rules, "%.6g"))
    write_csv(folder / "estimators.csv", csv_text(design.table, "%.6g"))
    write_text(folder / "design.txt", visible_message(str(design)) + "\n")
    _write_picture(folder / "design", design.plot())


def _stem(name: str, number: int) -> str:
    """The name of an outcome's picture: those of the second outcome are called estimates-2 and so on."""
    return name if number == 0 else f"{name}-{number + 1}"


def _write_picture(path: Path, figure: Any) -> None:
    from peerfront.foundation.pictures import rendered

    for kind in _PICTURE_KINDS:
        write_bytes(path.with_name(f"{path.name}.{kind}"), rendered(figure, kind))
