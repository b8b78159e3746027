"""How to reach people: encrypted with a key that is not in the database, apart from everything else, deletable."""

import json

from cryptography.fernet import Fernet, InvalidToken
from django.conf import settings
from django.utils import timezone

from peerfront.foundation.errors import DataFileError
from peerfront.web.live.records.models import Contact

FIELDS = ("name", "phone", "note")


def _box() -> Fernet:
    return Fernet(settings.CONTACT_KEY)


def write_contact(person: str, contact: dict[str, str]) -> None:
    """Keep or replace how a person can be reached; an empty contact is deleted."""
    details = {name: contact[name].strip() for name in FIELDS if contact.get(name, "").strip()}
    if not details:
        delete_contact(person)
        return
    sealed = _box().encrypt(json.dumps({"person": person, **details}, ensure_ascii=False).encode())
    Contact.objects.update_or_create(person_id=person, defaults={"sealed": sealed, "written_at": timezone.now()})


def read_contact(person: str) -> dict[str, str] | None:
    """Read how a person can be reached; None if it was never written, or was deleted."""
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
    """Delete how to reach a person; return whether there was anything to delete."""
    return Contact.objects.filter(person_id=person).delete()[0] > 0


def readable(sealed: bytes) -> bool:
    """Tell whether contact details were encrypted with the key of this study's folder."""
    try:
        _box().decrypt(sealed)
    except InvalidToken:
        return False
    return True
