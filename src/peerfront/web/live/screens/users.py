"""Users: list and add people, change their roles, stop them, send one-time links; and everybody's own password."""

from collections.abc import Callable, Collection
from functools import partial
from typing import Any, cast
from uuid import uuid4

from django import forms
from django.contrib import messages
from django.contrib.auth import login, update_session_auth_hash
from django.contrib.auth.forms import SetPasswordForm
from django.contrib.auth.models import User
from django.contrib.auth.views import PasswordChangeView
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse_lazy
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters

from peerfront.web.live.operations.staff import (
    LONGEST_USER_NAME,
    NameTaken,
    bad_user_name,
    end_sessions,
    is_taken,
    managers,
    member_note,
    new_link,
    note_login,
    noted,
    refuse_taken,
    staff_note,
    user_of_link,
    write_member,
)
from peerfront.web.live.operations.tries import OF_PRESENT_PASSWORD, TooMany, Tries
from peerfront.web.live.records.database import member_from
from peerfront.web.live.records.models import Member as StoredMember
from peerfront.web.live.records.models import Site
from peerfront.web.live.rules.actions import Member, Role, roles_from
from peerfront.web.live.rules.deciding import Accepted, Answer
from peerfront.web.live.rules.requests import Request
from peerfront.web.live.screens.logins import remember_user
from peerfront.web.live.screens.page_words import refusal_words, term
from peerfront.web.live.screens.staff_requests import AtWork, RequestForm, may_open

ROLE_HELP = {
    Role.INTERVIEWER: _("enrols people, records answers, hands out coupons"),
    Role.CASHIER: _("pays what is owed"),
    Role.COORDINATOR: _("approves plans, adds seeds, decides about coupons; can do all that interviewers do"),
    Role.ANALYST: _("sees progress and estimates, exports without contact details"),
    Role.MANAGER: _("users, sites, settings, back-ups, audit"),
    Role.INVESTIGATOR: _("sees plans, people, progress, estimates, audit and users; changes nothing"),
}
_LINK = "one_time_link"


class _LastManager(Exception):
    """Nobody would be left who can manage the whole study."""


class _LinkUsed(Exception):
    """A one-time link was used while its page was open."""


class RoleForm(RequestForm):
    """The roles of a user, at one site or at all."""

    roles = forms.MultipleChoiceField(
        label=_("Roles"), help_text=_("One or several."), widget=forms.CheckboxSelectMultiple
    )
    site = forms.ChoiceField(
        label=_("Site"), required=False, help_text=_("People with a role for one site see that site only.")
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        roles = [(role.value, f"{term(role.value)}: {ROLE_HELP[role]}") for role in Role]
        cast(forms.ChoiceField, self.fields["roles"]).choices = roles
        sites = [("", gettext("All sites")), *Site.objects.values_list("site", "name")]
        cast(forms.ChoiceField, self.fields["site"]).choices = sites

    @property
    def roles_and_site(self) -> tuple[tuple[Role, ...], str | None]:
        return tuple(map(Role, self.cleaned_data["roles"])), self.cleaned_data["site"] or None


def _check_user_name(name: str) -> None:
    if bad_user_name(name):
        raise forms.ValidationError(gettext("Use letters, digits and @ . + - _ without blanks."))


class NewUserForm(RoleForm):
    """The name and roles of a new user."""

    name = forms.CharField(
        label=_("Name for logging in"),
        max_length=LONGEST_USER_NAME,
        help_text=_("Letters, digits and @ . + - _ without blanks. The audit shows it."),
        widget=forms.TextInput(attrs={"autocapitalize": "none"}),
        validators=[_check_user_name],
    )
    field_order = ("name", "roles", "site")

    def clean(self) -> dict[str, Any]:
        """A name is taken unless this very form took it, sent a second time."""
        entries = cast(dict[str, Any], super().clean())
        name = entries.get("name", "")
        if name and is_taken(name) and not self.asked_before:
            self.add_error("name", name_taken())
        return entries


def name_taken() -> str:
    """The refusal of a name that somebody else has."""
    return gettext("Somebody has this name already. Choose another.")


def users(request: HttpRequest) -> HttpResponse:
    """List all users, also those who can no longer log in."""
    people = User.objects.select_related("member", "member__site").order_by("-is_active", "username")
    context = {"people": people, "manages": may_open("user", cast(AtWork, request).member)}
    return render(request, "screens/management/users.html", context)


def add_user(request: HttpRequest) -> HttpResponse:
    """Add somebody, who then gets a one-time link."""
    form = NewUserForm(request.POST or None)
    context: dict[str, Any] = {"form": form}
    if request.method == "POST" and form.is_valid():
        name, (roles, site) = form.cleaned_data["name"], form.roles_and_site
        note = staff_note("added", name, roles, site)
        try:
            answered = form.ask(request, note, alongside=lambda _: _add(name, roles, site))
        except NameTaken:
            form.add_error("name", name_taken())
        else:
            if isinstance(answered, Accepted):
                user = User.objects.get(username=name)
                if not answered.repeated:
                    _keep_link(request, user)
                return redirect("user", user.pk)
            context |= refusal_words(answered.refusal)
            form.with_new_key()
    return render(request, "screens/management/add_user.html", context)


def user(request: HttpRequest, number: int) -> HttpResponse:
    """One user: change the role, make a new link, stop or let in again."""
    person = get_object_or_404(User.objects.select_related("member", "member__site"), pk=number)
    stored = StoredMember.objects.filter(user=person).first()
    own = person.get_username() == cast(AtWork, request).member.name
    initial = {"roles": roles_from(stored.roles), "site": stored.site_id} if stored else {}
    form = RoleForm(request.POST or None, initial=initial)
    page = {"person": person, "own": own, "form": form, "only_key": RequestForm()}
    if request.method != "POST":
        link = request.session.pop(_LINK, None)
        own_link = link if link is not None and link["user"] == person.pk else None
        return render(request, "screens/management/user.html", page | {"link": own_link})
    what = request.POST.get("do", "")
    if own:  # not even a link: it would end this very session, and nobody would see it
        messages.error(request, gettext("Nobody changes their own roles. Ask another manager."))
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
    form.with_new_key()
    return render(request, "screens/management/user.html", page | refusal_words(answered.refusal))


def _changed(request: HttpRequest, person: User, what: str, form: RoleForm, small: RequestForm) -> Answer:
    """Note a change and make it, in one transaction."""
    change: Callable[[], object]
    match what:
        case "role":
            roles, site = form.roles_and_site
            note, done = staff_note("role changed", person.username, roles, site), gettext("The roles are changed.")
            change = partial(write_member, person.username, roles, site)
        case "link":
            note, done = member_note("new link", person), gettext("The old password works no more. Pass the link on.")
            change = partial(_keep_link, request, person)
        case "stop":
            note, done = member_note("stopped", person), gettext("This user can no longer log in.")
            change = partial(_let_in, person, False)
        case "let in":
            note, done = member_note("let in again", person), gettext("This user can log in again.")
            change = partial(_let_in, person, True)
        case _:
            raise Http404

    def changed(_: Accepted) -> None:
        change()
        if managers() == 0:  # nobody else writes in this transaction: two managers cannot remove each other
            raise _LastManager

    answered = small.ask(request, note, alongside=changed)
    if isinstance(answered, Accepted) and not answered.repeated:
        messages.success(request, done)
    return answered


def _add(name: str, roles: Collection[Role], site: str | None) -> None:
    """Write somebody new; another manager may have used the name since the form was checked."""
    refuse_taken(name)
    write_member(name, roles, site)


def _let_in(person: User, is_active: bool) -> None:
    person.is_active = is_active
    person.save(update_fields=["is_active"])
    if not is_active:
        end_sessions(person)


def _keep_link(request: HttpRequest, user: User) -> None:
    """Keep a new link for the next page, which shows it once."""
    address = f"{request.scheme}://{request.get_host()}"
    link = new_link(user, address)
    request.session[_LINK] = {"user": user.pk, "address": link.address, "days": link.valid.days}


_BACKEND = "peerfront.web.live.screens.staff_requests.StaffBackend"


class _NameAndPasswords(SetPasswordForm):  # type: ignore[type-arg]
    """Managers who log in for the first time may choose their name as well: no record carries it yet."""

    field_order = ("user_name", "new_password1", "new_password2")

    user_name = forms.CharField(
        label=_("Your name for logging in"),
        max_length=LONGEST_USER_NAME,
        help_text=_("Letters, digits and @ . + - _ without blanks. The audit shows it, so it should tell who you are."),
        widget=forms.TextInput(attrs={"autocomplete": "username", "autocapitalize": "none"}),
        validators=[_check_user_name],
    )

    def clean_user_name(self) -> str:
        name: str = self.cleaned_data["user_name"]
        if is_taken(name, besides=self.user):
            raise forms.ValidationError(name_taken())
        return name


@never_cache
@sensitive_post_parameters()
def first_login(request: HttpRequest, number: str, token: str) -> HttpResponse:
    """Somebody follows a one-time link, chooses a password, and is logged in."""
    user = user_of_link(number, token)
    stored = StoredMember.objects.filter(user=user).first() if user is not None else None
    if user is None or stored is None:
        return render(request, "screens/management/link_ended.html", status=410)
    chooses_name = user.last_login is None and Role.MANAGER in roles_from(stored.roles)
    kind = _NameAndPasswords if chooses_name else SetPasswordForm
    initial = {"user_name": user.username} if chooses_name else {}
    form = kind(user, request.POST or None, initial=initial)
    if request.method == "POST" and form.is_valid():
        name = form.cleaned_data.get("user_name", user.username)
        form.save(commit=False)  # hashes the password, which takes a while, before others have to wait

        def change() -> None:
            if user_of_link(number, token) is None:  # somebody followed the link at the same moment, and was faster
                raise _LinkUsed
            if name != user.username:
                _rename(user, name, by)
            user.save(update_fields=["password"])

        by = member_from(stored)
        try:
            note_login("chose a password by a one-time link", by, change)
        except NameTaken:
            form.add_error("user_name", name_taken())
        except _LinkUsed:
            return render(request, "screens/management/link_ended.html", status=410)
        else:
            end_sessions(user)
            login(request, user, backend=_BACKEND)
            done = gettext("Your password is set. Next time, log in with your name and this password.")
            messages.success(request, done)
            return remember_user(request, redirect("home"), str(user.pk))
    context = {"form": form, "user_name": user.username, "named": chooses_name}
    return render(request, "screens/management/first_login.html", context)


def _rename(user: User, name: str, by: Member) -> None:
    def change() -> None:
        refuse_taken(name, besides=user)
        user.username = name
        user.save(update_fields=["username"])

    note = staff_note(f"renamed to {name}", by.name, by.roles, by.site)
    noted(Request(uuid4().hex, by, by.site, None, note), change)


class Password(PasswordChangeView):
    """Somebody who is logged in chooses another password; their other sessions end."""

    template_name = "screens/management/password.html"
    success_url = reverse_lazy("home")

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Change it, unless the present password was guessed too often."""
        self.tries = Tries([(OF_PRESENT_PASSWORD, request.user.get_username())])
        try:
            return super().post(request, *args, **kwargs)
        except TooMany:
            self.tries.succeeded()  # no password was tried
            raise

    def form_invalid(self, form: Any) -> HttpResponse:
        if "old_password" not in form.errors:
            self.tries.succeeded()
        return super().form_invalid(form)

    def form_valid(self, form: Any) -> HttpResponse:
        self.tries.succeeded()
        form.save(commit=False)
        change = partial(form.user.save, update_fields=["password"])
        note_login("changed the password", cast(AtWork, self.request).member, change)
        update_session_auth_hash(self.request, form.user)
        end_sessions(form.user, besides=self.request.session.session_key)
        messages.success(self.request, gettext("Your password is changed. On other devices you have to log in again."))
        return redirect(self.get_success_url())
