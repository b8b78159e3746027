"""Contact details: encrypted with a key that is not in the database, kept apart from all else, deletable."""

import json

from cryptography.fernet import Fernet, InvalidToken
from django.conf import settings
from django.utils import timezone

from peerfront.foundation.errors import DataFileError
from peerfront.web.live.records.leftovers import leave_mark
from peerfront.web.live.records.models import Contact

FIELDS = ("name", "phone", "note")


def _box() -> Fernet:
    return Fernet(settings.CONTACT_KEY)


def sealed_contact(person: str, contact: dict[str, str]) -> bytes:
    """Encrypt a person's contact details; nothing for empty ones."""
    details = {name: contact[name].strip() for name in FIELDS if contact.get(name, "").strip()}
    return _box().encrypt(json.dumps({"person": person, **details}, ensure_ascii=False).encode()) if details else b""


def fingerprint(person: str, sealed: bytes) -> str:
    """What the note of encrypted contact details says about them, by which others are noticed; empty for none."""
    return str(settings.KEYS.signature("contact", person.encode() + b" " + sealed))[:32] if sealed else ""


def keep_contact(person: str, sealed: bytes) -> None:
    """Save or replace a person's encrypted contact details; an empty form deletes nothing."""
    if not sealed:
        raise ValueError("There is nothing to save; `delete_contact` deletes.")
    Contact.objects.update_or_create(person_id=person, defaults={"sealed": sealed, "written_at": timezone.now()})


def read_contact(person: str) -> dict[str, str] | None:
    """Read a person's contact details; None if there are none."""
    stored = Contact.objects.filter(person_id=person).first()
    if stored is None:
        return None
    try:
        details: dict[str, str] = json.loads(_box().decrypt(bytes(stored.sealed)))
    except InvalidToken:
        raise DataFileError("live_records.other_key", person=person) from None
    if details.pop("person") != person:
        raise DataFileError("live_records.other_person", person=person)
    return details


def delete_contact(person: str) -> bool:
    """Delete a person's contact details; return whether there were any."""
    gone = Contact.objects.filter(person_id=person).delete()[0] > 0
    if gone:
        leave_mark(Contact)
    return gone


def readable(sealed: bytes) -> bool:
    """Whether contact details were encrypted with the key of this study's folder."""
    try:
        _box().decrypt(sealed)
    except InvalidToken:
        return False
    return True
