"""The screen and the files of a forecast by date (`peerfront forecast --study`)."""

from pathlib import Path
from typing import TYPE_CHECKING

from peerfront.cli.screen import cell, new_screen, show
from peerfront.words.result_files import DATE_FORECAST_FILES, write_date_forecast

if TYPE_CHECKING:
    from rich.table import Table

    from peerfront.study.date_forecast import DateForecast


def show_by_date(forecast: "DateForecast", out: Path | None) -> None:
    """Show tables and sentences, and write the files."""
    console = new_screen()
    console.print(_weeks(forecast))
    for line in forecast.lines():
        console.print(cell(line))
    if out is not None:
        write_date_forecast(out, forecast)
        show(f"\nWritten to {out}: {', '.join(DATE_FORECAST_FILES)}.")


def _weeks(forecast: "DateForecast") -> "Table":
    from rich.table import Table

    table = Table(title="The plan, week by week", title_justify="left", box=None, pad_edge=False)
    table.add_column("until")
    names = ["given", "interviews", "8 of 10", "in all", "8 of 10", "open"]
    for name in [*names, *(["queue"] if forecast.interviews_per_week is not None else [])]:
        table.add_column(name, justify="right", no_wrap=True)
    own = forecast.weeks[forecast.weeks["policy"] == forecast.summary["policy"].iloc[0]]
    for row in own.to_dict("records"):
        in_all, low, high = (forecast.already + row[name] for name in ("total", "total_p10", "total_p90"))
        queue = [f"{row['queue']:.1f}"] if forecast.interviews_per_week is not None else []
        table.add_row(
            str(row["until"]),
            f"{row['spent']:.1f}",
            f"{row['interviews']:.1f}",
            f"{row['p10']:.0f} - {row['p90']:.0f}",
            f"{in_all:.1f}",
            f"{low:.0f} - {high:.0f}",
            f"{row['open']:.1f}",
            *queue,
        )
    table.caption = "given: coupons at the week's start; open: coupons at its end"
    table.caption_justify = "left"
    return table
