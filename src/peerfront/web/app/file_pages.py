"""The pages of the first two steps: the study's file with its contents and faults, and the roles of its columns."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST

from peerfront.foundation.messages import Remedy
from peerfront.foundation.shown import visible
from peerfront.web.app.app_jobs import Order
from peerfront.web.app.app_server import app_folder, jobs
from peerfront.web.app.step_forms import STEP_FORMS, StepForm, UploadForm
from peerfront.web.app.study_steps import STEPS, is_busy, start, state_of, step_context
from peerfront.words.commands import EXAMPLE

ROLES = {
    "id": gettext_lazy("The person's id"),
    "own_coupon": gettext_lazy("The coupon the person came with"),
    "recruiter": gettext_lazy("The id of the person's recruiter"),
    "coupons_issued": gettext_lazy("How many coupons the person was issued"),
    "date": gettext_lazy("When the person took part"),
    "network_size": gettext_lazy("How many people the person knows"),
    "waiting": gettext_lazy("Whether the person waits for coupons (yes or no)"),
    "seed": gettext_lazy("Whether the person is a seed (yes or no)"),
    "issued_date": gettext_lazy("When the person got coupons"),
    "redeemed_date": gettext_lazy("When the person came with a coupon"),
    "expiry_date": gettext_lazy("When the person's coupons expire"),
    "valid_days": gettext_lazy("For how many days the person's coupons are valid"),
    "site": gettext_lazy("Where the person took part"),
}
"""Parts of a study that one column holds, in the order in which they matter."""
_RARELY = (*(f"role_{role}" for role in list(ROLES)[6:]), "still_open", "missing", "read_anyway")
_OF_A_FILE = ("file", "reading", "ticks", "columns")  # the choices about one file
_FEW_FIELDS = 15  # that may be ticked and are shown, those that are ticked first; the others are folded
_MANY_COLUMNS = 40  # in lists without examples, which would make the page large
_LONGEST_NAME, _LONGEST_VALUE = 40, 14  # characters of a column's name, and of each of its values, in a list


def home(request: HttpRequest) -> HttpResponse:
    """Go to the first step that is not done yet."""
    done = [name for name, label in STEPS[:4] if state_of(app_folder(), name).done]
    if "sheet" in done:
        return redirect("sheet")
    return redirect(next(name for name, label in STEPS if name not in done))


@require_http_methods(["GET", "POST"])
def file(request: HttpRequest) -> HttpResponse:
    folder = app_folder()
    form = UploadForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid():
        upload = form.cleaned_data["study_file"]
        name = folder.keep(str(upload.name), upload.read())
        if _is_being_read(name):
            return redirect("file")
        if jobs().running is not None:
            folder.choose(next_file=name)
            return redirect("file")
        _take(name)
        return start(request, read_order("file"))
    contents, context = folder.contents, step_context(request, "file", form)
    failed = bool(contents.get("error") or context["outcome"].get("error"))
    before = folder.choices.get("before", {}).get("file", "") if failed else ""
    context |= {
        "contents": contents,
        "ways_out": _ways_out(contents),
        "offers": _offered(contents),
        "chosen": folder.choices.get("file"),
        "next_file": PurePosixPath(folder.choices.get("next_file", "")).name,
        "original": PurePosixPath(folder.choices.get("original", {}).get("file", "")).name,
        "before": PurePosixPath(before).name if before != folder.choices.get("file") else "",
        "half_read": "file" in folder.choices and not context["state"].done and not failed,
    }
    return render(request, "app/file.html", context)


@require_POST
def read_again(request: HttpRequest) -> HttpResponse:
    """Read the file again; or one that was kept while other work ran, the original of a mended copy, the one before."""
    folder = app_folder()
    kept, original = str(folder.choices.get("next_file", "")), folder.choices.get("original", {})
    before = folder.choices.get("before", {})
    if "file" not in folder.choices or is_busy(request):
        return redirect("file")
    if "kept" in request.POST and kept:
        _take(kept)
    elif "original" in request.POST and original:
        _take(original["file"], reading=original["reading"])
    elif "before" in request.POST and before:
        _take(before["file"], **{name: before[name] for name in _OF_A_FILE[1:] if name in before})
    return start(request, read_order("file"))


def _take(name: str, **choices: Any) -> None:
    """Make a file the study's file from now on; the last one that could be read is remembered."""
    folder = app_folder()
    kept, is_read = folder.choices, state_of(folder, "file").done
    before = {each: kept[each] for each in _OF_A_FILE if each in kept} if is_read else kept.get("before", {})
    folder.choose(file=name, left=[], next_file="", original={}, before=before, **choices)


@require_POST
def example(request: HttpRequest) -> HttpResponse:
    """Start with a made-up study."""
    name = f"{EXAMPLE}/study.csv"
    if _is_being_read(name) or is_busy(request):
        return redirect("file")
    _take(name)
    return start(request, read_order("file", example=True))


@require_POST
def mend(request: HttpRequest) -> HttpResponse:
    """Carry out the changes that were accepted in a copy of the file; those that were left are not offered again."""
    folder = app_folder()
    contents = folder.contents
    if is_busy(request):
        return redirect("file")
    if not contents or request.POST.get("digest") != contents.get("digest"):
        messages.error(request, _("Another file was chosen meanwhile, perhaps in another tab. Nothing was changed."))
        return redirect("file")
    accepted, left, alike = [], [], []
    wanted = request.POST.get("alike")
    at_once = [group["number"] for group in _offered(contents) if wanted in ("all", str(group["number"]))]
    for number, group in enumerate(contents.get("offers", ())):
        if number in at_once:
            alike.append(group["alike"])
            continue
        answers = {place: request.POST.get(f"offer-{number}-{place}") for place in range(len(group["items"]))}
        accepted += [group["items"][place]["key"] for place, answer in answers.items() if answer == "accept"]
        left += [group["items"][place]["key"] for place, answer in answers.items() if answer == "leave"]
    folder.choose(left=[*folder.choices.get("left", ()), *left])
    if not accepted and not alike:
        if not left:
            messages.error(request, _("Nothing was accepted. Choose “Accept” for the changes to make."))
        return redirect("file")
    order = read_order("file")
    as_read = {"reading": contents["reading"], "columns": [each["name"] for each in contents["columns"]]}
    choices = {**order.choices, **as_read, "example": False, "accepted": accepted, "alike": alike}
    return start(request, replace(order, work="mend", choices=choices))


def _offered(contents: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The offers without those that were left, numbered as in the form."""
    left = app_folder().choices.get("left", ())
    groups = []
    for number, group in enumerate(contents.get("offers", ())):
        items = [{**item, "place": place} for place, item in enumerate(group["items"]) if item["key"] not in left]
        if items:
            groups.append({**group, "number": number, "items": items, "more": group["different"] - len(group["items"])})
    return groups


def _is_being_read(name: str) -> bool:
    """Whether this file is being read already, as after a double click."""
    job = jobs().running
    return job is not None and job.order.step == "file" and app_folder().choices.get("file") == name


def read_order(step: str, *, example: bool = False) -> Order:
    """The order to read the file for the pages, and to write what `peerfront check` writes."""
    kept = app_folder().choices
    choices: dict[str, Any] = {"example": example, **{name: kept[name] for name in _OF_A_FILE if name in kept}}
    return Order(step, "read", choices, (str(kept["file"]),))


@require_http_methods(["GET", "POST"])
def columns(request: HttpRequest) -> HttpResponse:
    folder = app_folder()
    contents = folder.contents
    if not contents or (contents.get("error") and not (contents.get("columns") or contents.get("problems"))):
        return redirect("file")  # its columns are unknown
    if request.method == "POST":
        if request.POST.get("digest") != contents.get("digest"):
            messages.error(
                request,
                _("Another file was chosen meanwhile, perhaps in another tab. These are its columns; choose again."),
            )
            return redirect("columns")
        form = ColumnsForm(request.POST, contents=contents)
        if form.is_valid():
            offered, ticked = request.POST.getlist("offered"), request.POST.getlist("use")
            reading = form.reading(contents.get("recognised", {}))
            names = [each["name"] for each in contents.get("columns", ())]
            if reading["sheet"] != contents.get("reading", {}).get("sheet", ""):
                reading, names = {**reading, "columns": {}}, []  # another sheet has other columns
            folder.choose(reading=reading, ticks=ticks_of(offered, ticked, contents.get("ticks", {})), columns=names)
            return start(request, read_order("columns"))
    else:
        form = ColumnsForm(initial=entries_of(contents, contents.get("reading", {})), contents=contents)
    fields = sorted(contents.get("fields", []), key=lambda each: not each["used"])
    can = [each for each in fields if each["can"]]
    shown = can[:_FEW_FIELDS]
    return render(
        request,
        "app/columns.html",
        {
            **step_context(request, "columns", form),
            "contents": contents,
            "ways_out": _ways_out(contents),
            "fields": shown,
            "more_fields": can[len(shown) :],
            "more_ticked": sum(each["used"] for each in can[len(shown) :]),
            "left_out": [each for each in fields if not each["can"]],
        },
    )


def _ways_out(contents: Mapping[str, Any]) -> dict[str, Any]:
    """How the form of the columns can help with a refused file: the settings that the error names, or other columns."""
    error, remedies = contents.get("error"), remedies_of(contents)
    settings = {remedy.setting: remedy.value for remedy in remedies if remedy.setting in ("sheet", "coupons_each")}
    unclear = error is not None and error.code == "recognition.unclear"
    return {**settings, "suggested": contents.get("suggested"), "columns": unclear}


# The form of the columns ----------------------------------------------------------------------------------------------


class ColumnsForm(StepForm):
    """The roles of the file's columns, and how they are read."""

    apart = ("coupons",)

    sheet = forms.ChoiceField(label=gettext_lazy("Sheet of the workbook"), required=False)
    coupons = forms.MultipleChoiceField(
        label=gettext_lazy("The coupons the person was issued"), required=False, widget=forms.CheckboxSelectMultiple,
        help_text=gettext_lazy("Tick every column that holds a coupon's code."),
    )  # fmt: skip
    coupons_each = forms.IntegerField(
        label=gettext_lazy("Coupons that everybody was issued"), required=False, min_value=1, max_value=1000,
        help_text=gettext_lazy("Only if the file says who recruited whom, and not how many coupons each person got."),
    )  # fmt: skip
    valid_days = forms.FloatField(
        label=gettext_lazy("Days until a coupon expires"), required=False, min_value=1,
        help_text=gettext_lazy("If no column says so. Empty: coupons never expire."),
    )  # fmt: skip
    still_open = forms.CharField(
        label=gettext_lazy("Whose coupons may still be used"), required=False,
        help_text=gettext_lazy(
            'Empty: as the dates say. Otherwise "none", "last-wave", or a number of days, such as 30.'
        ),
    )  # fmt: skip
    missing = forms.CharField(
        label=gettext_lazy("Codes that mean “not known”"), required=False,
        help_text=gettext_lazy("Such as 99; several with spaces between them."),
    )  # fmt: skip
    read_anyway = forms.BooleanField(
        label=gettext_lazy("Read a study that looks wrongly read"), required=False,
        help_text=gettext_lazy("Only if most recruiters are really unknown, or most people are seeds."),
    )  # fmt: skip

    def __init__(self, *arguments: Any, contents: Mapping[str, Any], **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        found, roles = contents.get("columns", ()), contents.get("roles", {})
        columns = [(each["name"], _described(each, len(found) <= _MANY_COLUMNS)) for each in found]
        for role, label in ROLES.items() if columns else ():
            self.fields[f"role_{role}"] = forms.ChoiceField(
                label=label, required=False, choices=[("", gettext_lazy("none")), *columns]
            )
        if columns:
            self.fields["coupons"].choices = columns  # type: ignore[attr-defined]
        else:
            del self.fields["coupons"]
        sheets = contents.get("sheets", ())
        if len(sheets) > 1:
            self.fields["sheet"].choices = [("", gettext_lazy("Find it")), *((name, visible(name)) for name in sheets)]  # type: ignore[attr-defined]
        else:
            del self.fields["sheet"]
        # Of a file that can be read only the columns that it has are shown, and the others folded.
        used = {f"role_{role}" for role, names in roles.items() if names}
        seldom = (*_RARELY, *(f"role_{role}" for role in ROLES), "coupons_each") if roles else _RARELY
        self.rarely = [name for name in seldom if name not in used]
        self.order_fields(["sheet", *(f"role_{role}" for role in ROLES)])

    def reading(self, recognised: Mapping[str, list[str]]) -> dict[str, Any]:
        """How the file is to be read: only what differs from the automatic recognition."""
        entered = self.cleaned_data
        columns = {}
        for role in (*ROLES, "coupons"):
            field = role if role == "coupons" else f"role_{role}"
            if field in self.fields:
                value = entered[field]
                names = list(value) if isinstance(value, list) else [value] if value else []
                if names != list(recognised.get(role, ())):
                    columns[role] = names
        return {
            "columns": columns,
            "sheet": entered.get("sheet", ""),
            "coupons_each": entered.get("coupons_each"),
            "valid_days": entered.get("valid_days"),
            "still_open": entered.get("still_open", "").strip(),
            "missing": entered.get("missing", "").split(),
            "read_anyway": entered.get("read_anyway", False),
        }


def remedies_of(contents: Mapping[str, Any]) -> tuple[Remedy, ...]:
    """The settings that would make a refused file readable."""
    error = contents.get("error")
    return () if error is None else tuple(error.remedies)


def entries_of(contents: Mapping[str, Any], reading: Mapping[str, Any]) -> dict[str, Any]:
    """The initial values of the form: how the file was read, or what its content suggests."""
    roles = dict(contents.get("roles") or {**contents.get("recognised", {}), **contents.get("suggested", {})})
    each = [remedy.value for remedy in remedies_of(contents) if remedy.setting == "coupons_each"]
    roles |= reading.get("columns", {})
    entries: dict[str, Any] = {f"role_{role}": next(iter(roles.get(role, ())), "") for role in ROLES}
    return entries | {
        "coupons": list(roles.get("coupons", ())),
        "sheet": reading.get("sheet", ""),
        "coupons_each": reading.get("coupons_each") or (each[0] if each else None),
        "valid_days": reading.get("valid_days"),
        "still_open": reading.get("still_open", ""),
        "read_anyway": reading.get("read_anyway", False),
        "missing": " ".join(reading.get("missing", ())),
    }


def field_labels() -> dict[str, object]:
    """The label of each setting that a form of the app has, and of each part of a study's file."""
    labels: dict[str, object] = {
        name: field.label for form in (*STEP_FORMS, ColumnsForm) for name, field in form.base_fields.items()
    }
    parts = {f"role_{role}": label for role, label in ROLES.items()}
    return labels | parts | {"role_coupons": labels["coupons"], "at_least": gettext_lazy("Floors for groups")}


def ticks_of(offered: list[str], ticked: list[str], before: Mapping[str, Any]) -> dict[str, list[str]]:
    """Columns to use and to leave out; earlier choices hold for columns that the form did not offer."""
    use = (set(before.get("use", ())) - set(offered)) | (set(ticked) & set(offered))
    leave = (set(before.get("leave", ())) - set(offered)) | (set(offered) - set(ticked))
    return {"use": sorted(use), "leave": sorted(leave)}


def _described(column: Mapping[str, Any], with_values: bool) -> str:
    """A column's name with some of its values, short enough for a list."""
    values = ", ".join(_cut(value, _LONGEST_VALUE) for value in column["examples"] if with_values)
    name = _cut(str(column["name"]), _LONGEST_NAME)
    return f"{name} ({values})" if values else name


def _cut(text: str, longest: int) -> str:
    whole = visible(text)
    return whole if len(whole) <= longest else f"{whole[: longest - 1].rstrip()}…"


pages = [
    path("", home, name="home"),
    path("file/", file, name="file"),
    path("file/again/", read_again, name="read_again"),
    path("file/mend/", mend, name="mend"),
    path("file/example/", example, name="example"),
    path("columns/", columns, name="columns"),
]
