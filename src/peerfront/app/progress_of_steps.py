"""The steps of a study in the app: which are done, and which are to be done again because something before changed."""

from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from peerfront.app.folder import BY_DATE, ESTIMATES, FILES, FORECAST, MODEL, REPORT, SCHEMA, SHEET, AppFolder

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
        seen = folder.seen
        return StepState(bool(seen) and not seen.get("error") and folder.has(SCHEMA))
    made = any(folder.has(name) for name in _MADE[step])
    inputs: dict[str, str] = folder.outcome(step).get("inputs", {})
    choices = folder.choices
    chosen = (choices.get("file"), choices.get("waiting"))
    others = any(name.startswith(f"{FILES}/") and name not in chosen for name in inputs)
    return StepState(made, made and (others or folder.digests(inputs) != inputs))
