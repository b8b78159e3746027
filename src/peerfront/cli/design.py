"""`peerfront design`: before launch, what each rule for coupons brings and what it does to the study's estimates."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from peerfront.cli.options import INTERRUPTED, OVERWRITE, SEED, claim, out_path
from peerfront.cli.screen import cell, new_screen, show

if TYPE_CHECKING:
    import pandas as pd

    from peerfront.study.design import Design, DesignSettings
    from peerfront.study.model import Model

_ROWS, _SETTINGS = "repetitions.csv", "settings.json"
_FILES = (_SETTINGS, _ROWS, "rules.csv", "estimators.csv", "design.txt", "design.png", "design.svg")


def _number(help: str) -> Any:
    return typer.Option(metavar="N", help=help)


def design_command(
    context: typer.Context,
    model: Annotated[
        Path | None,
        typer.Argument(
            help="The folder of a fit, for people like its study's and its plan; without it, assumptions alone.",
            show_default=False,
        ),
    ] = None,
    population: Annotated[float, _number("People in the population.")] = 2000,
    prevalence: Annotated[float, _number("Share of people with the outcome.")] = 0.2,
    homophily: Annotated[
        float, _number("Ties between people with and without the outcome that chance would give, for each there is.")
    ] = 1.5,
    activity: Annotated[
        float, _number("Acquaintances of people with the outcome, for each of the others' (without a model).")
    ] = 1.0,
    outcome: Annotated[
        str | None,
        typer.Option(
            metavar="FIELD[=CATEGORY]",
            help="With a model: its field that is the outcome. Otherwise one is spread over the network by "
            "--prevalence and --homophily.",
            show_default=False,
        ),
    ] = None,
    brings: Annotated[
        float, _number("People whom somebody would bring with coupons enough, on average (without a model).")
    ] = 1.5,
    unequal: Annotated[
        float,
        _number("How much kinds of people differ in that, in favour of those with the outcome and of group a."),
    ] = 1.0,
    coupons: Annotated[float, _number("Coupons for the whole study.")] = 500,
    max_per_person: Annotated[float, _number("Most coupons for one person.")] = 3,
    sample: Annotated[
        float | None,
        typer.Option(metavar="N", help="People after whom interviews end; otherwise all who come.", show_default=False),
    ] = None,
    seeds: Annotated[float, _number("People with whom the study begins.")] = 10,
    rounds: Annotated[float, _number("Rounds after which the study ends.")] = 12,
    strata: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FIELD[+FIELD]",
            help="Try a plan in which coupons differ only between these strata; repeatable. Otherwise group, or the "
            "field of the model whose people differ most.",
            show_default=False,
        ),
    ] = None,
    randomise: Annotated[
        list[float] | None,
        typer.Option(
            metavar="CHANCE",
            help="Try a plan in which everybody has at least this chance of each number; repeatable. Otherwise 0.1; "
            "0 for none.",
            show_default=False,
        ),
    ] = None,
    repetitions: Annotated[float, _number("Simulated studies under each rule.")] = 100,
    bootstraps: Annotated[float, _number("Times each sample is drawn again for its interval.")] = 50,
    seed: SEED = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            parser=out_path,
            metavar="PATH",
            help="Folder for tables (CSV), words (text) and the picture (PNG, SVG).",
            show_default=False,
        ),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with what --out already holds.")] = False,
    overwrite: OVERWRITE = False,
) -> None:
    """Before a study starts: compare rules for coupons by the recruits they bring and by what they do to its estimate.

    Whole studies are played on networks in which everybody's outcome is known: with the same number for everybody,
    under the plan, within strata, with random numbers. Recommends a rule. With --out, Ctrl-C keeps what is finished:
    repeat the command with --resume.
    """
    from peerfront.foundation.errors import SettingError
    from peerfront.study.design import DesignSettings

    if (resume or overwrite) and out is None:
        raise SettingError("--resume and --overwrite need --out, the folder they are about.")
    if resume and overwrite:
        raise SettingError("Choose one of --resume (go on with what is there) and --overwrite (replace it).")
    if outcome and model is None:
        raise SettingError("--outcome names a field of a model; without one, say --prevalence and --homophily.")
    chances = (0.1,) if randomise is None else tuple(chance for chance in randomise if chance != 0.0)
    settings = DesignSettings(
        population=population,  # type: ignore[arg-type] # checked there, as are the others
        prevalence=prevalence,
        homophily=homophily,
        activity=activity,
        brings=brings,
        unequal=unequal,
        coupons=coupons,  # type: ignore[arg-type]
        max_per_person=max_per_person,  # type: ignore[arg-type]
        sample=sample,  # type: ignore[arg-type]
        seeds=seeds,  # type: ignore[arg-type]
        rounds=rounds,  # type: ignore[arg-type]
        outcome=outcome or "",
        strata=None if strata is None else tuple(strata),
        randomise=chances,
        repetitions=repetitions,  # type: ignore[arg-type]
        bootstraps=bootstraps,  # type: ignore[arg-type]
        seed=seed,
    )
    if out is not None:
        advice = "Or --resume to go on with them."
        claim(context, out, _FILES, overwrite=overwrite or resume, inputs=(model,), advice=advice)
    from peerfront.study.model import load

    made = _played(None if model is None else load(model), settings, out, resume)
    _print(made)
    if out is not None:
        _write(made, out)
        show(f"\nWritten to {out}: {', '.join(_FILES)}.")


def _played(model: "Model | None", settings: "DesignSettings", out: Path | None, resume: bool) -> "Design":
    """Play what is not done yet; with `out`, each network's studies are written when they are finished."""

    from peerfront.cli.options import shown_progress
    from peerfront.foundation.files import write_text
    from peerfront.study.design import PER_NETWORK, Design, design_parts, settings_record

    record = json.loads(json.dumps(settings_record(settings, model)))
    parts = [_done(out, record)] if resume and out is not None else []
    done = {int(each) for part in parts for each in part["repetition"]}

    def is_done(network: int) -> bool:
        first = network * PER_NETWORK
        return all(each in done for each in range(first, min(first + PER_NETWORK, settings.repetitions)))

    if out is not None and not (resume and (out / _SETTINGS).exists()):
        write_text(out / _SETTINGS, json.dumps(record, indent=2) + "\n")
        (out / _ROWS).unlink(missing_ok=True)
    with shown_progress() as progress:
        try:
            for part in design_parts(model, settings, progress, is_done):
                fresh = part[~part["repetition"].isin(done)]
                parts.append(fresh)
                if out is not None:
                    write_text(out / _ROWS, _sorted(parts).to_csv(index=False, lineterminator="\n"))
        except KeyboardInterrupt:
            kept = "Nothing was written."
            if out is not None:
                kept = f"What is done is kept in {out}. Repeat the command with --resume to go on."
            show(f"\nStopped. {kept}", err=True)
            raise typer.Exit(INTERRUPTED) from None
    rows = _sorted(parts)
    return Design(settings, rows[rows["repetition"] < settings.repetitions].reset_index(drop=True))


def _sorted(parts: "list[pd.DataFrame]") -> "pd.DataFrame":
    """All rows, study by study, the rules in their order: the same whether or not the work was interrupted."""
    import pandas as pd

    from peerfront.study.design import PER_NETWORK

    rows = pd.concat([part for part in parts if len(part)], ignore_index=True)
    order = {rule: place for place, rule in enumerate(dict.fromkeys(rows["rule"]))}
    network = rows["repetition"].astype(int) // PER_NETWORK
    return (
        rows.assign(_network=network, _place=rows["rule"].map(order))
        .sort_values(["_network", "_place", "repetition"], kind="stable")
        .drop(columns=["_network", "_place"])
        .reset_index(drop=True)
    )


def _done(out: Path, record: dict[str, Any]) -> "pd.DataFrame":
    """The studies that a folder holds, if they were played with the same settings."""
    import pandas as pd

    from peerfront.foundation.errors import DataFileError
    from peerfront.study.design_results import ROW_COLUMNS

    empty = pd.DataFrame(columns=list(ROW_COLUMNS))
    if not (out / _SETTINGS).exists():
        return empty
    try:
        saved = json.loads((out / _SETTINGS).read_text(encoding="utf-8"))
        rows = pd.read_csv(out / _ROWS, keep_default_na=True) if (out / _ROWS).exists() else empty
    except (OSError, ValueError) as problem:
        raise DataFileError(f"{out} cannot be gone on with ({problem}). Use --overwrite to begin anew.") from None
    if saved != record:
        differing = sorted(name for name in {*saved, *record} if saved.get(name) != record.get(name))
        raise DataFileError(
            f"{out} holds a design with other settings ({', '.join(differing)}). Repeat the command as it was, use "
            "--overwrite to begin anew, or choose another folder."
        )
    if tuple(rows.columns) != ROW_COLUMNS:
        raise DataFileError(f"{out / _ROWS} is not as it was written. Use --overwrite to begin anew.")
    return rows.assign(estimator=rows["estimator"].fillna(""))


def _print(made: "Design") -> None:
    from rich.table import Table

    console = new_screen()
    for title, frame, first in (
        ("Rules, with the estimate that is advised", made.rules, ("rule",)),
        ("\nEvery estimator", made.table, ("rule", "estimator")),
    ):
        table = Table(title=title, title_justify="left", box=None, pad_edge=False)
        shown = [*first, *(name for name in _SHOWN if name in frame.columns)]
        for name in shown:
            table.add_column(_SHOWN.get(name, name), justify="left" if name in first else "right")
        before = ""
        for row in frame.to_dict("records"):
            rule, before = "" if row["rule"] == before else str(row["rule"]), str(row["rule"])
            texts = [rule, *(str(row[name]) for name in first[1:])]
            table.add_row(*map(cell, texts), *(_shown(name, row[name]) for name in shown[len(first) :]))
        console.print(table)
    console.print()
    for line in made.lines():
        console.print(cell(line))


_SHOWN = {
    "recruits": "recruits", "coupons": "coupons", "estimated": "studies", "bias": "bias", "rmse": "error (rms)",
    "coverage": "coverage", "design_effect": "design effect",
}  # fmt: skip


def _shown(name: str, value: float) -> str:
    if value != value:
        return ""
    patterns = {"bias": "{:+.3f}", "rmse": "{:.3f}", "coverage": "{:.0%}", "design_effect": "{:.1f}"}
    return patterns.get(name, "{:.0f}").format(value)


def _write(made: "Design", out: Path) -> None:
    from peerfront.foundation.figures import rendered
    from peerfront.foundation.files import write_bytes, write_csv, write_text
    from peerfront.foundation.shown import visible_message
    from peerfront.foundation.spreadsheets import csv_text

    write_csv(out / "rules.csv", csv_text(made.rules, "%.6g"))
    write_csv(out / "estimators.csv", csv_text(made.table, "%.6g"))
    write_text(out / "design.txt", visible_message(str(made.lines())) + "\n")
    figure = made.plot()
    for kind in ("png", "svg"):
        write_bytes(out / f"design.{kind}", rendered(figure, kind))
