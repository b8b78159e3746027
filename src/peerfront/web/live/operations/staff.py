"""Who may log in: add people, change what they are, stop them; every change is noted in the chain of events."""

from collections.abc import Callable, Mapping
from datetime import datetime

from django.contrib.auth.models import User
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.core.exceptions import ValidationError
from django.db import transaction

from peerfront.foundation.errors import SettingError, UnknownName
from peerfront.web.live.operations.beginning import ask_here, begin
from peerfront.web.live.records import models
from peerfront.web.live.records.recording import answer
from peerfront.web.live.rules.actions import Action, Role
from peerfront.web.live.rules.deciding import Answer
from peerfront.web.live.rules.requests import NoteAction, Request
from peerfront.web.live.rules.settings import Settings

LONGEST_USER_NAME = 60


def staff_note(what: str, user: str, role: Role | str, site: str | None) -> NoteAction:
    """The note of a change: what was done to whom, and what they are afterwards."""
    details = (("done", what), ("role", str(role)), ("site", site or ""))
    return NoteAction(Action.MANAGE_USERS, user, details)


def member_note(what: str, user: User) -> NoteAction:
    """The note of something that changes neither role nor site."""
    member = models.Member.objects.filter(user=user).first()
    return staff_note(what, user.username, member.role if member else "", member.site_id if member else None)


def bad_user_name(name: str) -> bool:
    """Whether a name cannot be used to log in."""
    try:
        UnicodeUsernameValidator()(name)
    except ValidationError:
        return True
    return not 0 < len(name) <= LONGEST_USER_NAME


class NameTaken(Exception):
    """Somebody else has a name that was chosen."""


def is_taken(name: str, besides: User | None = None) -> bool:
    """Whether somebody else has this name, in capitals or not."""
    others = User.objects.all() if besides is None else User.objects.exclude(pk=besides.pk)
    return others.filter(username__iexact=name).exists()


def refuse_taken(name: str, besides: User | None = None) -> None:
    """Raise `NameTaken`; call it in the transaction that gives the name, in which nobody else writes."""
    if is_taken(name, besides):
        raise NameTaken(name)


def named_user(name: str) -> User:
    """A user by name; an error suggests the nearest one."""
    user = User.objects.filter(username=name).first()
    if user is None:
        raise UnknownName("user", name, User.objects.values_list("username", flat=True))
    return user


def managers() -> int:
    """How many people can manage the whole study."""
    return models.Member.objects.filter(role=Role.MANAGER, site=None, user__is_active=True).count()


def write_member(name: str, role: Role, site: str | None) -> User:
    """Make or change a user; call it in the transaction in which the change is noted."""
    user, _ = User.objects.get_or_create(username=name)
    models.Member.objects.update_or_create(user=user, defaults={"role": role.value, "site_id": site})
    return user


def begin_with_manager(settings: Settings, sites: Mapping[str, str], name: str) -> User:
    """Begin a study in an empty database, with its sites and its manager: all of it or nothing."""
    if bad_user_name(name):
        raise SettingError(
            f"{name!r} cannot be used to log in: a name has at most {LONGEST_USER_NAME} letters, digits and @ . + - _."
        )
    with transaction.atomic():
        begin(settings, sites)
        ask_here(staff_note("added", name, Role.MANAGER, None))
        return write_member(name, Role.MANAGER, None)


def noted(request: Request, change: Callable[[], None], now: datetime | None = None) -> Answer:
    """Note a change and make it, both or neither; a request that is sent again changes nothing."""
    return answer(request, now, alongside=lambda _: change())
