"""The steps of a study in the app: the state of each, how its job is started, and what its page shows."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from django.contrib import messages
from django.forms import Form
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.functional import Promise
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _

from peerfront.foundation.messages import Severity
from peerfront.web.app.app_folder import AppFolder
from peerfront.web.app.app_jobs import Order
from peerfront.web.app.app_server import app_folder, jobs, serving
from peerfront.words import commands
from peerfront.words.language import LANGUAGES, language_of_the_user

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
_SHORT = 3.0  # seconds to wait for a job before the page shows its progress
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
    outdated: bool = False
    """Whether the files or orders behind the result have changed since."""


def state_of(folder: AppFolder, step: str) -> StepState:
    if step in ("file", "columns"):
        return StepState(_is_read(folder))
    done, outcome = folder.has(_OUTPUTS[step]), folder.outcome(_MADE_BY.get(step, step))
    inputs: dict[str, str] = outcome.get("inputs", {})
    in_use = (folder.choices.get("file"), folder.choices.get("waiting"))
    others = any(name.startswith(f"{commands.FILES}/") and name not in in_use for name in inputs)
    others |= outcome.get("work") == "plan" and (outcome["choices"].get("waiting") or "") != (in_use[1] or "")
    changed = others or folder.digests(inputs) != inputs or _ordered_otherwise(folder, outcome)
    return StepState(done, done and changed)


def current_order(folder: AppFolder) -> dict[str, Any]:
    """The order of the sheet, which forecast and report share; empty if there is no sheet with its outlook."""
    outcome = folder.outcome("sheet")
    choices: dict[str, Any] = outcome.get("choices", {})
    return choices if "outlook" in outcome.get("result", {}) else {}


def _ordered_otherwise(folder: AppFolder, outcome: Mapping[str, Any]) -> bool:
    """Whether a step used another order than the current sheet."""
    order = outcome.get("choices", {}).get("order")
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


def start(request: HttpRequest, order: Order) -> HttpResponse:
    """Start a job and show its page again; if another job runs, say so."""
    language = get_language() or "en"
    if not jobs().start(replace(order, language=language if language in LANGUAGES else "en"), wait=_SHORT):
        messages.error(
            request, _("Something else is still running. Wait until it has ended, or stop it; what you chose is kept.")
        )
    return redirect(order.step)


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


def step_context(step: str, form: Form | None = None) -> dict[str, Any]:
    """Values for every step's page: its state, its last result or error, and the commands that do the same."""
    made_by = _MADE_BY.get(step, step)
    outcome, job = app_folder().outcome(made_by), jobs().running
    running = job is not None and job.order.step == made_by
    result = outcome.get("result", {})
    lines = result.get("lines", ())
    return {
        "step": step,
        "form": form,
        "state": state_of(app_folder(), step),
        "outcome": outcome,
        "remedies": _fields_to_set(outcome.get("error"), form),
        "result": result,
        "warnings": [line for line in lines if _is_warning(line)],
        "lines": [line for line in lines if not _is_warning(line)],
        "running": running,
        "other_runs": job is not None and not running,
        "commands": _commands(outcome),
    }


def step_form(request: HttpRequest, form: type[FormOfStep], usual: Mapping[str, Any], **arguments: Any) -> FormOfStep:
    """The form as sent; otherwise with the usual values, and those that the link of a remedy puts in the address."""
    if request.method == "POST":
        return form(request.POST, request.FILES, **arguments)
    asked = {name: request.GET[name] for name in form.base_fields if name in request.GET}
    return form(initial={**usual, **asked}, **arguments)


def _is_warning(line: Any) -> bool:
    return getattr(line, "severity", None) is Severity.WARNING


def _commands(outcome: dict[str, Any]) -> list[str]:
    if "work" not in outcome:
        return []
    language = outcome.get("language", "en")
    other = "" if language == language_of_the_user() else language
    return [
        commands.command_line(command) for command in commands.commands_of(outcome["work"], outcome["choices"], other)
    ]


def _fields_to_set(error: Any, form: Form | None) -> list[tuple[str, str, Any]]:
    """Remedies of an error that the page's form has a field for: name and label of the field, and the value."""
    fields = {} if form is None else form.fields
    return [
        (remedy.setting, str(fields[remedy.setting].label), remedy.value)
        for remedy in (error.remedies if error else ())
        if remedy.setting in fields and remedy.value is not None
    ]


def page_context(request: HttpRequest) -> dict[str, Any]:
    """Values for every page: the steps and their states, the folder, and the running job."""
    now = serving()
    page = request.resolver_match.url_name if request.resolver_match else ""
    if page is None or request.resolver_match is None:
        return {"folder_name": "", "menu": [], "job": None}
    job = now.jobs.running
    return {
        "folder_name": now.folder.path.name,
        "folder_path": str(now.folder.path),
        "menu": [(name, label, name == page, state_of(now.folder, name)) for name, label in STEPS],
        "job": job,
        "job_label": dict(STEPS)[job.order.step] if job is not None else "",
    }
