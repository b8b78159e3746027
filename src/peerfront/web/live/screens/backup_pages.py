"""Back-ups: make one now, list them, download them; each is noted in the audit."""

from typing import Any

from django.contrib import messages
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_POST

from peerfront.foundation.errors import PeerfrontError
from peerfront.web.live.operations.backups import backup_note, listed, named, new_name, write_backup
from peerfront.web.live.rules.actions import Action
from peerfront.web.live.rules.deciding import Accepted
from peerfront.web.live.rules.requests import NoteAction
from peerfront.web.live.screens.form_pages import ask_whole, asked_before, study_folder
from peerfront.web.live.screens.page_words import found_and_to_do
from peerfront.web.live.screens.staff_requests import RequestForm, new_key


def backups(request: HttpRequest) -> HttpResponse:
    """The back-ups of the study, and a button for a new one."""
    folder, context = study_folder(), {}
    form = RequestForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        if asked_before(form):
            return redirect("backups")
        name = new_name(folder)
        answered = ask_whole(form, request, backup_note(name))
        if isinstance(answered, Accepted):
            _write(request, name)
            return redirect("backups")
        context["found"], context["to_do"] = found_and_to_do(answered.refusal)
    return _page(request, context)


def _write(request: HttpRequest, name: str) -> None:
    folder = study_folder()
    try:
        write_backup(folder, folder.backups / name)
    except PeerfrontError as problem:
        messages.error(request, str(problem))
    else:
        messages.success(request, gettext("The back-up is made. Download it and keep it on another computer or disk."))


@require_POST
def backup_file(request: HttpRequest, name: str) -> HttpResponseBase:
    """Send a back-up of the study's folder to the browser."""
    backup = named(study_folder(), name)
    if backup is None:
        raise Http404
    form = RequestForm(request.POST)
    if not form.is_valid():
        return redirect("backups")
    note = NoteAction(Action.BACK_UP, name, (("done", "downloaded"),))
    answered = ask_whole(form, request, note, ending=f"-{new_key()[:12]}")  # each download is noted
    if not isinstance(answered, Accepted):
        found, to_do = found_and_to_do(answered.refusal)
        return _page(request, {"found": found, "to_do": to_do})
    return FileResponse(
        backup.path.open("rb"), as_attachment=True, filename=backup.name, content_type="application/zip"
    )


def _page(request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
    rows = [(each, RequestForm()) for each in listed(study_folder())]
    context |= {"form": RequestForm(), "rows": rows}
    return render(request, "screens/management/backups.html", context)
