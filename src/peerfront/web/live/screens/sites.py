"""Sites: where people come. They are added, never removed: coupons and people belong to them."""

import re
from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from peerfront.web.live.records.models import Site
from peerfront.web.live.rules.deciding import Accepted
from peerfront.web.live.rules.requests import AddSite
from peerfront.web.live.screens.form_pages import ask_whole
from peerfront.web.live.screens.page_words import found_and_to_do
from peerfront.web.live.screens.staff_requests import RequestForm


class SiteForm(RequestForm):
    """A new site."""

    name = forms.CharField(label=_("Name"), max_length=100, help_text=_("As people know it, such as North clinic."))
    short = forms.CharField(
        label=_("Short name"),
        max_length=40,
        help_text=_(
            "Letters, digits, - and _ without blanks, such as north. It stands in the exported data and stays."
        ),
        widget=forms.TextInput(attrs={"autocapitalize": "none", "autocomplete": "off"}),
    )

    def clean_short(self) -> str:
        short: str = self.cleaned_data["short"].strip()
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", short):
            raise forms.ValidationError(gettext("Use letters, digits, - and _ without blanks."))
        return short


def sites(request: HttpRequest) -> HttpResponse:
    """All sites, and a form for a new one."""
    form = SiteForm(request.POST or None)
    context: dict[str, Any] = {"form": form}
    if request.method == "POST" and form.is_valid():
        wish = AddSite(form.cleaned_data["short"], form.cleaned_data["name"].strip())
        answered = ask_whole(form, request, wish)
        if isinstance(answered, Accepted):
            messages.success(request, gettext("The site is added."))
            return redirect("sites")
        context["found"], context["to_do"] = found_and_to_do(answered.refusal)
        form.with_new_key()
    context["places"] = Site.objects.annotate(
        n_people=Count("person", distinct=True), n_users=Count("member", distinct=True)
    )
    return render(request, "screens/management/sites.html", context)
