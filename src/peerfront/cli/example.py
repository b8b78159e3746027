"""`peerfront example`: a made-up study to try the commands on."""

from pathlib import Path
from typing import Annotated

import typer

from peerfront.cli.options import OVERWRITE, SEED, claim, out_path
from peerfront.cli.screen import show
from peerfront.words.language import say


def example_command(
    context: typer.Context,
    out: Annotated[Path, typer.Option(parser=out_path, metavar="PATH", help="Folder for study.csv and frontier.csv.")],
    people: Annotated[float, typer.Option(metavar="N", help="About how many people took part so far.")] = 500,
    seed: SEED = 0,
    overwrite: OVERWRITE = False,
) -> None:
    """Write a made-up study (nobody in it exists) and the people who wait for coupons now."""
    from peerfront.foundation.files import write_csv

    claim(context, out, ("frontier.csv", "study.csv"), overwrite=overwrite)
    from peerfront.simulation.demo_study import demo_study

    tables = demo_study(people, seed)  # type: ignore[arg-type] # checked there
    for path, table in ((out / "study.csv", tables.study), (out / "frontier.csv", tables.frontier)):
        write_csv(path, table.to_csv(index=False, lineterminator="\n"))
    show(
        say(
            "{people:,} people written to {study}, and the {waiting:,} of them who wait for coupons to {frontier}. "
            "Nobody in them exists.\nNext: {command}",
            people=len(tables.study),
            study=out / "study.csv",
            waiting=len(tables.frontier),
            frontier=out / "frontier.csv",
            command=f"peerfront check {out / 'study.csv'} --out {out / 'checked'}",
        )
    )
