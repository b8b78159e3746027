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
from peerfront.web.live.operations import import_jobs
from peerfront.web.live.operations.backups import back_up, listed, named, new_name
from peerfront.web.live.operations.import_jobs import ImportOrder
from peerfront.web.live.operations.middleware import LARGEST_STUDY_FILE
from peerfront.web.live.operations.study_files import export_note, export_zip, file_for_study, import_study
from peerfront.web.live.planning import planning_jobs
from peerfront.web.live.planning.kept_models import live_folder
from peerfront.web.live.records.models import Person, PlanningJob, Site
from peerfront.web.live.rules.actions import Action
from peerfront.web.live.rules.deciding import Accepted, Refused
from peerfront.web.live.rules.requests import NoteAction
from peerfront.web.live.screens.page_words import refusal_words
from peerfront.web.live.screens.staff_requests import AtWork, RequestForm, new_key


def export(request: HttpRequest) -> HttpResponse:
    """What is in the files, and a button to download them."""
    return _export_page(request, real_codes=False)


@require_POST
def export_file(request: HttpRequest) -> HttpResponseBase:
    """Send the study's files to the browser as one zip file."""
    return _sent(request, real_codes=False)


def export_codes(request: HttpRequest) -> HttpResponseBase:
    """The same with the real codes of coupons in place of aliases, for other roles."""
    return _sent(request, real_codes=True) if request.method == "POST" else _export_page(request, real_codes=True)


def _export_page(request: HttpRequest, *, real_codes: bool, **found: str) -> HttpResponse:
    context = {"form": RequestForm(), "n_people": Person.objects.count(), "real_codes": real_codes}
    return render(request, "screens/management/export.html", context | found)


def _sent(request: HttpRequest, *, real_codes: bool) -> HttpResponseBase:
    form = RequestForm(request.POST)
    if not form.is_valid():
        return redirect("export_codes" if real_codes else "export")
    name = f"study-{timezone.localdate().isoformat()}.zip"
    try:
        content = export_zip(real_codes=real_codes)
    except PeerfrontError as problem:
        return _export_page(request, real_codes=real_codes, problem=str(problem))
    noted = export_note(name, real_codes=real_codes)
    answered = form.ask(request, noted, ending=f"-{new_key()[:12]}")  # each download is noted
    if not isinstance(answered, Accepted):
        return _export_page(request, real_codes=real_codes, **refusal_words(answered.refusal))
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

    @property
    def sent(self) -> tuple[Any, Any]:
        """The file and its schema."""
        return self.cleaned_data["file"], self.cleaned_data["schema"]

    def order(self, look: bool) -> ImportOrder:
        """What is asked for with the file."""
        clock = self.device_clock
        return ImportOrder(
            name=str(self.cleaned_data["file"].name),
            site=self.cleaned_data["site"] or None,
            key=self.cleaned_data["key"],
            look=look,
            device_time="" if clock is None else clock.isoformat(),
        )


def import_page(request: HttpRequest) -> HttpResponse:
    """Look at a file without importing it, or import all of it; large files in a process of their own."""
    job = import_jobs.newest()
    if request.headers.get("X-Part") is not None:
        return render(request, "screens/management/import_job_part.html", _job_context(job))
    if job is not None and ("again" in request.POST or "stop" in request.POST):
        return _import_again_or_stop(request, job)
    form = ImportForm(request.POST or None, request.FILES or None)
    context: dict[str, Any] = {"form": form}
    if request.method == "POST" and form.is_valid():
        try:
            if not import_jobs.is_small(form.cleaned_data["file"].name, form.cleaned_data["file"].size):
                import_jobs.start(cast(AtWork, request).member.name, form.order("look" in request.POST), *form.sent)
                return redirect("import_study")
            done = _import_at_once(request, form, context)
        except PeerfrontError as problem:
            context["problem"] = str(problem)
        else:
            if done is not None:
                return done
        form.with_new_key()
    elif job is not None:
        context |= _job_context(job)
    return render(request, "screens/management/import.html", context)


def _job_context(job: PlanningJob | None) -> dict[str, Any]:
    """The newest import in a process of its own, for the page; what it brought is shown for a day."""
    if job is None or (job.ended_at is not None and timezone.now() - job.ended_at > planning_jobs.FILES_KEPT):
        return {}
    failed = job.state == planning_jobs.FAILED
    return {
        "job": job,
        "under_way": job.state in planning_jobs.UNDER_WAY,
        "look": import_jobs.result_of(job),
        "problem": str(planning_jobs.message_of(job)) if failed else "",
        "again": import_jobs.can_be_tried_again(job),
        "only_key": RequestForm(),
    }


def _import_again_or_stop(request: HttpRequest, job: PlanningJob) -> HttpResponse:
    try:
        if "stop" in request.POST:
            if planning_jobs.stop(job):
                messages.success(request, gettext("The import is stopped. Nothing was imported."))
        elif import_jobs.try_again(job, cast(AtWork, request).member.name) is None:
            messages.warning(request, gettext("The file is no longer there. Choose it again."))
    except PeerfrontError as problem:
        messages.error(request, str(problem))
    return redirect("import_study")


def _import_at_once(request: HttpRequest, form: ImportForm, context: dict[str, Any]) -> HttpResponse | None:
    """Import a small file within this request; None, with what to show on the page, if nothing was imported."""
    order = form.order("look" in request.POST)
    with tempfile.TemporaryDirectory(prefix="peerfront-import-") as folder:
        study = import_jobs.read_sent(*import_jobs.put_sent(Path(folder), *form.sent))
    if order.look:
        context["look"] = import_jobs.Look.at(study, file_for_study(study, order.site), order.name)
        return None
    done = import_study(study, order.name, order.site, partial(form.ask, request))
    if not isinstance(done.answer, Accepted):
        context |= refusal_words(done.answer.refusal)
        return None
    new, same = done.counts
    words = gettext("{new} people are imported; {same} were there already and are the same.")
    messages.success(request, words.format(new=new, same=same))
    for note in done.file.notes:
        messages.info(request, str(note))
    return redirect("import_study")


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
