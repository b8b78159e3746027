"""Begin a study: its first event, its sites and its first manager, who gets a one-time link."""

from collections.abc import Callable, Mapping
from datetime import datetime
from uuid import uuid4

from peerfront.foundation.errors import SettingError
from peerfront.web.live.records import models
from peerfront.web.live.records.recording import answer
from peerfront.web.live.rules.actions import Member, Role
from peerfront.web.live.rules.codes import new_prefix
from peerfront.web.live.rules.deciding import Accepted, Answer, Refused
from peerfront.web.live.rules.requests import AddSite, BeginStudy, Request, Wish
from peerfront.web.live.rules.settings import Settings

CONSOLE = "command line"
"""Who acts in the audit when somebody works on the server itself; no user can have this name, it has a blank."""


def begin(settings: Settings, sites: Mapping[str, str], now: datetime | None = None) -> None:
    """Begin a study in an empty database."""
    if models.Event.objects.exists():
        raise SettingError("The database of DATABASE_URL holds a study already. Name an empty database.")
    ask_here(BeginStudy(settings, new_prefix()), now=now)
    for site, name in sites.items():
        ask_here(AddSite(site, name), now=now)


def answer_here(
    wish: Wish,
    *,
    role: Role = Role.MANAGER,
    now: datetime | None = None,
    alongside: Callable[[Accepted], None] | None = None,
) -> Answer:
    """Ask the rules from the command line; `alongside` is as in `recording.answer`."""
    return answer(Request(uuid4().hex, Member(CONSOLE, role, None), None, None, wish), now, alongside=alongside)


def ask_here(wish: Wish, *, role: Role = Role.MANAGER, now: datetime | None = None) -> Accepted:
    """Ask the rules from the command line; a refusal is an error that says what to do."""
    return accepted(answer_here(wish, role=role, now=now))


def accepted(answered: Answer) -> Accepted:
    """The answer, unless it is a refusal: then raise an error with its words."""
    if isinstance(answered, Refused):
        raise SettingError(f"{answered.refusal.found} {answered.what_to_do}")
    return answered
