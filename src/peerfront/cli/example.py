"""`peerfront example`: a made-up study to try the commands on."""

from pathlib import Path
from typing import Annotated

import typer

from peerfront.cli.options import OVERWRITE, SEED


def example_command(
    out: Annotated[Path, typer.Option(help="Folder for study.csv and frontier.csv.")],
    people: Annotated[float, typer.Option(metavar="N", help="About how many people took part so far.")] = 500,
    seed: SEED = 0,
    overwrite: OVERWRITE = False,
) -> None:
    """Write a made-up study (nobody in it exists) and the people who wait for coupons now."""
    from peerfront.data.writers import csv_bytes
    from peerfront.foundation.errors import OutputExists
    from peerfront.foundation.files import make_folder, write_bytes
    from peerfront.simulation.demo_study import demo_study

    files = {out / "study.csv", out / "frontier.csv"}
    if out.exists() and not out.is_dir():
        raise OutputExists(f"{out} is a file. Choose another folder.")
    there = sorted(path.name for path in files if path.exists())
    if there and not overwrite:
        raise OutputExists(
            f"{out} holds {', '.join(there)} already. Use --overwrite to replace them, or choose another folder."
        )
    made = demo_study(people, seed)  # type: ignore[arg-type] # checked there
    make_folder(out)
    for path, table in ((out / "study.csv", made.study), (out / "frontier.csv", made.frontier)):
        write_bytes(path, csv_bytes(table.to_csv(index=False, lineterminator="\n")))
    typer.echo(
        f"{len(made.study):,} people written to {out / 'study.csv'}, and the {len(made.frontier):,} of them who wait "
        f"for coupons to {out / 'frontier.csv'}. Nobody in them exists.\n"
        f"Next: peerfront check {out / 'study.csv'} --out {out / 'checked'}"
    )
