"""Users and their roles: add people, change what they are, stop them, send them a one-time link."""

from typing import Any, cast

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from peerfront.web.live.operations.staff import (
    LONGEST_USER_NAME,
    NameTaken,
    bad_user_name,
    is_taken,
    managers,
    member_note,
    new_link,
    refuse_taken,
    staff_note,
    write_member,
)
from peerfront.web.live.records.models import Member as StoredMember
from peerfront.web.live.records.models import Site
from peerfront.web.live.rules.actions import Role
from peerfront.web.live.rules.deciding import Accepted, Answer
from peerfront.web.live.rules.requests import NoteAction
from peerfront.web.live.screens.form_pages import ask_whole, asked_before
from peerfront.web.live.screens.page_words import found_and_to_do, term
from peerfront.web.live.screens.staff_requests import AtWork, RequestForm

ROLE_HELP = {
    Role.INTERVIEWER: _("enrols people, records answers, hands out coupons"),
    Role.CASHIER: _("pays what is owed"),
    Role.COORDINATOR: _("approves plans, adds seeds, decides about coupons; can do all that interviewers do"),
    Role.ANALYST: _("sees progress and estimates, exports without contact details"),
    Role.MANAGER: _("users, sites, settings, back-ups, audit"),
}
_LINK = "one_time_link"


class _LastManager(Exception):
    """Nobody would be left who can manage the whole study."""


class RoleForm(RequestForm):
    """What somebody is in the study."""

    role = forms.ChoiceField(label=_("Role"), widget=forms.RadioSelect)
    site = forms.ChoiceField(
        label=_("Site"), required=False, help_text=_("People with a role for one site see that site only.")
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        roles = [(role.value, f"{term(role.value)}: {ROLE_HELP[role]}") for role in Role]
        cast(forms.ChoiceField, self.fields["role"]).choices = roles
        sites = [("", gettext("All sites")), *Site.objects.values_list("site", "name")]
        cast(forms.ChoiceField, self.fields["site"]).choices = sites

    @property
    def chosen(self) -> tuple[Role, str | None]:
        return Role(self.cleaned_data["role"]), self.cleaned_data["site"] or None


class NewUserForm(RoleForm):
    """Somebody new."""

    name = forms.CharField(
        label=_("Name for logging in"),
        max_length=LONGEST_USER_NAME,
        help_text=_("Letters, digits and @ . + - _ without blanks. The audit shows it."),
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "none"}),
    )
    field_order = ("name", "role", "site")

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if bad_user_name(name):
            raise forms.ValidationError(gettext("Use letters, digits and @ . + - _ without blanks."))
        return name

    def clean(self) -> dict[str, Any]:
        """A name is taken unless this very form took it, sent a second time."""
        entries = cast(dict[str, Any], super().clean())
        name = entries.get("name", "")
        if name and is_taken(name) and not asked_before(self):
            self.add_error("name", name_taken())
        return entries


def name_taken() -> str:
    """What is said of a name that somebody has."""
    return gettext("Somebody has this name already. Choose another.")


def users(request: HttpRequest) -> HttpResponse:
    """Everybody who may log in, or might once."""
    people = User.objects.select_related("member", "member__site").order_by("-is_active", "username")
    return render(request, "screens/management/users.html", {"people": people})


def add_user(request: HttpRequest) -> HttpResponse:
    """Add somebody, who then gets a one-time link."""
    form = NewUserForm(request.POST or None)
    found = to_do = ""
    if request.method == "POST" and form.is_valid():
        name, (role, site) = form.cleaned_data["name"], form.chosen
        note = staff_note("added", name, role, site)
        try:
            answered = ask_whole(form, request, note, alongside=lambda _: _add(name, role, site))
        except NameTaken:
            form.add_error("name", name_taken())
        else:
            if isinstance(answered, Accepted):
                user = User.objects.get(username=name)
                if not answered.repeated:
                    _keep_link(request, user)
                return redirect("user", user.pk)
            found, to_do = found_and_to_do(answered.refusal)
            form.with_new_key()
    return render(request, "screens/management/add_user.html", {"form": form, "found": found, "to_do": to_do})


def user(request: HttpRequest, number: int) -> HttpResponse:
    """One user: change the role, make a new link, stop or let in again."""
    person = User.objects.select_related("member", "member__site").filter(pk=number).first()
    if person is None:
        raise Http404
    member = StoredMember.objects.filter(user=person).first()
    own = person.get_username() == cast(AtWork, request).member.name
    form = RoleForm(request.POST or None, initial={"role": member.role, "site": member.site_id} if member else {})
    page = {"person": person, "own": own, "form": form, "only_key": RequestForm()}
    if request.method != "POST":
        link = request.session.pop(_LINK, None)
        own_link = link if link is not None and link["user"] == person.pk else None
        return render(request, "screens/management/user.html", page | {"link": own_link})
    what = request.POST.get("do", "")
    if own:  # not even a link: it would end this very session, and nobody would see it
        messages.error(request, gettext("Nobody changes their own role. Ask another manager."))
        return redirect("user", number)
    small = RequestForm(request.POST)
    if (what == "role" and not form.is_valid()) or not small.is_valid():
        return render(request, "screens/management/user.html", page)
    try:
        answered = _changed(request, person, what, form, small)
    except _LastManager:
        messages.error(request, gettext("Nobody would be left to manage the study. Add another manager first."))
        return redirect("user", number)
    if isinstance(answered, Accepted):
        return redirect("user", number)
    found, to_do = found_and_to_do(answered.refusal)
    form.with_new_key()
    return render(request, "screens/management/user.html", page | {"found": found, "to_do": to_do})


def _changed(request: HttpRequest, person: User, what: str, form: RoleForm, small: RequestForm) -> Answer:
    """Note a change and make it, in one transaction."""
    if what == "role":
        role, site = form.chosen
        note: NoteAction = staff_note("role changed", person.username, role, site)
        done = gettext("The role is changed.")

        def change(_: Accepted) -> None:
            _write(person.username, role, site)
    elif what == "link":
        note, done = member_note("new link", person), gettext("The old password works no more. Pass the link on.")

        def change(_: Accepted) -> None:
            _keep_link(request, person)
    elif what in ("stop", "let in"):
        note = member_note("stopped" if what == "stop" else "let in again", person)
        done = gettext("This user can no longer log in.") if what == "stop" else gettext("This user can log in again.")

        def change(_: Accepted) -> None:
            person.is_active = what == "let in"
            person.save(update_fields=["is_active"])
            _check_managers()
    else:
        raise Http404
    answered = ask_whole(small, request, note, alongside=change)
    if isinstance(answered, Accepted) and not answered.repeated:
        messages.success(request, done)
    return answered


def _add(name: str, role: Role, site: str | None) -> None:
    """Write somebody new; another manager may have used the name since the form was checked."""
    refuse_taken(name)
    _write(name, role, site)


def _write(name: str, role: Role, site: str | None) -> None:
    write_member(name, role, site)
    _check_managers()


def _check_managers() -> None:
    """Inside the transaction, in which nobody else writes: two managers cannot remove each other."""
    if managers() == 0:
        raise _LastManager


def _keep_link(request: HttpRequest, user: User) -> None:
    """Keep a new link for the next page, which shows it once."""
    address = f"{request.scheme}://{request.get_host()}"
    link = new_link(user, address)
    request.session[_LINK] = {"user": user.pk, "address": link.address, "days": link.valid.days}
