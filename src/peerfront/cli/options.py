"""Options that several commands share."""

from typing import Annotated

import typer

BUDGET = Annotated[int, typer.Option(help="Vouchers for the whole study.")]
PEOPLE = Annotated[int, typer.Option(help="People on the first frontier.")]
ROUNDS = Annotated[int, typer.Option(help="Rounds after which the study ends.")]
MAX_PER_PERSON = Annotated[int | None, typer.Option(help="Most vouchers one person may get in a round.")]
MAX_PER_ROUND = Annotated[int | None, typer.Option(help="Most vouchers that may be given out in a round.")]
SEED = Annotated[int, typer.Option(help="Names the luck; the same seed gives the same people and the same results.")]
