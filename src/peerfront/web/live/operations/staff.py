"""Begin a study and manage its users: add, change or stop them; every change is an event."""

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from threading import Lock
from uuid import uuid4

from django.conf import settings as django_settings
from django.contrib.auth import SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.auth.tokens import default_token_generator
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.contrib.sessions.models import Session
from django.core.exceptions import ValidationError
from django.db import transaction
from django.urls import reverse
from django.utils import timezone
from django.utils.encoding import force_str
from django.utils.http import urlsafe_base64_decode, urlsafe_base64_encode

from peerfront.foundation.errors import SettingError, UnknownName
from peerfront.foundation.messages import note
from peerfront.web.live.records import models
from peerfront.web.live.records.recording import answer
from peerfront.web.live.rules.actions import Action, Member, Role, roles_from, roles_text
from peerfront.web.live.rules.codes import new_prefix
from peerfront.web.live.rules.deciding import Accepted, Answer, Refused
from peerfront.web.live.rules.requests import AddSite, BeginStudy, NoteAction, Request, Wish
from peerfront.web.live.rules.study_settings import Settings

CONSOLE = "command line"
"""Who acts in the audit when somebody works on the server itself; no user can have this name, it has a blank."""


def begin(settings: Settings, sites: Mapping[str, str], now: datetime | None = None) -> None:
    """Begin a study in an empty database."""
    if models.Event.objects.exists():
        raise SettingError("live_database.not_empty")
    ask_here(BeginStudy(settings, new_prefix(), django_settings.KEYS.checks), now=now)
    for site, name in sites.items():
        ask_here(AddSite(site, name), now=now)


def answer_here(
    wish: Wish,
    *,
    role: Role = Role.MANAGER,
    now: datetime | None = None,
    ending: str = "",
    alongside: Callable[[Accepted], None] | None = None,
) -> Answer:
    """Answer a request from the command line.

    `ending` is added to the request's key, and `alongside` is as in `recording.answer`.
    """
    request = Request(uuid4().hex + ending, Member(CONSOLE, (role,), None), None, None, wish)
    return answer(request, now, alongside=alongside)


def ask_here(wish: Wish, *, role: Role = Role.MANAGER, now: datetime | None = None) -> Accepted:
    """Carry out a request from the command line; a refusal becomes an error that says what to do."""
    return accepted(answer_here(wish, role=role, now=now))


def accepted(answered: Answer) -> Accepted:
    """Return an accepted answer; raise an error for a refusal."""
    if isinstance(answered, Refused):
        why, to_do = answered.refusal.messages
        raise SettingError("live_database.refused", found=why, to_do=to_do)
    return answered


@dataclass(frozen=True)
class OneTimeLink:
    """The address at which a user chooses a password."""

    address: str
    valid: timedelta


@transaction.atomic  # a password and its seal change together, also where the process is killed between them
def new_link(user: User, site_address: str) -> OneTimeLink:
    """Make a link for a user; the present password and earlier links stop working."""
    user.set_unusable_password()
    user.save(update_fields=["password"])
    end_sessions(user)
    number = urlsafe_base64_encode(str(user.pk).encode())
    path = reverse("first_login", args=[number, default_token_generator.make_token(user)])
    return OneTimeLink(site_address.rstrip("/") + path, timedelta(seconds=django_settings.PASSWORD_RESET_TIMEOUT))


def user_of_link(number: str, token: str) -> User | None:
    """The user of a link; None if it was used, has expired, or never existed."""
    try:
        user = User.objects.filter(pk=int(force_str(urlsafe_base64_decode(number))), is_active=True).first()
    except (ValueError, OverflowError):
        return None
    if user is None or user.has_usable_password() or not default_token_generator.check_token(user, token):
        return None
    return user


def end_sessions(user: User, besides: str | None = None) -> None:
    """Remove the sessions of a user, besides one by its key: somebody who is let in again has to log in again."""
    for session in Session.objects.exclude(session_key=besides):
        if session.get_decoded().get(SESSION_KEY) == str(user.pk):
            session.delete()


LONGEST_USER_NAME = 60
SERVER = "login page"
"""Who notes failed logins in the audit; no user can have this name, it has a blank."""
NOTED_AGAIN_AFTER = 600.0
"""Seconds after which more failed logins of one name from one address are noted, as one with their number."""
MOST_AT_ONCE = 20
"""Names and addresses of failed logins that are told apart in that time; the others are noted as one."""


def note_login(done: str, member: Member, change: Callable[[], None] = lambda: None) -> None:
    """Note a login, or what else becomes of a password, and make the change, in one transaction."""
    FAILED_LOGINS.note_ended()
    _note_login(done, member, member.name, change=change)


def _note_login(
    done: str, member: Member, name: str, *details: tuple[str, str], change: Callable[[], None] = lambda: None
) -> None:
    if not models.Study.objects.exists():  # before it begins there is nothing to note in
        change()
        return
    note = NoteAction(Action.LOG_IN, name, (("done", done), *details))
    accepted(noted(Request(uuid4().hex, member, None, None, note), change))


@dataclass
class _Failed:
    """Failed logins of one name from one address."""

    first: float
    """When the first was noted, by the seconds that the process counts."""
    more: int = 0
    """Those since, which are not noted yet."""
    last: str = ""
    """The time of the last of these."""


class FailedLogins:
    """Failed logins as they are noted: at most two notes in ten minutes for one name and address, with their number.

    A name that nobody has is not noted: somebody may have typed a password there. Addresses are not noted either.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._failed: dict[tuple[str, str], _Failed] = {}

    def add(self, name: str, address: str) -> None:
        """Count a failed login; note the first one now, more of them later."""
        self.note_ended()
        key = (name if User.objects.filter(username=name).exists() else "", address)
        with self._lock:
            if key not in self._failed and len(self._failed) >= MOST_AT_ONCE:
                key = ("", "")
            is_first = key not in self._failed
            failed = self._failed.setdefault(key, _Failed(time.monotonic()))
            if not is_first:
                failed.more += 1
                failed.last = timezone.now().isoformat(sep=" ", timespec="minutes")
        if is_first:
            _note_login("failed", _BY_SERVER, key[0])

    def note_ended(self, *, all_of_them: bool = False) -> None:
        """Note what was counted and not noted yet, where the ten minutes are over."""
        now = time.monotonic()
        with self._lock:
            ended = [key for key, each in self._failed.items() if all_of_them or now - each.first >= NOTED_AGAIN_AFTER]
            gone = [(key[0], self._failed.pop(key)) for key in ended]
        for name, each in gone:
            if each.more:
                _note_login("failed", _BY_SERVER, name, ("times", str(each.more)), ("last", each.last))


FAILED_LOGINS = FailedLogins()
_BY_SERVER = Member(SERVER, (Role.INVESTIGATOR,), None)


def staff_note(what: str, user: str, roles: Collection[Role], site: str | None) -> NoteAction:
    """The note of a change of a user, with roles and site afterwards."""
    details = (("done", what), ("role", roles_text(roles)), ("site", site or ""))
    return NoteAction(Action.MANAGE_USERS, user, details)


def member_note(what: str, user: User) -> NoteAction:
    """The note of a change that affects neither roles nor site."""
    stored = models.Member.objects.filter(user=user).first()
    return staff_note(what, user.username, *((roles_from(stored.roles), stored.site_id) if stored else ((), None)))


def bad_user_name(name: str) -> bool:
    """Whether a name cannot be used to log in."""
    try:
        UnicodeUsernameValidator()(name)
    except ValidationError:
        return True
    return not 0 < len(name) <= LONGEST_USER_NAME


class NameTaken(Exception):
    """The user name belongs to somebody else."""


def is_taken(name: str, besides: User | None = None) -> bool:
    """Whether somebody else has this name, ignoring case."""
    others = User.objects.all() if besides is None else User.objects.exclude(pk=besides.pk)
    return others.filter(username__iexact=name).exists()


def refuse_taken(name: str, besides: User | None = None) -> None:
    """Raise `NameTaken` if needed; call it in the transaction that gives the name, in which nobody else writes."""
    if is_taken(name, besides):
        raise NameTaken(name)


def named_user(name: str) -> User:
    """A user by name; an error suggests the nearest name."""
    user = User.objects.filter(username=name).first()
    if user is None:
        raise UnknownName(note("live_staff.user"), name, User.objects.values_list("username", flat=True))
    return user


def managers() -> int:
    """How many people can manage the whole study."""
    return models.Member.objects.filter(roles__contains=Role.MANAGER.value, site=None, user__is_active=True).count()


def write_member(name: str, roles: Collection[Role], site: str | None) -> User:
    """Create or change a user; call it in the transaction in which the change is noted."""
    user, _ = User.objects.get_or_create(username=name)
    models.Member.objects.update_or_create(user=user, defaults={"roles": roles_text(roles), "site_id": site})
    return user


def begin_with_manager(settings: Settings, sites: Mapping[str, str], name: str) -> User:
    """Begin a study in an empty database, with its sites and its manager: all of it or nothing."""
    if bad_user_name(name):
        raise SettingError("live_staff.bad_name", name=name, most=LONGEST_USER_NAME)
    with transaction.atomic():
        begin(settings, sites)
        ask_here(staff_note("added", name, (Role.MANAGER,), None))
        return write_member(name, (Role.MANAGER,), None)


def noted(request: Request, change: Callable[[], None], now: datetime | None = None) -> Answer:
    """Note and make a change in one transaction; a repeated request changes nothing."""
    return answer(request, now, alongside=lambda _: change())
