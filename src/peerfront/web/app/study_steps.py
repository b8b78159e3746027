"""The steps of a study in the app: the state of each, how its job is started, and what its page shows."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import PurePosixPath
from typing import Any, TypeVar

from django.contrib import messages
from django.forms import Form
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.functional import Promise
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _

from peerfront.foundation.errors import PeerfrontError
from peerfront.foundation.messages import Message, Severity
from peerfront.web.app.app_folder import AppFolder
from peerfront.web.app.app_jobs import Order
from peerfront.web.app.app_server import app_folder, jobs, serving
from peerfront.words import commands
from peerfront.words.language import LANGUAGES

FormOfStep = TypeVar("FormOfStep", bound=Form)
STEPS: tuple[tuple[str, Promise | str], ...] = (
    ("file", gettext_lazy("File")),
    ("columns", gettext_lazy("Columns")),
    ("fit", gettext_lazy("Fit")),
    ("sheet", gettext_lazy("Sheet")),
    ("forecast", gettext_lazy("Forecast")),
    ("estimates", gettext_lazy("Estimates")),
    ("report", gettext_lazy("Report")),
    ("week", gettext_lazy("Next week")),
)
"""Name of the page and what the menu calls it, in the order of work."""
_MADE_BY = {"forecast": "sheet"}
"""Steps that show the result of another one: one advice holds the sheet and the forecast."""
_SHORT = 1.0  # seconds to wait for a job before the page shows its progress
_MOST_DOUBTS = 3  # kinds of problems in one line
_OUTPUTS = {
    "fit": f"{commands.MODEL}/manifest.json",
    "sheet": commands.SHEET,
    "forecast": f"{commands.FORECAST}/summary.csv",
    "estimates": f"{commands.ESTIMATES}/estimates.csv",
    "report": commands.REPORT,
    "week": "log.jsonl",
}


@dataclass(frozen=True)
class StepState:
    """The state of a step."""

    done: bool
    """Whether there is a result to show."""
    changes: tuple[str, ...] = ()
    """What has changed since the result was made: file, columns, model, waiting, order, program."""

    @property
    def outdated(self) -> bool:
        return bool(self.changes)


def state_of(folder: AppFolder, step: str) -> StepState:
    if step in ("file", "columns"):
        return StepState(_is_read(folder))
    if not folder.has(_OUTPUTS[step]):
        return StepState(False)
    return StepState(True, _changes(folder, folder.outcome(_MADE_BY.get(step, step))))


def _changes(folder: AppFolder, outcome: Mapping[str, Any]) -> tuple[str, ...]:
    """What has changed since an outcome, as `StepState.changes` names it."""
    inputs, choices, result = outcome.get("inputs", {}), outcome.get("choices", {}), outcome.get("result", {})
    now, waiting = folder.choices.get("file"), folder.choices.get("waiting") or ""
    other = {name for name, digest in inputs.items() if digest != folder.digest(name)}
    other |= {name for name in inputs if name.startswith(f"{commands.FILES}/") and name not in (now, waiting)}
    asked_to_wait = choices.get("order", choices).get("waiting") or ""
    found = {
        "file": bool(other - {commands.MODEL, commands.SCHEMA, asked_to_wait}),
        "columns": commands.SCHEMA in other,
        "waiting": asked_to_wait in other or (outcome.get("work") == "plan" and asked_to_wait != waiting),
        "order": _ordered_otherwise(folder, choices),
        "program": bool(result.get("people")) and "reasons" not in result and outcome.get("work") == "plan",
    }
    changes = [name for name, is_so in found.items() if is_so]
    if commands.MODEL in inputs:  # what is behind the model is behind this, too
        older = state_of(folder, "fit").changes or (("model",) if commands.MODEL in other else ())
        changes += [name for name in older if name not in changes]
    return tuple(changes)


def failed_now(folder: AppFolder, step: str, outcome: Mapping[str, Any]) -> bool:
    """Whether a step's last run failed or was stopped, with the file and the order of now."""
    tried = outcome.get("tried")
    if not tried or not (outcome.get("error") or outcome.get("stopped")) or tried["file"] != folder.choices.get("file"):
        return False
    return not (_is_read(folder) if step in ("file", "columns") else _changes(folder, tried))


def current_order(folder: AppFolder) -> dict[str, Any]:
    """The order of the sheet, which forecast and report share; empty if there is no sheet with its outlook."""
    outcome = folder.outcome("sheet")
    choices: dict[str, Any] = outcome.get("choices", {})
    return choices if "outlook" in outcome.get("result", {}) else {}


def _ordered_otherwise(folder: AppFolder, choices: Mapping[str, Any]) -> bool:
    """Whether a step used another order than the current sheet."""
    order: dict[str, Any] = choices.get("order", {})
    return bool(order) and commands.order_options(order) != commands.order_options(current_order(folder))


def _is_read(folder: AppFolder) -> bool:
    """Whether the uploaded file was read to the end with the current choices, so that its people who wait are known."""
    contents = folder.contents
    if not contents or contents.get("error") or not folder.has(commands.SCHEMA):
        return False
    used = [folder.outcome(step).get("choices", {}) for step in ("file", "columns")]
    return any(
        each.get("file") == contents["file"] and each.get("reading") == contents.get("reading", {}) for each in used
    )


def waiting_file() -> str:
    """A separate file of the people who wait; empty if they are those of the study's file."""
    return str(app_folder().choices.get("waiting") or "")


def nobody_waits() -> bool:
    """Whether nobody waits in the study's file, and there is no separate file."""
    return not waiting_file() and app_folder().contents.get("waiting") == 0


# The job of a step ---------------------------------------------------------------------------------------------------


def start(request: HttpRequest, *orders: Order) -> HttpResponse:
    """Start a job and show the page of its last order again; if another job runs, say so."""
    language = get_language() if get_language() in LANGUAGES else "en"
    if not jobs().start(*(replace(order, language=language) for order in orders), wait=_SHORT):
        messages.error(
            request, _("Something else is still running. Wait until it has ended, or stop it; what you chose is kept.")
        )
    return redirect(orders[-1].step)


def is_busy(request: HttpRequest) -> bool:
    """Whether a job runs, so that the file cannot be changed now; if so, tell the user."""
    if jobs().running is None:
        return False
    messages.error(
        request, _("Something is still running. Wait until it has ended, or stop it, then choose the file again.")
    )
    return True


def go_first(request: HttpRequest, step: str, why: str) -> HttpResponse:
    """Redirect to a step that has to be done first."""
    messages.info(request, why)
    return redirect(step)


def step_context(request: HttpRequest, step: str, form: Form | None = None) -> dict[str, Any]:
    """Values for every step's page: its state, its last result or error; an old result only if the address asks."""
    made_by, folder = _MADE_BY.get(step, step), app_folder()
    outcome, job, state = folder.outcome(made_by), jobs().running, state_of(folder, step)
    if not failed_now(folder, made_by, outcome):
        outcome |= {"error": None, "stopped": False}
    running = job is not None and made_by in [order.step for order in job.orders]
    hidden = state.outdated and "old" not in request.GET
    result = {} if hidden else outcome.get("result", {})
    lines = result.get("lines", ())
    return {
        "step": step,
        "made_by": made_by,
        "form": form,
        "state": state,
        "outcome": outcome,
        "made": _made(folder, outcome) if state.outdated else {},
        "hidden": hidden,
        "fit_failed": commands.MODEL in outcome.get("inputs", {}) and failed_now(folder, "fit", folder.outcome("fit")),
        "remedies": _fields_to_set(outcome.get("error"), form),
        "result": result,
        "warnings": [line for line in lines if is_warning(line)],
        "lines": [line for line in lines if not is_warning(line)],
        "running": running,
        "other_runs": job is not None and not running,
    }


def _made(folder: AppFolder, outcome: Mapping[str, Any]) -> dict[str, Any]:
    """When and from which file a result was made, and which file it is now."""
    ended = outcome.get("made") or outcome.get("ended")
    before, now = outcome.get("choices", {}).get("file", ""), folder.choices.get("file", "")
    day = None if ended is None else datetime.fromisoformat(ended)
    return {"day": day, "file": PurePosixPath(before).name, "now": PurePosixPath(now).name}


def step_form(request: HttpRequest, form: type[FormOfStep], usual: Mapping[str, Any], **arguments: Any) -> FormOfStep:
    """The form as sent; otherwise with the usual values, and those that the link of a remedy puts in the address."""
    if request.method == "POST":
        return form(request.POST, request.FILES, **arguments)
    asked = {name: request.GET[name] for name in form.base_fields if name in request.GET}
    made = form(initial={**usual, **asked}, **arguments)
    made.asked = asked  # type: ignore[attr-defined]
    return made


def is_warning(line: Any) -> bool:
    return getattr(line, "severity", None) is Severity.WARNING


def _fields_to_set(error: Any, form: Form | None) -> list[tuple[str, str, Any]]:
    """Remedies of an error that the page's form has a field for: name and label of the field, and the value."""
    fields = {} if form is None else form.fields
    return [
        (remedy.setting, str(fields[remedy.setting].label), remedy.value)
        for remedy in (error.remedies if error else ())
        if remedy.setting in fields and remedy.value is not None
    ]


def page_context(request: HttpRequest) -> dict[str, Any]:
    """Values for every page: the steps and their states, the folder, the current plan, and the running job."""
    now = serving()
    page = request.resolver_match.url_name if request.resolver_match else ""
    if page is None or request.resolver_match is None:
        return {"folder_name": "", "menu": [], "job": None}
    job, contents = now.jobs.running, now.folder.contents
    return {
        "folder_name": now.folder.path.name,
        "folder_path": str(now.folder.path),
        "menu": [(name, label, name == page, state_of(now.folder, name)) for name, label in STEPS],
        "plan": current_plan(now.folder),
        "doubts": [] if page == "file" or contents.get("error") else contents.get("problems", [])[:_MOST_DOUBTS],
        "job": job,
        "job_label": dict(STEPS)[job.order.step] if job is not None else "",
    }


def current_plan(folder: AppFolder) -> dict[str, Any] | None:
    """The plan that counts: that of the last week in the log, or else the sheet; None if there is none."""
    weeks, order = weeks_of(folder)[0], current_order(folder)
    if weeks:
        last = weeks[-1]
        facts = {"page": "week", "file": last["file"], "day": last["day"], "state": StepState(True)}
        return {**last["order"], **facts, "left": last["coupons_left"], "coupons": sum(last["planned"].values())}
    if not order:
        return None
    result = folder.outcome("sheet")["result"]
    people, outlook = result.get("people", ()), result.get("outlook") or {}
    facts = {"page": "sheet", "file": PurePosixPath(order["file"]).name, "day": order.get("date")}
    facts |= {
        "until": outlook.get("until"),
        "left": order.get("budget"),
        "coupons": sum(row["coupons"] for row in people),
    }
    return {**order, **facts, "state": state_of(folder, "sheet")}


def weeks_of(folder: AppFolder) -> tuple[list[dict[str, Any]], Message | None]:
    """The weeks of the log, the oldest first, and the error of a damaged log, if any."""
    if not folder.has("log.jsonl"):
        return [], None
    from peerfront.study.study_folder import StudyFolder  # only here: it takes a while to load

    try:
        kept = StudyFolder(folder.path)
    except PeerfrontError as problem:
        return [], problem.message
    weeks = [
        {
            "number": week.number, "day": week.day, "folder": week.folder, **dict(week.facts),
            "log_head": kept.log.head, "planned": {each["person"]: each["planned"] for each in week.decisions},
        }
        for week in kept.weeks
    ]  # fmt: skip
    return weeks, None
