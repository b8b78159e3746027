"""`peerfront forecast`, `backtest` and `report`: what to expect, how earlier forecasts fared, a page about it all."""

from pathlib import Path
from typing import Annotated

import typer

from peerfront.cli import options
from peerfront.cli.options import claim, number, order_of, output, people_in, schema_in, shown_progress, study_in, text
from peerfront.cli.screen import show_result, show_written, tell
from peerfront.foundation.errors import SettingError
from peerfront.foundation.messages import Remedy


def forecast_command(
    context: typer.Context,
    model: options.MODEL,
    budget: Annotated[float, number("Coupons that are left.")],
    frontier: Annotated[
        Path | None, typer.Argument(help="CSV or Excel file with the people who may refer next.")
    ] = None,
    study_file: options.STUDY_FILE = None,
    deadline: options.DEADLINE = None,
    as_of: options.AS_OF = None,
    interviews_per_week: options.INTERVIEWS = None,
    sheet: options.SHEET = None,
    target: options.TARGET = None,
    already: Annotated[
        float, number("People who have taken part so far, towards the target and of the population.")
    ] = 0,
    population: options.POPULATION = None,
    acquaintances: options.ACQUAINTANCES = None,
    left_column: options.LEFT_COLUMN = None,
    rounds_left: options.ROUNDS_LEFT = None,
    max_per_person: options.MAX_PER_PERSON_NOW = None,
    min_per_person: options.MIN_PER_PERSON = 0,
    round_cap: options.ROUND_CAP = None,
    reserve: options.RESERVE = 0,
    response: options.RESPONSE = "average",
    at_least: options.AT_LEAST = None,
    strata: options.STRATA = None,
    randomise: options.RANDOMISE = 0.0,
    spend: options.SPEND = None,
    episodes: options.EPISODES = None,
    seed: options.SEED = 0,
    details: options.DETAILS = False,
    out: Annotated[Path | None, output("Folder for the tables (CSV) and the picture (PNG, SVG).")] = None,
    overwrite: options.OVERWRITE = False,
) -> object:
    """Simulate the study from here on: how many come and when, chances, coupons that stay unused.

    With --study-file by date, open coupons included; with FRONTIER, a file of the people who may refer next, by rounds.
    """
    from peerfront.study.model import load
    from peerfront.words.outlook_words import outlook_tables
    from peerfront.words.result_files import FORECAST_FILES, write_forecast

    claim(context, out, FORECAST_FILES, overwrite=overwrite, inputs=(model, frontier, study_file))
    order = order_of(context, already=None)
    fitted = load(model)
    people = people_in(model, fitted, frontier, study_file, sheet, left_column)
    with shown_progress() as progress:
        outlook = fitted.forecast(people, order, already=already, as_of=as_of, episodes=episodes, progress=progress)
    show_result(outlook_tables(outlook), [*outlook.lines(), *(outlook.details() if details else [])])
    if out is not None:
        write_forecast(out, outlook)
        show_written(out, [name for name in FORECAST_FILES if (out / name).exists()])
    return outlook


def backtest_command(
    context: typer.Context,
    study: options.FILE,
    schema: options.SCHEMA = None,
    at: Annotated[
        list[str] | None,
        text(
            "DATE",
            "A day at which to cut, such as 2026-03-02 (a wave where there are no dates); repeatable. Otherwise five "
            "cuts from a quarter of the study's time on.",
        ),
    ] = None,
    by_waves: Annotated[bool, typer.Option("--by-waves", help="Cut by waves although there are dates.")] = False,
    interviews_per_week: Annotated[
        float | None, number("Interviews that could be held in a week; others queue.")
    ] = None,
    episodes: Annotated[float, number("Simulated studies for each cut.")] = 300,
    seed: options.SEED = 0,
    valid_days: Annotated[float | None, text("DAYS", "Days that coupons are valid, if the file does not say.")] = None,
    format: options.FORMAT = None,
    map: options.MAP = None,
    missing: options.MISSING = None,
    coupons_each: options.COUPONS_EACH = None,
    sheet: options.SHEET = None,
    preset: options.PRESET = None,
    strict: options.STRICT = False,
    read_anyway: options.READ_ANYWAY = None,
    out: Annotated[
        Path | None, output("Folder for tables (CSV), words and picture; a run that was stopped goes on there.")
    ] = None,
    overwrite: options.OVERWRITE = False,
) -> object:
    """Cut a study at earlier days, fit to what was known, forecast the rest, and compare with what came.

    Forecasts know how many coupons people really got afterwards, not who came. The result says whether forecasts can
    be relied on, near and far, and whether they are better than simple ones.
    """
    from peerfront.data.columns.column_findings import vetted
    from peerfront.data.columns.schema_guess import guess_schema
    from peerfront.study.backtest import BacktestSettings, backtest
    from peerfront.words.backtest_words import backtest_tables
    from peerfront.words.result_files import BACKTEST_FILES, write_backtest

    settings = BacktestSettings(
        at=tuple(at or ()), by_waves=by_waves, interviews_per_week=interviews_per_week, seed=seed,
        studies=episodes,  # type: ignore[arg-type] # checked there
    )  # fmt: skip
    claim(context, out, BACKTEST_FILES, overwrite=overwrite, inputs=(study, schema))
    columns = schema_in(schema)
    file = study_in(
        study, columns, near=schema, strict=strict, format=format, map=map, missing=missing, coupons_each=coupons_each,
        sheet=sheet, preset=preset, valid_days=valid_days, read_anyway=read_anyway,
    )  # fmt: skip
    if columns is None:
        columns = guess_schema(file).schema
    columns.check_columns(file)
    with shown_progress() as progress:
        test = backtest(file, vetted(file, columns).schema, settings, progress, kept=out)
    show_result(backtest_tables(test), test.lines())
    if out is not None:
        write_backtest(out, test)
        show_written(out, BACKTEST_FILES)
    return test


def report_command(
    context: typer.Context,
    model: options.MODEL,
    file: options.FILE,
    out: Annotated[Path, output("The page to write, such as report.html.")],
    frontier: Annotated[
        Path | None,
        typer.Option(
            help="CSV or Excel file with the people who may refer next; otherwise those of the study's file who wait."
        ),
    ] = None,
    sheet: options.SHEET = None,
    budget: Annotated[float | None, number("Coupons that are left; otherwise the model's budget.")] = None,
    target: options.TARGET = None,
    rounds_left: options.ROUNDS_LEFT = None,
    max_per_person: options.MAX_PER_PERSON_NOW = None,
    min_per_person: options.MIN_PER_PERSON = 0,
    round_cap: options.ROUND_CAP = None,
    reserve: options.RESERVE = 0,
    response: options.RESPONSE = "average",
    at_least: options.AT_LEAST = None,
    learn: options.LEARN = False,
    learn_share: options.LEARN_SHARE = None,
    strata: options.STRATA = None,
    randomise: options.RANDOMISE = 0.0,
    spend: options.SPEND = None,
    deadline: options.DEADLINE = None,
    as_of: options.AS_OF = None,
    interviews_per_week: options.INTERVIEWS = None,
    episodes: options.EPISODES = None,
    seed: options.SEED = 0,
    with_ids: Annotated[
        bool, typer.Option("--with-ids", help="Show the coupon sheet to print, participants' ids included.")
    ] = False,
    without_trees: Annotated[
        bool,
        typer.Option("--without-trees", help="Do not draw who recruited whom; single people can be counted there."),
    ] = False,
    forecast_before: Annotated[
        Path | None, text("PATH", "Folder of an earlier forecast by date, to show beside what came since.")
    ] = None,
    backtest: Annotated[Path | None, text("PATH", "Folder that `backtest` wrote, to show how forecasts fared.")] = None,
    outcome: Annotated[
        list[str] | None,
        text("FIELD", "Also estimate this column in the population, with diagnostics of the sample; repeatable."),
    ] = None,
    population: options.POPULATION = None,
    decisions: Annotated[Path | None, text("FILE", "The decision log with people's strata, for --outcome.")] = None,
    study_name: options.STUDY = None,
    date: options.DATE = None,
    round: options.ROUND = None,
    overwrite: options.OVERWRITE = False,
) -> object:
    """Write a page that can be printed and sent: plan, forecast, what is known, data, trees, fit, what to disclose.

    Nothing in it is loaded from elsewhere, and no id is in it unless you ask with --with-ids. The same files, settings
    and --date give the same page.
    """
    from peerfront.foundation.files import write_text
    from peerfront.study.model import load
    from peerfront.study.outlook import STUDIES
    from peerfront.study.population import population_total
    from peerfront.study.report import ReportSettings, study_report
    from peerfront.study.report_calendar import read_earlier_backtest, read_earlier_forecast
    from peerfront.study.study_folder import study_of
    from peerfront.study.week_changes import read_running_study
    from peerfront.words.report_page import report_page

    if decisions is not None and not outcome:
        raise SettingError("report.needs_outcome", decisions=Remedy("decisions"), outcome=Remedy("outcome"))
    heading = options.heading_of(study_name, date, round)
    claim(
        context, out, overwrite=overwrite, inputs=(model, file, frontier, forecast_before, backtest, decisions),
        make_folder=False,
    )  # fmt: skip
    fitted = load(model)
    order = order_of(context, budget=fitted.fit.rules.budget if budget is None else budget)
    people = None if frontier is None else fitted.frontier(frontier, sheet or "")
    study = read_running_study(file, fitted.schema.reading, study_of(model), newest=True)
    options.show_doubts(study, file)
    settings = ReportSettings(
        STUDIES if episodes is None else episodes, seed, with_ids, not without_trees, heading, tuple(outcome or ()),  # type: ignore[arg-type] # checked there
        population_total(order, fitted.fit.schema), decisions, as_of,
    )  # fmt: skip
    before = None if forecast_before is None else read_earlier_forecast(forecast_before)
    tested = None if backtest is None else read_earlier_backtest(backtest)
    with shown_progress() as progress:
        report = study_report(fitted.fit, study, fitted.schema, order, people, settings, progress, before, tested)
    write_text(out, report_page(report), private=with_ids)
    tell("Written: {file}.", file=out)
    return {
        "file": out, "order": report.order, "rules": report.rules, "counts": report.counts, "problems": report.problems,
        "plan": report.plan, "sheet": report.sheet if with_ids else None, "outlook": report.outlook,
        "belief": fitted.fit.scores.get("coupon_stories"), "estimates": report.estimates,
    }  # fmt: skip
