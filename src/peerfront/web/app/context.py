"""What every page knows: the steps and how far they are, the folder, and the job that runs."""

from typing import Any

from django.http import HttpRequest

from peerfront.web.app.progress_of_steps import STEPS, state_of
from peerfront.web.app.serving import serving


def steps(request: HttpRequest) -> dict[str, Any]:
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
