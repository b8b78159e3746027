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
from pathlib import Path
from typing import TYPE_CHECKING

from peerfront.foundation.machine import place_compiled_code

__version__ = "0.3.0"
place_compiled_code(Path(__file__).parent)

if TYPE_CHECKING:
    from peerfront.data.columns.schema_guess import guess_schema
    from peerfront.data.frontier_files import read_frontier
    from peerfront.data.read.read_settings import ReadSettings
    from peerfront.data.reading import read_study
    from peerfront.data.schema_file import read_schema
    from peerfront.data.study import Study
    from peerfront.experiments.comparison_run import compare
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
    from peerfront.study.coupon_sheet import CouponSheet, Heading
    from peerfront.study.design import Design, design
    from peerfront.study.design_worlds import DesignSettings
    from peerfront.study.estimation import Estimates, estimate
    from peerfront.study.fit_settings import FitSettings
    from peerfront.study.forecast import Forecast
    from peerfront.study.model import Model, fit, load
    from peerfront.study.orders import PlanOrder

_ROOM_OF = {
    "Allocation": "problem",
    "BranchingWorld": "problem",
    "CouponSheet": "study.coupon_sheet",
    "Design": "study.design",
    "DesignSettings": "study.design_worlds",
    "Estimates": "study.estimation",
    "FitSettings": "study.fit_settings",
    "Forecast": "study.forecast",
    "Frontier": "problem",
    "Heading": "study.coupon_sheet",
    "History": "problem",
    "Model": "study.model",
    "PeerfrontError": "foundation.errors",
    "PlanOrder": "study.orders",
    "Policy": "problem",
    "ReadSettings": "data.read.read_settings",
    "Results": "experiments.results",
    "Rules": "problem",
    "State": "problem",
    "Study": "data.study",
    "World": "problem",
    "compare": "experiments.comparison_run",
    "demo_study": "simulation.demo_study",
    "design": "study.design",
    "estimate": "study.estimation",
    "fit": "study.model",
    "guess_schema": "data.columns.schema_guess",
    "load": "study.model",
    "make_policy": "experiments.policies",
    "make_world": "simulation.catalog",
    "named_luck": "foundation.randomness",
    "read_frontier": "data.frontier_files",
    "read_schema": "data.schema_file",
    "read_study": "data.reading",
    "rollout": "problem",
}

__all__ = [
    "Allocation",
    "BranchingWorld",
    "CouponSheet",
    "Design",
    "DesignSettings",
    "Estimates",
    "FitSettings",
    "Forecast",
    "Frontier",
    "Heading",
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
    "design",
    "estimate",
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
