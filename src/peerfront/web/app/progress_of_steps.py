"""The steps of a study in the app: which are done, and which are to be done again because something before changed."""

from dataclasses import dataclass
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from peerfront.web.app import commands
from peerfront.web.app.folder import BY_DATE, ESTIMATES, FILES, FORECAST, MODEL, REPORT, SCHEMA, SHEET, AppFolder

STEPS: tuple[tuple[str, Promise | str], ...] = (
    ("file", _("File")),
    ("columns", _("Columns")),
    ("fit", _("Fit")),
    ("sheet", _("Sheet")),
    ("forecast", _("Forecast")),
    ("estimates", _("Estimates")),
    ("report", _("Report")),
    ("week", _("Next week")),
)
"""Name of the page and what the menu calls it, in the order of work."""
_MADE = {
    "fit": (f"{MODEL}/manifest.json",),
    "sheet": (SHEET,),
    "forecast": (f"{FORECAST}/summary.csv", f"{BY_DATE}/summary.csv"),
    "estimates": (f"{ESTIMATES}/estimates.csv",),
    "report": (REPORT,),
    "week": ("log.jsonl",),
}


@dataclass(frozen=True)
class StepState:
    """How far a step is."""

    made: bool
    """Whether there is something to show."""
    outdated: bool = False
    """Whether what it was made from has changed since."""


def state_of(folder: AppFolder, step: str) -> StepState:
    if step in ("file", "columns"):
        return StepState(_is_read(folder))
    made = any(folder.has(name) for name in _MADE[step])
    inputs: dict[str, str] = folder.outcome(step).get("inputs", {})
    choices = folder.choices
    chosen = (choices.get("file"), choices.get("waiting"))
    others = any(name.startswith(f"{FILES}/") and name not in chosen for name in inputs)
    changed = others or folder.digests(inputs) != inputs or _ordered_otherwise(folder, step)
    return StepState(made, made and changed)


def sheet_order(folder: AppFolder) -> dict[str, Any]:
    """What the sheet was made with, or the coupons that the model was fitted for: what other steps look ahead from."""
    return dict(folder.outcome("sheet").get("ordered") or {"budget": folder.choices.get("fit", {}).get("budget")})


def _ordered_otherwise(folder: AppFolder, step: str) -> bool:
    """Whether a step rests on another order than that of the sheet as it is now."""
    ordered: dict[str, Any] = folder.outcome(step).get("ordered", {})
    return bool(ordered) and step != "sheet" and commands.order(ordered) != commands.order(sheet_order(folder))


def _is_read(folder: AppFolder) -> bool:
    """Whether the chosen file was read to the end, as it is to be read: then who waits is of this file, too."""
    seen = folder.seen
    if not seen or seen.get("error") or not folder.has(SCHEMA):
        return False
    checked = list(commands.check(str(seen["file"]), seen.get("reading", {})))
    outcomes = [folder.outcome(step) for step in ("file", "columns")]
    return any(checked in outcome.get("commands", ()) for outcome in outcomes)
