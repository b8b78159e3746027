"""Options that several commands share."""

from typing import Annotated

import typer

# Numbers, not whole numbers: a budget of 1.5 then meets the message of `Rules`, which says what was found.
BUDGET = Annotated[float, typer.Option(metavar="N", help="Vouchers for the whole study.")]
PEOPLE = Annotated[float, typer.Option(metavar="N", help="People on the first frontier.")]
ROUNDS = Annotated[float, typer.Option(metavar="N", help="Rounds after which the study ends.")]
MAX_PER_PERSON = Annotated[float | None, typer.Option(metavar="N", help="Most vouchers one person may get in a round.")]
MAX_PER_ROUND = Annotated[
    float | None, typer.Option(metavar="N", help="Most vouchers that may be given out in a round.")
]
SEED = Annotated[int, typer.Option(help="Names the luck; the same seed gives the same people and the same results.")]
WORKERS = Annotated[int, typer.Option(help="Processes that share the work; results do not depend on it.")]
BACKEND = Annotated[str, typer.Option(help="loky (this machine), dask or ray (a cluster; optional extras).")]
SCHEDULER = Annotated[
    str | None, typer.Option(help="Address of a running Dask scheduler or Ray head.", show_default=False)
]
INTERRUPTED = 130  # the exit code of a command that Ctrl-C ended
