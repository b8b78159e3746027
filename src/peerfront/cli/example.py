"""`peerfront example`: a made-up study to try the commands on."""

from pathlib import Path
from typing import Annotated

import typer

from peerfront.cli.options import OVERWRITE, SEED, claim, out_path
from peerfront.cli.screen import show


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

    made = demo_study(people, seed)  # type: ignore[arg-type] # checked there
    for path, table in ((out / "study.csv", made.study), (out / "frontier.csv", made.frontier)):
        write_csv(path, table.to_csv(index=False, lineterminator="\n"))
    show(
        f"{len(made.study):,} people written to {out / 'study.csv'}, and the {len(made.frontier):,} of them who wait "
        f"for coupons to {out / 'frontier.csv'}. Nobody in them exists.\n"
        f"Next: peerfront check {out / 'study.csv'} --out {out / 'checked'}"
    )
