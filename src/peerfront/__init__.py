"""peerfront: decide who gets how many referral coupons, this round and the next.

    import peerfront as pf

    study = pf.read_study("study.csv")  # or a pandas table
    model = pf.fit(study, budget=60, rounds=5)
    sheet = model.plan(study.waiting)  # sheet.table, sheet.why, sheet.curve, sheet.certificate
    model.forecast(study.waiting).plot()
    pf.compare(worlds=["bridge"], policies=["threshold", "gfp"], draws=5).table

Importing the package loads nothing heavy: each name below is imported from its room when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.2.0"

if TYPE_CHECKING:
    from peerfront.advice.fitting import FitSettings
    from peerfront.advice.forecast import Forecast
    from peerfront.advice.model import Model, fit, load
    from peerfront.advice.orders import PlanOrder
    from peerfront.advice.sheet import CouponSheet
    from peerfront.data.read_settings import ReadSettings
    from peerfront.data.reading import read_frontier, read_study
    from peerfront.data.schema_file import read_schema
    from peerfront.data.schema_guess import guess_schema
    from peerfront.data.study import Study
    from peerfront.experiments.compare import compare
    from peerfront.experiments.policies import make_policy
    from peerfront.experiments.results import Results
    from peerfront.foundation.errors import PeerfrontError
    from peerfront.foundation.randomness import named_luck
    from peerfront.problem import (
        Allocation,
        BranchingWorld,
        Frontier,
        History,
        Policy,
        Rules,
        State,
        World,
        rollout,
    )
    from peerfront.simulation.catalog import make_world
    from peerfront.simulation.demo_study import demo_study

_ROOMS = {
    "advice.fitting": ("FitSettings",),
    "advice.forecast": ("Forecast",),
    "advice.model": ("Model", "fit", "load"),
    "advice.orders": ("PlanOrder",),
    "advice.sheet": ("CouponSheet",),
    "data.read_settings": ("ReadSettings",),
    "data.reading": ("read_frontier", "read_study"),
    "data.schema_file": ("read_schema",),
    "data.schema_guess": ("guess_schema",),
    "data.study": ("Study",),
    "experiments.compare": ("compare",),
    "experiments.policies": ("make_policy",),
    "experiments.results": ("Results",),
    "foundation.errors": ("PeerfrontError",),
    "foundation.randomness": ("named_luck",),
    "problem": (
        "Allocation", "BranchingWorld", "Frontier", "History", "Policy", "Rules", "State", "World", "rollout",
    ),
    "simulation.catalog": ("make_world",),
    "simulation.demo_study": ("demo_study",),
}  # fmt: skip
_ROOM_OF = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = [
    "Allocation",
    "BranchingWorld",
    "CouponSheet",
    "FitSettings",
    "Forecast",
    "Frontier",
    "History",
    "Model",
    "PeerfrontError",
    "PlanOrder",
    "Policy",
    "ReadSettings",
    "Results",
    "Rules",
    "State",
    "Study",
    "World",
    "__version__",
    "compare",
    "demo_study",
    "fit",
    "guess_schema",
    "load",
    "make_policy",
    "make_world",
    "named_luck",
    "read_frontier",
    "read_schema",
    "read_study",
    "rollout",
]


def __getattr__(name: str) -> object:
    if name not in _ROOM_OF:
        raise AttributeError(f"module 'peerfront' has no attribute {name!r}")
    value: object = getattr(import_module(f"peerfront.{_ROOM_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
