"""Export: the study as files, without contact details; each export is noted in the audit."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST

from peerfront.foundation.errors import PeerfrontError
from peerfront.web.live.operations.study_files import export_note, export_zip
from peerfront.web.live.records.models import Person
from peerfront.web.live.rules.deciding import Accepted
from peerfront.web.live.screens.form_pages import ask_whole
from peerfront.web.live.screens.page_words import found_and_to_do
from peerfront.web.live.screens.staff_requests import RequestForm, new_key


def export(request: HttpRequest) -> HttpResponse:
    """What is in the files, and a button to download them."""
    return _page(request, {})


@require_POST
def export_file(request: HttpRequest) -> HttpResponse:
    """Send the study's files to the browser as one zip file."""
    form = RequestForm(request.POST)
    if not form.is_valid():
        return redirect("export")
    name = f"study-{timezone.localdate().isoformat()}.zip"
    try:
        content = export_zip()
    except PeerfrontError as problem:
        return _page(request, {"problem": str(problem)})
    answered = ask_whole(form, request, export_note(name), ending=f"-{new_key()[:12]}")  # each download is noted
    if not isinstance(answered, Accepted):
        found, to_do = found_and_to_do(answered.refusal)
        return _page(request, {"found": found, "to_do": to_do})
    response = HttpResponse(content, content_type="application/zip")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def _page(request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
    context |= {"form": RequestForm(), "n_people": Person.objects.count()}
    return render(request, "screens/management/export.html", context)
