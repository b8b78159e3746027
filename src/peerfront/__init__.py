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
    from peerfront.data.columns.schema_guess import guess_schema as guess_schema
    from peerfront.data.read.read_settings import ReadSettings as ReadSettings
    from peerfront.data.reading import read_frontier as read_frontier
    from peerfront.data.reading import read_study as read_study
    from peerfront.data.schema_file import read_schema as read_schema
    from peerfront.data.study import Study as Study
    from peerfront.experiments.comparison_run import compare as compare
    from peerfront.experiments.policies import make_policy as make_policy
    from peerfront.experiments.results import Results as Results
    from peerfront.foundation.errors import PeerfrontError as PeerfrontError
    from peerfront.foundation.randomness import named_luck as named_luck
    from peerfront.problem import Allocation as Allocation
    from peerfront.problem import BranchingWorld as BranchingWorld
    from peerfront.problem import Frontier as Frontier
    from peerfront.problem import History as History
    from peerfront.problem import Policy as Policy
    from peerfront.problem import Rules as Rules
    from peerfront.problem import State as State
    from peerfront.problem import World as World
    from peerfront.problem import rollout as rollout
    from peerfront.simulation.catalog import make_world as make_world
    from peerfront.simulation.demo_study import demo_study as demo_study
    from peerfront.study.coupon_sheet import CouponSheet as CouponSheet
    from peerfront.study.coupon_sheet import Heading as Heading
    from peerfront.study.design import Design as Design
    from peerfront.study.design import design as design
    from peerfront.study.design_worlds import DesignSettings as DesignSettings
    from peerfront.study.estimation import Estimates as Estimates
    from peerfront.study.estimation import estimate as estimate
    from peerfront.study.fit_settings import FitSettings as FitSettings
    from peerfront.study.model import Model as Model
    from peerfront.study.model import fit as fit
    from peerfront.study.model import load as load
    from peerfront.study.orders import PlanOrder as PlanOrder
    from peerfront.study.outlook import Outlook as Outlook

_EXPORTS = {
    "data.columns.schema_guess": ("guess_schema",),
    "data.read.read_settings": ("ReadSettings",),
    "data.reading": ("read_frontier", "read_study"),
    "data.schema_file": ("read_schema",),
    "data.study": ("Study",),
    "experiments.comparison_run": ("compare",),
    "experiments.policies": ("make_policy",),
    "experiments.results": ("Results",),
    "foundation.errors": ("PeerfrontError",),
    "foundation.randomness": ("named_luck",),
    "problem": ("Allocation", "BranchingWorld", "Frontier", "History", "Policy", "Rules", "State", "World", "rollout"),
    "simulation.catalog": ("make_world",),
    "simulation.demo_study": ("demo_study",),
    "study.coupon_sheet": ("CouponSheet", "Heading"),
    "study.design": ("Design", "design"),
    "study.design_worlds": ("DesignSettings",),
    "study.estimation": ("Estimates", "estimate"),
    "study.fit_settings": ("FitSettings",),
    "study.outlook": ("Outlook",),
    "study.model": ("Model", "fit", "load"),
    "study.orders": ("PlanOrder",),
}
_ROOM_OF = {name: room for room, names in _EXPORTS.items() for name in names}
__all__ = sorted(("__version__", *_ROOM_OF))


def __getattr__(name: str) -> object:
    if name not in _ROOM_OF:
        raise AttributeError(f"module 'peerfront' has no attribute {name!r}")
    value: object = getattr(import_module(f"peerfront.{_ROOM_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
