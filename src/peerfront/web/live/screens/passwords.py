"""Choose a password: by a one-time link, and later on one's own."""

from typing import TYPE_CHECKING, Any, cast
from uuid import uuid4

from django import forms
from django.contrib import messages
from django.contrib.auth import login, update_session_auth_hash
from django.contrib.auth.forms import PasswordChangeForm, SetPasswordForm
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters

from peerfront.web.live.operations.staff import (
    LONGEST_USER_NAME,
    NameTaken,
    bad_user_name,
    is_taken,
    noted,
    refuse_taken,
    staff_note,
    user_of_link,
)
from peerfront.web.live.records.models import Member as StoredMember
from peerfront.web.live.rules.actions import Member, Role
from peerfront.web.live.rules.requests import Request
from peerfront.web.live.screens.users import name_taken

_BACKEND = "peerfront.web.live.screens.staff_requests.StaffBackend"


if TYPE_CHECKING:
    _SetPasswordForm = SetPasswordForm[User]
else:
    _SetPasswordForm = SetPasswordForm  # Django's own class takes no parameter when the program runs


class _Passwords(_SetPasswordForm):
    """A new password, twice."""

    field_order = ("user_name", "new_password1", "new_password2")

    def __init__(self, user: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(user, *args, **kwargs)
        for name in ("new_password1", "new_password2"):
            self.fields[name].widget.attrs["autocomplete"] = "new-password"
        self.fields["new_password1"].label = gettext("New password")
        self.fields["new_password1"].help_text = gettext(
            "At least 12 characters. Four or five words that nobody would guess are easy to remember."
        )
        self.fields["new_password2"].label = gettext("The same password again")
        self.fields["new_password2"].help_text = ""


class _NameAndPasswords(_Passwords):
    """Managers who log in for the first time may choose their name as well: it stands on nothing yet."""

    user_name = forms.CharField(
        label=_("Your name for logging in"),
        max_length=LONGEST_USER_NAME,
        help_text=_("Letters, digits and @ . + - _ without blanks. The audit shows it, so it should tell who you are."),
        widget=forms.TextInput(attrs={"autocomplete": "username", "autocapitalize": "none"}),
    )

    def clean_user_name(self) -> str:
        name: str = self.cleaned_data["user_name"]
        if bad_user_name(name):
            raise forms.ValidationError(gettext("Use letters, digits and @ . + - _ without blanks."))
        if is_taken(name, besides=self.user):
            raise forms.ValidationError(name_taken())
        return name


@never_cache
@sensitive_post_parameters()
def first_login(request: HttpRequest, number: str, token: str) -> HttpResponse:
    """Somebody follows a one-time link, chooses a password, and is logged in."""
    user = user_of_link(number, token)
    if user is None:
        return render(request, "screens/management/link_ended.html", status=410)
    member = StoredMember.objects.filter(user=user).first()
    chooses_name = user.last_login is None and member is not None and member.role == Role.MANAGER
    kind = _NameAndPasswords if chooses_name else _Passwords
    initial = {"user_name": user.username} if chooses_name else {}
    form = kind(user, request.POST or None, initial=initial)
    if request.method == "POST" and form.is_valid():
        try:
            if chooses_name and (name := form.cleaned_data["user_name"]) != user.username:
                _rename(user, name, None if member is None else member.site_id)
        except NameTaken:
            form.add_error("user_name", name_taken())
        else:
            form.save()
            login(request, user, backend=_BACKEND)
            done = gettext("Your password is set. Next time, log in with your name and this password.")
            messages.success(request, done)
            return redirect("home")
    context = {"form": form, "user_name": user.username, "named": chooses_name}
    return render(request, "screens/management/first_login.html", context)


def _rename(user: User, name: str, site: str | None) -> None:
    def change() -> None:
        refuse_taken(name, besides=user)
        user.username = name
        user.save(update_fields=["username"])

    by = Member(user.username, Role.MANAGER, site)
    note = staff_note(f"renamed to {name}", user.username, Role.MANAGER, site)
    noted(Request(uuid4().hex, by, site, None, note), change)


@never_cache
@sensitive_post_parameters()
def password(request: HttpRequest) -> HttpResponse:
    """Somebody who is logged in chooses another password; their other sessions end."""
    form = _Change(cast(User, request.user), request.POST or None)
    if request.method == "POST" and form.is_valid():
        form.save()
        update_session_auth_hash(request, form.user)
        messages.success(request, gettext("Your password is changed. On other devices you have to log in again."))
        return redirect("home")
    return render(request, "screens/management/password.html", {"form": form})


class _Change(_Passwords, PasswordChangeForm):
    """The present password, then a new one twice."""

    field_order = ("old_password", "new_password1", "new_password2")

    def __init__(self, user: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(user, *args, **kwargs)
        self.fields["old_password"].label = gettext("Present password")
