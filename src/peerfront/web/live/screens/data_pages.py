"""Files of the study: export without contact details, import of a study that began in a spreadsheet, back-ups.

Each export and each back-up is noted in the audit; files are read by the readers of `peerfront check`.
"""

import tempfile
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any, cast

from django import forms
from django.contrib import messages
from django.core.files.uploadedfile import UploadedFile
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_POST

from peerfront.foundation.errors import PeerfrontError
from peerfront.web.live.operations.backups import back_up, listed, named, new_name
from peerfront.web.live.operations.middleware import LARGEST_STUDY_FILE
from peerfront.web.live.operations.study_files import export_note, export_zip, file_for_study, import_study
from peerfront.web.live.planning.kept_models import live_folder
from peerfront.web.live.records.models import Person, Site
from peerfront.web.live.rules.actions import Action
from peerfront.web.live.rules.deciding import Accepted, Refused
from peerfront.web.live.rules.requests import NoteAction
from peerfront.web.live.screens.page_words import refusal_words
from peerfront.web.live.screens.staff_requests import RequestForm, new_key


def export(request: HttpRequest, **found: str) -> HttpResponse:
    """What is in the files, and a button to download them; what was found if they cannot be."""
    context = {"form": RequestForm(), "n_people": Person.objects.count()}
    return render(request, "screens/management/export.html", context | found)


@require_POST
def export_file(request: HttpRequest) -> HttpResponseBase:
    """Send the study's files to the browser as one zip file."""
    form = RequestForm(request.POST)
    if not form.is_valid():
        return redirect("export")
    name = f"study-{timezone.localdate().isoformat()}.zip"
    try:
        content = export_zip()
    except PeerfrontError as problem:
        return export(request, problem=str(problem))
    answered = form.ask(request, export_note(name), ending=f"-{new_key()[:12]}")  # each download is noted
    if not isinstance(answered, Accepted):
        return export(request, **refusal_words(answered.refusal))
    return FileResponse(BytesIO(content), as_attachment=True, filename=name, content_type="application/zip")


_SUFFIXES = (".csv", ".tsv", ".txt", ".xlsx", ".json", ".rdsat")
_LARGEST_SCHEMA = 200_000


class ImportForm(RequestForm):
    """The file of a study, its schema, and the site of people for whom the file names none."""

    file = forms.FileField(
        label=_("File of the study"), help_text=_("CSV, Excel, RDSAT or a survey app's JSON; at most 20 MB.")
    )
    schema = forms.FileField(
        label=_("Schema file"), required=False, help_text=_("schema.toml, if peerfront check made one for this file.")
    )
    site = forms.ChoiceField(label=_("Site of people for whom the file tells none"), required=False)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        sites = [("", gettext("The file tells everybody's site")), *Site.objects.values_list("site", "name")]
        cast(forms.ChoiceField, self.fields["site"]).choices = sites[1:] if len(sites) == 2 else sites

    def clean_file(self) -> "UploadedFile[Any]":
        file: UploadedFile[Any] = self.cleaned_data["file"]
        if not str(file.name).lower().endswith(_SUFFIXES):
            raise forms.ValidationError(gettext("Choose a CSV, Excel (.xlsx), RDSAT or JSON file."))
        if (file.size or 0) > LARGEST_STUDY_FILE:
            raise forms.ValidationError(gettext("The file is larger than 20 MB."))
        return file

    def clean_schema(self) -> "UploadedFile[Any] | None":
        schema: UploadedFile[Any] | None = self.cleaned_data["schema"]
        if schema is not None and (schema.size or 0) > _LARGEST_SCHEMA:
            raise forms.ValidationError(gettext("This is no schema file: it is too large."))
        return schema


def import_page(request: HttpRequest) -> HttpResponse:
    """Look at a file without importing it, or import all of it."""
    form = ImportForm(request.POST or None, request.FILES or None)
    context: dict[str, Any] = {"form": form}
    if request.method == "POST" and form.is_valid():
        name, site = str(form.cleaned_data["file"].name), form.cleaned_data["site"] or None
        try:
            study = _read(form.cleaned_data["file"], form.cleaned_data["schema"])
            if "look" in request.POST:
                context |= {"study_file": study, "brings": file_for_study(study, site), "file_name": name}
            else:
                done = import_study(study, name, site, partial(form.ask, request))
                if isinstance(done.answer, Accepted):
                    new, same = done.counts
                    words = gettext("{new} people are imported; {same} were there already and are the same.")
                    messages.success(request, words.format(new=new, same=same))
                    for note in done.file.notes:
                        messages.info(request, str(note))
                    return redirect("import_study")
                context |= refusal_words(done.answer.refusal)
        except PeerfrontError as problem:
            context["problem"] = str(problem)
        form.with_new_key()
    return render(request, "screens/management/import.html", context)


def _read(file: "UploadedFile[Any]", schema: "UploadedFile[Any] | None") -> Any:
    """Read a file that was sent, from a folder that is removed at once."""
    from peerfront.data.read.read_settings import ReadSettings
    from peerfront.data.reading import read_study
    from peerfront.data.schema_file import read_schema

    with tempfile.TemporaryDirectory(prefix="peerfront-import-") as folder:
        suffix = Path(str(file.name)).suffix.lower()
        path = Path(folder) / f"study{suffix}"
        with path.open("wb") as copy:
            for part in file.chunks():
                copy.write(part)
        reading = ReadSettings()
        if schema is not None:
            schema_path = Path(folder) / "schema.toml"
            schema_path.write_bytes(schema.read())
            reading = read_schema(schema_path).reading
        return read_study(path, reading)


def backups(request: HttpRequest) -> HttpResponse:
    """The back-ups of the study, and a button for a new one."""
    form = RequestForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        if form.asked_before:
            return redirect("backups")
        folder = live_folder()
        try:
            answered = back_up(folder, folder.backups / new_name(folder), partial(form.ask, request))
        except PeerfrontError as problem:
            messages.error(request, str(problem))
            return redirect("backups")
        if isinstance(answered, Refused):
            return _backups_page(request, refusal_words(answered.refusal))
        messages.success(request, gettext("The back-up is made. Download it and keep it on another computer or disk."))
        return redirect("backups")
    return _backups_page(request, {})


@require_POST
def backup_file(request: HttpRequest, name: str) -> HttpResponseBase:
    """Send a back-up of the study's folder to the browser."""
    backup = named(live_folder(), name)
    if backup is None:
        raise Http404
    form = RequestForm(request.POST)
    if not form.is_valid():
        return redirect("backups")
    note = NoteAction(Action.BACK_UP, name, (("done", "downloaded"),))
    answered = form.ask(request, note, ending=f"-{new_key()[:12]}")  # each download is noted
    if not isinstance(answered, Accepted):
        return _backups_page(request, refusal_words(answered.refusal))
    return FileResponse(
        backup.path.open("rb"), as_attachment=True, filename=backup.name, content_type="application/zip"
    )


def _backups_page(request: HttpRequest, found: dict[str, str]) -> HttpResponse:
    rows = [(each, RequestForm()) for each in listed(live_folder())]
    return render(request, "screens/management/backups.html", found | {"form": RequestForm(), "rows": rows})
