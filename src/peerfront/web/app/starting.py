"""Start the job of a step from its page, and show what came of it."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from peerfront.web.app.commands import shown
from peerfront.web.app.jobs import Order
from peerfront.web.app.progress_of_steps import state_of
from peerfront.web.app.serving import app_folder, jobs

_SHORT = 3.0  # seconds after which the page shows progress instead of waiting


def start(request: HttpRequest, order: Order) -> HttpResponse:
    """Start a job and show its page again; where another one runs, say so."""
    if not jobs().start(order, wait=_SHORT):
        messages.error(
            request, _("Something else is still running. Wait until it has ended, or stop it; what you chose is kept.")
        )
    return redirect(order.step)


def is_busy(request: HttpRequest) -> bool:
    """Whether a job runs, so that another file cannot be taken now; if so, say it."""
    if jobs().running is None:
        return False
    messages.error(
        request, _("Something is still running. Wait until it has ended, or stop it, then choose the file again.")
    )
    return True


def step_context(step: str) -> dict[str, Any]:
    """What every page of a step shows: how far it is, how it ended, and the commands that do the same."""
    outcome, job = app_folder().outcome(step), jobs().running
    running = job is not None and job.order.step == step
    return {
        "step": step,
        "state": state_of(app_folder(), step),
        "outcome": outcome,
        "running": running,
        "other_runs": job is not None and not running,
        "commands": [shown(tuple(command)) for command in outcome.get("commands", ())],
    }


def printed(step: str) -> str:
    """What the step's command printed the last time it succeeded."""
    found = app_folder().outcome(step).get("printed", [])
    return str(found[0]) if found else ""
