"""Options of the commands that plan for a frontier: what there is to give out, and what is too much."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from peerfront.advice.sheet import PlanOrder

MAX_PER_PERSON = Annotated[
    float | None,
    typer.Option(metavar="N", help="Most coupons for one person; otherwise the model's.", show_default=False),
]
MIN_PER_PERSON = Annotated[float, typer.Option(metavar="N", help="Fewest coupons for everybody, in every round.")]
ROUND_CAP = Annotated[
    float | None,
    typer.Option(metavar="N", help="Most coupons in one round; otherwise the model's.", show_default=False),
]
ROUNDS_LEFT = Annotated[
    float | None,
    typer.Option(
        metavar="N", help="Rounds left, this one included; otherwise as many as the model knows.", show_default=False
    ),
]
RESERVE = Annotated[float, typer.Option(metavar="N", help="Coupons to keep back.")]
TARGET = Annotated[float | None, typer.Option(metavar="N", help="People wanted in all.", show_default=False)]
EPISODES = Annotated[float, typer.Option(metavar="N", help="Simulated studies.")]


def order_of(
    budget: float,
    max_per_person: float | None,
    min_per_person: float,
    round_cap: float | None,
    rounds_left: float | None,
    reserve: float,
) -> "PlanOrder":
    """The order, or an error that says what was found and what is allowed."""
    from peerfront.advice.sheet import PlanOrder
    from peerfront.problem import whole_number

    def maybe(name: str, value: float | None) -> int | None:
        return None if value is None else whole_number(name, value, 1)

    return PlanOrder(
        whole_number("budget", budget, 1),
        maybe("max per person", max_per_person),
        whole_number("min per person", min_per_person, 0),
        maybe("round cap", round_cap),
        maybe("rounds left", rounds_left),
        whole_number("reserve", reserve, 0),
    )
