"""What a coordinator does with a plan: change a number with a reason, approve it, stop it."""

from django import forms
from django.db.models import Sum
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from peerfront.web.live.planning.arrival_plans import warm_up_in_background
from peerfront.web.live.records.models import Plan, PlanLine
from peerfront.web.live.rules.records import PlanStatus
from peerfront.web.live.rules.requests import ApprovePlan, ChangePlan, StopPlan
from peerfront.web.live.rules.study_settings import LARGEST_CAP
from peerfront.web.live.screens.coupon_page import why_field
from peerfront.web.live.screens.form_pages import FormPage, answer_form
from peerfront.web.live.screens.plan_page import plan_or_404
from peerfront.web.live.screens.staff_requests import RequestForm
from peerfront.web.live.screens.visibility import study_or_404


class ChangeForm(RequestForm):
    person = forms.CharField(label=_("Person"), max_length=40, widget=forms.TextInput(attrs={"autocomplete": "off"}))
    coupons = forms.IntegerField(
        label=_("Coupons"),
        min_value=0,
        max_value=LARGEST_CAP,
        widget=forms.NumberInput(attrs={"inputmode": "numeric", "autocomplete": "off"}),
    )
    why = why_field()


class StopForm(RequestForm):
    why = why_field()


def change_plan(request: HttpRequest, number: int) -> HttpResponse:
    """Give a person of a proposed plan another number."""
    plan, study = plan_or_404(number), study_or_404()
    person = request.GET.get("person", "")[:40]
    line = PlanLine.objects.filter(plan=plan, person_id=person).first()
    initial = {} if line is None else {"person": person, "coupons": line.coupons}
    form = ChangeForm(request.POST or None, initial=initial)
    facts = [(gettext("Most for one person"), str(study.settings.cap)), (gettext("Coupons left"), str(study.kept))]
    if line is not None:
        facts.insert(0, (gettext("Planned for %(person)s") % {"person": person}, str(line.planned)))
    page = FormPage(
        title=gettext("Change a number of plan %(plan)s") % {"plan": plan.plan},
        lead=gettext("What was planned stays recorded beside your number, with your reason."),
        button=gettext("Change the number"),
        done=gettext("The number is changed."),
        facts=tuple(facts),
        back=reverse("plan_number", args=[plan.plan]),
        back_label=gettext("Plan %(plan)s") % {"plan": plan.plan},
    )

    def wish() -> ChangePlan:
        told = form.cleaned_data
        return ChangePlan(plan.plan, ((told["person"].strip(), told["coupons"]),), told["why"])

    return answer_form(request, form, page, wish, site="")


def approve_plan(request: HttpRequest, number: int) -> HttpResponse:
    """Let a plan be the one by which coupons are handed out."""
    plan, study = plan_or_404(number), study_or_404()
    lines = PlanLine.objects.filter(plan=plan)
    coupons = lines.aggregate(coupons=Sum("coupons", default=0))["coupons"]
    people = lines.count()
    lead = gettext("From now on coupons are handed out by this plan, and a new round begins.")
    if study.approved_plan is not None:
        ends = gettext("Plan %(plan)s ends: who has not got coupons yet gets them by this plan.")
        lead = f"{lead} {ends % {'plan': study.approved_plan}}"
    page = FormPage(
        title=gettext("Approve plan %(plan)s") % {"plan": plan.plan},
        lead=lead,
        button=gettext("Approve the plan"),
        done=gettext("Plan %(plan)s is approved. Coupons are handed out by it from now on.") % {"plan": plan.plan},
        facts=(
            (gettext("Coupons in the plan"), _coupons(coupons)),
            (gettext("For"), ngettext("%(people)d person", "%(people)d people", people) % {"people": people}),
            (gettext("Left afterwards"), _coupons(study.kept - coupons)),
            (gettext("Model"), plan.model),
        ),
        back=reverse("plan_number", args=[plan.plan]),
        back_label=gettext("Plan %(plan)s") % {"plan": plan.plan},
    )
    form = RequestForm(request.POST or None)
    response = answer_form(request, form, page, lambda: ApprovePlan(plan.plan), site="")
    if Plan.objects.filter(plan=number, status=PlanStatus.APPROVED.value).exists() and request.method == "POST":
        warm_up_in_background()
    return response


def stop_plan(request: HttpRequest, number: int) -> HttpResponse:
    """Hand out nothing more by a plan."""
    plan = plan_or_404(number)
    is_used = plan.status == PlanStatus.APPROVED.value
    lead = gettext("This plan can then not be approved any more. The approved plan, if there is one, stays in use.")
    if is_used:
        lead = gettext(
            "No more coupons are handed out until another plan is approved. Coupons in people's hands stay valid."
        )
    page = FormPage(
        title=gettext("Stop plan %(plan)s") % {"plan": plan.plan},
        lead=lead,
        button=gettext("Stop the plan"),
        done=gettext("Plan %(plan)s is stopped.") % {"plan": plan.plan},
        danger=True,
        back=reverse("plan_number", args=[plan.plan]),
        back_label=gettext("Plan %(plan)s") % {"plan": plan.plan},
    )
    form = StopForm(request.POST or None)
    return answer_form(request, form, page, lambda: StopPlan(plan.plan, form.cleaned_data["why"]), site="")


def _coupons(number: int) -> str:
    return ngettext("%(coupons)d coupon", "%(coupons)d coupons", number) % {"coupons": number}
