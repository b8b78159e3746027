"""The forms of the steps. They check the form of entries; the work of the step checks whether they suit the study."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from peerfront.foundation.shown import visible

_STORIES = [
    ("average", _("The average of what the study leaves open")),
    ("capacity", _("One coupon works almost as well as three")),
    ("per_coupon", _("Each coupon is used on its own")),
    ("motivate", _("More coupons motivate, so that three are needed")),
    ("belief", _("The average, even where counts contradict it")),
]
_MOST_FLOORS = 3
_USUAL: tuple[Any, ...] = (None, "", False, [], "auto", "average", "neighbourhood")  # values of untouched fields


class StepForm(forms.Form):
    """A form of a step; rarely needed fields are shown apart."""

    rarely: Sequence[str] = ()
    apart: Sequence[str] = ()
    """Fields that a page shows in its own way."""
    asked: Mapping[str, str] = {}
    """Values that the link of a remedy has put in the address."""

    @property
    def usual_part(self) -> "_Part":
        elsewhere = (*self.rarely, *self.apart)
        return _Part(self, [field for field in self.visible_fields() if field.name not in elsewhere])

    @property
    def rare_part(self) -> "_Part":
        return _Part(self, [field for field in self.visible_fields() if field.name in self.rarely], with_hidden=False)

    @property
    def rare_open(self) -> bool:
        """Whether a rarely needed field has an error or was asked for, so that these fields are shown at once."""
        return any(name in self.errors or name in self.asked for name in self.rarely)

    @property
    def rare_set(self) -> int:
        """How many of the rarely needed fields are filled in."""
        return sum(self[name].value() not in _USUAL for name in self.rarely if name in self.fields)

    @property
    def entries(self) -> dict[str, Any]:
        """The entries to save: texts and numbers, without empty ones."""
        given = {name: value for name, value in self.cleaned_data.items() if value not in (None, "", [], ())}
        return {name: value.isoformat() if hasattr(value, "isoformat") else value for name, value in given.items()}


class _Part:
    """Some of a form's fields, as the shared template shows them."""

    def __init__(self, form: forms.Form, fields: list[forms.BoundField], *, with_hidden: bool = True) -> None:
        self.visible_fields, self.hidden_fields = fields, form.hidden_fields() if with_hidden else []
        self.non_field_errors = form.non_field_errors() if with_hidden else ""


def _number(label: Any, least: int = 0, help_text: Any = "", required: bool = False) -> forms.IntegerField:
    return forms.IntegerField(label=label, min_value=least, help_text=help_text, required=required)


def _decimal(label: Any, least: float, most: float | None = None, help_text: Any = "") -> forms.FloatField:
    return forms.FloatField(label=label, min_value=least, max_value=most, help_text=help_text, required=False)


def _date(label: Any, help_text: Any = "", required: bool = False) -> forms.DateField:
    picked = forms.DateInput({"type": "date"}, format="%Y-%m-%d")
    return forms.DateField(label=label, help_text=help_text, required=required, widget=picked)


def _choice(label: Any, choices: Iterable[tuple[str, Any]] = (), help_text: Any = "") -> forms.ChoiceField:
    return forms.ChoiceField(label=label, choices=list(choices), help_text=help_text, required=False)


def _several(label: Any, required: bool = False) -> forms.MultipleChoiceField:
    return forms.MultipleChoiceField(label=label, required=required, widget=forms.CheckboxSelectMultiple)


def _yes(label: Any, help_text: Any = "") -> forms.BooleanField:
    return forms.BooleanField(label=label, help_text=help_text, required=False)


def _upload(label: Any, help_text: Any, required: bool = True) -> forms.FileField:
    return forms.FileField(label=label, help_text=help_text, required=required, max_length=1_000, allow_empty_file=True)


class UploadForm(forms.Form):
    """A study's file."""

    study_file = _upload(_("The study's file"), _("Excel, CSV, RDSAT, JSON, or an export of a survey program."))


class FitForm(StepForm):
    """What the planner is prepared for."""

    rarely = ("round_cap", "people", "response", "discount", "accept_gain")

    budget = _number(_("Coupons left"), 1, _("How many coupons can still be given out in this study."), required=True)
    rounds = _number(_("Rounds left"), 1, _("Hand-outs that are still to come, this one included."), required=True)
    max_per_person = _number(_("Most coupons for one person"), 1, _("Otherwise 3, or fewer if hardly anybody had 3."))
    round_cap = _number(_("Most coupons in one round"), 1)
    people = _number(_("People who wait for coupons at once"), 1, _("About how many; otherwise as the file shows."))
    response = _choice(_("What a coupon does, if you know it"), [("auto", _("Let the study say")), *_STORIES[1:3]])
    discount = _decimal(
        _("Worth of a recruit one round later"), 0, 1,
        _("1 for the same as a recruit now; 0.9 if recruits are wanted soon."),
    )  # fmt: skip
    accept_gain = _yes(_("Go on although the columns predict recruits too well to have been known before"))


class OrderForm(StepForm):
    """The order: what sheet, forecast, report and the first week are planned with."""

    rarely: Sequence[str] = (
        "min_per_person", "round_cap", "rounds_left", "reserve", "interviews_per_week", "population", "response",
        "strata", "randomise", "seed", "study", "round",
    )  # fmt: skip

    budget = _number(_("Coupons left"), 0, _("For this round and all later ones."), required=True)
    spend = _number(_("Coupons to give out this round"), 0, _("Otherwise the best number."))
    max_per_person = _number(_("Most coupons for one person"), 1)
    date = _date(_("Day of the hand-out"), required=True)
    deadline = _date(_("Last day of the study"), _("If the file has dates; otherwise rounds are counted."))
    target = _number(_("People wanted in all"), 1, _("People who took part already included."))
    min_per_person = _number(_("Fewest coupons for everybody"), 0)
    round_cap = _number(_("Most coupons in one round"), 0)
    rounds_left = _number(_("Rounds left, this one included"), 0)
    reserve = _number(_("Coupons to keep back for good"), 0)
    interviews_per_week = _decimal(_("Interviews that can be held in a week"), 0.1)
    population = _number(_("People in the population"), 1, _("If it may run out."))
    response = _choice(_("What a coupon is believed to do"), _STORIES)
    strata = _choice(
        _("Let coupons differ only between groups of"),
        help_text=_("Everybody in a group gets the same number: estimates from the study stay valid."),
    )
    randomise = _decimal(
        _("Chance that everybody has of each number, at least"), 0, 0.5, _("Such as 0.1; 0 for no random numbers.")
    )
    seed = _number(_("Number of the draw"), 0, _("Another number draws lots and random numbers anew."))
    study = forms.CharField(label=_("Name of the study, above the sheet"), required=False, max_length=120)
    round = _number(_("Which round this is"), 1)

    def __init__(self, *arguments: Any, groups: Mapping[str, Sequence[str]], **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self.fields["strata"].choices = [("", _("Nothing: people may differ one by one")), *_named(groups)]  # type: ignore[attr-defined]
        self.groups = [("", "-")] + [
            (f"{field}={category}", visible(f"{field}: {category}"))
            for field, categories in groups.items()
            for category in categories
        ]

    @property
    def floors(self) -> list[dict[str, Any]]:
        """The rows of the floors by group: as sent, or as saved before."""
        if self.is_bound:
            given = [
                (self.data.get(f"floor_group_{n}", ""), self.data.get(f"floor_share_{n}", ""))
                for n in range(_MOST_FLOORS)
            ]
        else:
            given = [tuple(floor.rpartition(":")[::2]) for floor in self.initial.get("at_least", ())]
        rows = [*given, *[("", "")] * _MOST_FLOORS][:_MOST_FLOORS]
        return [{"number": n, "group": group, "share": share} for n, (group, share) in enumerate(rows)]

    def clean(self) -> dict[str, Any]:
        """Add the floors in the form FIELD=CATEGORY:SHARE."""
        cleaned: dict[str, Any] = super().clean() or {}
        groups = {value for value, label in self.groups if value}
        floors = []
        for row in self.floors:
            if not row["group"] and not row["share"]:
                continue
            if row["group"] not in groups:
                self.add_error(None, _("A floor needs a group. Choose one, or empty its share."))
            elif not row["share"]:
                self.add_error(None, _("A floor needs a share of everybody's mean, such as 0.5."))
            else:
                floors.append(f"{row['group']}:{row['share'].strip().replace(',', '.')}")
        return {**cleaned, "at_least": floors}


def order_facts(order: Mapping[str, Any]) -> list[tuple[Any, Any]]:
    """An order in the words of its form: labels and values of what was entered."""
    labels = {name: field.label for name, field in OrderForm.base_fields.items()}
    labels |= {"at_least": _("Floors for groups")}
    shown = {**order, "response": dict(_STORIES[1:]).get(order.get("response", ""))}
    return [
        (label, ", ".join(shown[name]) if isinstance(shown[name], list) else shown[name])
        for name, label in labels.items()
        if shown.get(name) not in (*_USUAL, 0)
    ]


class EstimatesForm(StepForm):
    """What to estimate in the population."""

    rarely = ("by", "interval", "bootstraps")

    outcome = _several(_("What to estimate"), required=True)
    population = _number(_("People in the population"), 1)
    by = _several(_("Also for each group of"))
    interval = _choice(
        _("How intervals are made"), [("neighbourhood", _("Neighbourhood bootstrap")), ("tree", _("Tree bootstrap"))]
    )
    bootstraps = _number(_("Times the sample is drawn again"), 10)

    def __init__(self, *arguments: Any, outcomes: Sequence[str], subgroups: Sequence[str], **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self.fields["outcome"].choices = _named(outcomes)  # type: ignore[attr-defined]
        self.fields["by"].choices = _named(subgroups)  # type: ignore[attr-defined]
        if not subgroups:
            del self.fields["by"]


class ReportForm(StepForm):
    """The contents of the report, beside the order."""

    rarely = ("outcome", "without_trees")

    with_ids = _yes(
        _("Show the coupon sheet with participants' ids"),
        _("Without it, no id is on the page, and it can be sent to others."),
    )
    without_trees = _yes(_("Do not draw who recruited whom"))
    outcome = _several(_("Also estimate"))

    def __init__(self, *arguments: Any, outcomes: Sequence[str], **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self.fields["outcome"].choices = _named(outcomes)  # type: ignore[attr-defined]
        if not outcomes:
            del self.fields["outcome"]


class WeekForm(OrderForm):
    """A week of the running study: the order of the sheet, of which later weeks enter only changes."""

    rarely = (*OrderForm.rarely, "valid_days", "refit")
    field_order = ("study_file", "more_coupons", *OrderForm.base_fields)

    study_file = _upload(
        _("This week's file"), _("The study's file as it is today; otherwise that of the first step."), required=False
    )
    more_coupons = _number(_("Coupons added since last week"), 0)
    valid_days = _number(_("Days until a coupon expires"), 1)
    refit = _choice(
        _("Fit the model again"), [("auto", _("If enough is new")), ("always", _("Always")), ("never", _("Never"))]
    )

    def __init__(self, *arguments: Any, first: bool, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        for name in ("more_coupons" if first else "budget", "round"):
            del self.fields[name]
        if not first:  # the order of last week stands
            self.rarely = (*("max_per_person", "deadline", "target"), *self.rarely)


STEP_FORMS = (WeekForm, ReportForm, EstimatesForm, OrderForm, FitForm)


def _named(names: Iterable[str]) -> list[tuple[str, str]]:
    return [(name, visible(name)) for name in names]
