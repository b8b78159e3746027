"""Who may log in, and who has contact details: what the events say, what the database has, and how they differ.

These tables hold more than their events do (hashes of passwords, encrypted details), so they are not rebuilt but
compared: names, roles, sites and who was stopped with the notes of `MANAGE_USERS`; contact details with the fingerprint
in the note of who wrote them; hashes of passwords with the seal that peerfront leaves beside each one it sets.

A study of 0.3 has notes about users but no fingerprints. Its upgrade states both tables once, in an event of their own.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction

from peerfront.foundation.messages import Message, note
from peerfront.web.live.folder import Keys, LiveFolder
from peerfront.web.live.operations.staff import ask_here
from peerfront.web.live.records import models
from peerfront.web.live.records.contacts import fingerprint
from peerfront.web.live.records.database import link_of, one_at_a_time
from peerfront.web.live.records.recording import WRITERS
from peerfront.web.live.rules.actions import Action
from peerfront.web.live.rules.events import ActionNoted, Event, RegistersStated, StatedUser, StudyBegun
from peerfront.web.live.rules.requests import StateRegisters

_RENAMED = "renamed to "


@dataclass
class Registers:
    """Keys, users and contact details, as the events say."""

    bound: int | None = None
    """The number of the event that says which keys the study has; None if none does."""
    keys: Mapping[str, str] = field(default_factory=dict)
    """The check value of each key."""
    users: dict[str, StatedUser] = field(default_factory=dict)
    contacts: dict[str, str] = field(default_factory=dict)
    """The fingerprint of each person's contact details; empty if they were written before there were fingerprints."""
    notes: list[Message] = field(default_factory=list)
    """What was only stated at an upgrade or a restore, and follows from no event before."""

    def other_keys(self, keys: Keys) -> list[str]:
        """Name the keys that are not those of this chain."""
        return [name for name, check in keys.checks if self.keys.get(name, check) != check]

    def follow(self, number: int, event: Event) -> None:
        """Apply the next event."""
        match event.fact:
            case StudyBegun() if event.fact.keys:
                self.bound, self.keys = number, dict(event.fact.keys)
            case RegistersStated():
                _state(self, number, event.fact)
            case ActionNoted(action=Action.MANAGE_USERS):
                _follow_user(self.users, event.fact)
            case ActionNoted(action=Action.WRITE_CONTACT):
                self.contacts[event.fact.subject] = event.fact.fingerprint
                if ("kept", "nothing") in event.fact.details:
                    del self.contacts[event.fact.subject]
            case ActionNoted(action=Action.DELETE_CONTACT):
                self.contacts.pop(event.fact.subject, None)


def registers(events: Iterable[Event]) -> Registers:
    """Follow keys, users and contact details through the chain."""
    found = Registers()
    for number, event in enumerate(events, start=1):
        found.follow(number, event)
    return found


def _follow_user(users: dict[str, StatedUser], noted: ActionNoted) -> None:
    details, name = dict(noted.details), noted.subject
    what = details.get("done", "")
    stated = StatedUser(name, details.get("role", ""), details.get("site", ""), True)
    before = users.get(name, stated)
    if what == "added":
        users[name] = stated
    elif what == "role changed":
        users[name] = replace(stated, active=before.active)
    elif what in ("stopped", "let in again"):
        users[name] = replace(before, active=what != "stopped")
    elif what.startswith(_RENAMED):
        users.pop(name, None)
        users[what.removeprefix(_RENAMED)] = replace(before, name=what.removeprefix(_RENAMED))


def _state(found: Registers, number: int, stated: RegistersStated) -> None:
    users, contacts = {each.name: each for each in stated.users}, dict(stated.contacts)
    odd_users = sorted(name for name in users.keys() | found.users.keys() if users.get(name) != found.users.get(name))
    odd_contacts = sorted(contacts.keys() ^ found.contacts.keys())
    found.notes.append(note("live_records.stated", number=number))
    for code, odd in (("live_records.stated_users", odd_users), ("live_records.stated_contacts", odd_contacts)):
        if odd:
            found.notes.append(note(code, number=number, names=odd[:10], all=len(odd)))
    found.bound, found.keys, found.users, found.contacts = number, dict(stated.keys), users, contacts


def other_keys_here(folder: LiveFolder) -> list[str]:
    """Name the keys of the folder that are not those of the study in the database."""
    stored = models.Event.objects.filter(kind__in=("study_begun", "registers_stated")).order_by("number")
    return registers(link_of(each).event for each in stored).other_keys(folder.keys)


def users_here() -> Iterator[tuple[StatedUser, bool]]:
    """All users of the database, and whether peerfront set the password of each."""
    for user in User.objects.select_related("member").order_by("pk"):
        member = getattr(user, "member", None)
        if member is None:
            yield StatedUser(user.username, "", "", user.is_active), True
        else:
            stated = StatedUser(user.username, member.roles, member.site_id or "", user.is_active)
            yield stated, member.password_seal == models.password_seal(user)


def contacts_here() -> Iterator[tuple[str, str]]:
    """People with contact details in the database, and the fingerprints of these."""
    for each in models.Contact.objects.order_by("person_id").iterator(chunk_size=2_000):
        yield each.person_id, fingerprint(each.person_id, bytes(each.sealed))


def compare_registers(expected: Registers) -> tuple[int, int, list[Message]]:
    """Count users and contact details, and list how they differ from what the events say."""
    users, contacts = list(users_here()), list(contacts_here())
    faults, missing = [], dict(expected.users)
    for user, sealed in users:
        follows = missing.pop(user.name, None)
        if follows is None:
            faults.append(note("live_records.user_added", user=user.name))
        elif follows != user:
            columns = [name for name, value in vars(user).items() if vars(follows)[name] != value]
            faults.append(note("live_records.user_differs", user=user.name, columns=columns))
        if not sealed:
            faults.append(note("live_records.password_set", user=user.name))
    faults += [note("live_records.user_missing", user=name) for name in missing]
    kept = dict(expected.contacts)
    for person, digest in contacts:
        follows_from = kept.pop(person, None)
        if follows_from is None:
            faults.append(note("live_records.contact_added", person=person))
        elif follows_from != digest:
            faults.append(note("live_records.contact_differs", person=person))
    faults += [note("live_records.contact_missing", person=person) for person in kept]
    return len(users), len(contacts), faults


@transaction.atomic
def state_registers() -> None:
    """Record keys, users and contact details as they are, and seal the passwords."""
    for member in models.Member.objects.select_related("user"):
        models.Member.objects.filter(pk=member.pk).update(password_seal=models.password_seal(member.user))
    users = tuple(user for user, _ in users_here())
    ask_here(StateRegisters(settings.KEYS.checks, users, tuple(contacts_here())))


def state_if_upgraded(folder: LiveFolder) -> bool:
    """State the registers of a study of 0.3; never of one whose events or heads were signed before."""
    signed = models.Event.objects.exclude(signature="")
    if not models.Study.objects.exists() or folder.heads.exists() or signed.exists():
        return False
    with transaction.atomic():
        one_at_a_time(WRITERS)
        if signed.exists():  # another process has just done it
            return False
        state_registers()
    return True
