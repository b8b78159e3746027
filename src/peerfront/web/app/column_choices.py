"""The form of the columns: the role of each column, how the file is read, and which columns plans use."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from peerfront.foundation.messages import Remedy
from peerfront.foundation.shown import visible
from peerfront.web.app.step_forms import EstimatesForm, FitForm, ForecastForm, OrderForm, ReportForm, StepForm, WeekForm

ROLES = {
    "id": _("The person's id"),
    "own_coupon": _("The coupon the person came with"),
    "recruiter": _("The id of the person's recruiter"),
    "coupons_issued": _("How many coupons the person was issued"),
    "date": _("When the person took part"),
    "network_size": _("How many people the person knows"),
    "waiting": _("Whether the person waits for coupons (yes or no)"),
    "seed": _("Whether the person is a seed (yes or no)"),
    "issued_date": _("When the person got coupons"),
    "redeemed_date": _("When the person came with a coupon"),
    "expiry_date": _("When the person's coupons expire"),
    "valid_days": _("For how many days the person's coupons are valid"),
    "site": _("Where the person took part"),
}
"""Parts of a study that one column holds, in the order in which they matter."""
_RARELY = (
    "role_waiting", "role_seed", "role_issued_date", "role_redeemed_date", "role_expiry_date", "role_valid_days",
    "role_site", "still_open", "missing",
)  # fmt: skip
_LONGEST_NAME, _LONGEST_VALUE = 40, 14  # characters of a column's name, and of each of its values, in a list


class ColumnsForm(StepForm):
    """The roles of the file's columns, and how they are read."""

    rarely = _RARELY

    sheet = forms.ChoiceField(label=_("Sheet of the workbook"), required=False)
    coupons = forms.MultipleChoiceField(
        label=_("The coupons the person was issued"), required=False, widget=forms.CheckboxSelectMultiple,
        help_text=_("Tick every column that holds a coupon's code."),
    )  # fmt: skip
    coupons_each = forms.IntegerField(
        label=_("Coupons that everybody was issued"), required=False, min_value=1, max_value=1000,
        help_text=_("Only if the file says who recruited whom, and not how many coupons each person got."),
    )  # fmt: skip
    valid_days = forms.FloatField(
        label=_("Days until a coupon expires"), required=False, min_value=1,
        help_text=_("If no column says so. Empty: coupons never expire."),
    )  # fmt: skip
    still_open = forms.CharField(
        label=_("Whose coupons may still be used"), required=False,
        help_text=_('Empty: as the dates say. Otherwise "none", "last-wave", or a number of days, such as 30.'),
    )  # fmt: skip
    missing = forms.CharField(
        label=_("Codes that mean “not known”"), required=False,
        help_text=_("Such as 99; several with spaces between them."),
    )  # fmt: skip

    def __init__(self, *arguments: Any, contents: Mapping[str, Any], **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        columns = [(each["name"], _described(each)) for each in contents.get("columns", ())]
        for role, label in ROLES.items() if columns else ():
            self.fields[f"role_{role}"] = forms.ChoiceField(
                label=label, required=False, choices=[("", _("none")), *columns]
            )
        if columns:
            self.fields["coupons"].choices = columns  # type: ignore[attr-defined]
        else:
            del self.fields["coupons"]
        sheets = contents.get("sheets", ())
        if len(sheets) > 1:
            self.fields["sheet"].choices = [("", _("Find it")), *((name, visible(name)) for name in sheets)]  # type: ignore[attr-defined]
        else:
            del self.fields["sheet"]
        first = ["sheet", *(f"role_{role}" for role in ROLES if f"role_{role}" not in _RARELY)]
        self.order_fields([*first[:3], "coupons", *first[3:]])

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
        "missing": " ".join(reading.get("missing", ())),
    }


def field_labels() -> dict[str, object]:
    """The label of each setting that a form of the app has, and of each part of a study's file."""
    forms_of_steps = (WeekForm, ReportForm, EstimatesForm, ForecastForm, OrderForm, FitForm, ColumnsForm)
    labels: dict[str, object] = {
        name: field.label for form in forms_of_steps for name, field in form.base_fields.items()
    }
    parts = {f"role_{role}": label for role, label in ROLES.items()}
    return labels | parts | {"role_coupons": labels["coupons"], "at_least": _("Floors for groups")}


def ticks_of(offered: list[str], ticked: list[str], before: Mapping[str, Any]) -> dict[str, list[str]]:
    """Columns to use and to leave out; earlier choices hold for columns that the form did not offer."""
    use = (set(before.get("use", ())) - set(offered)) | (set(ticked) & set(offered))
    leave = (set(before.get("leave", ())) - set(offered)) | (set(offered) - set(ticked))
    return {"use": sorted(use), "leave": sorted(leave)}


def _described(column: Mapping[str, Any]) -> str:
    """A column's name with some of its values, short enough for a list."""
    values = ", ".join(_cut(value, _LONGEST_VALUE) for value in column["examples"])
    name = _cut(str(column["name"]), _LONGEST_NAME)
    return f"{name} ({values})" if values else name


def _cut(text: str, longest: int) -> str:
    whole = visible(text)
    return whole if len(whole) <= longest else f"{whole[: longest - 1].rstrip()}…"
