"""A made-up study in its third week, with one user for each role: for demonstrations and for the tests of pages."""

import secrets
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from peerfront.web.live.operations.demo_history import FIRST_DAY, SETTINGS, SITES, History
from peerfront.web.live.operations.restoring import load
from peerfront.web.live.operations.staff import CONSOLE, staff_note, write_member
from peerfront.web.live.records.contacts import write_contact
from peerfront.web.live.rules.actions import Member, Role
from peerfront.web.live.rules.codes import new_prefix
from peerfront.web.live.rules.journal import Journal
from peerfront.web.live.rules.requests import AddSite, BeginStudy, Request, Wish

USERS = (
    Member("interviewer-north", Role.INTERVIEWER, "north"),
    Member("interviewer-harbour", Role.INTERVIEWER, "harbour"),
    Member("cashier", Role.CASHIER, None),
    Member("coordinator", Role.COORDINATOR, None),
    Member("analyst", Role.ANALYST, None),
    Member("manager", Role.MANAGER, None),
)


@dataclass(frozen=True)
class Login:
    """A user of the made-up study, with a random password."""

    member: Member
    password: str


def make_demo(now: datetime | None = None) -> tuple[Login, ...]:
    """Fill an empty database with a made-up study; return its users' passwords, which are not stored."""
    now = (now or datetime.now(UTC)).replace(microsecond=0)
    first = (now - timedelta(days=FIRST_DAY)).replace(hour=8, minute=0, second=0)
    settings = replace(SETTINGS, deadline=(first + timedelta(days=8 * 7)).date())
    journal = Journal()
    logins = tuple(Login(member, _password()) for member in USERS)
    opening: list[Wish] = [
        BeginStudy(settings, new_prefix()),
        *(AddSite(site, name) for site, name in SITES.items()),
        *(staff_note("added", each.name, each.role, each.site) for each in USERS),
    ]
    for number, wish in enumerate(opening):
        journal.answer(Request(f"demo-opening-{number}", Member(CONSOLE, Role.MANAGER, None), None, None, wish), first)
    history = History(journal, first, now)
    history.play()
    load(journal.links)
    for person, contact in history.contacts.items():
        write_contact(person, contact)
    for login in logins:
        user = write_member(login.member.name, login.member.role, login.member.site)
        user.set_password(login.password)
        user.save()
    return logins


def _password() -> str:
    """A password of four groups that are easy to type: 80 bits."""
    alphabet = "abcdefghjkmnpqrstuvwxyz23456789"
    return "-".join("".join(secrets.choice(alphabet) for _ in range(4)) for _ in range(4))
