"""Bridge: people with little immediate yield open the community that matters.

Local people bring many (rate 4), all dead ends; a Bridge brings few (rate .8), all of them Hubs; Hubs bring three,
more than half of them Hubs again.
"""

from peerfront.simulation.typed import TypedWorld, typed_world


def bridge() -> TypedWorld:
    return typed_world(
        "bridge",
        rates={"Local": 4.0, "Bridge": 0.8, "Hub": 3.0, "Dead": 0.02},
        recruits={
            "Local": {"Dead": 1.0},
            "Bridge": {"Hub": 1.0},
            "Hub": {"Hub": 0.6, "Dead": 0.4},
            "Dead": {"Dead": 1.0},
        },
        start={"Local": 0.5, "Bridge": 0.4, "Dead": 0.1},
    )
