"""Pseudonyms: proposed for people who are enrolled, short and drawn at random so that they tell nothing; and found."""

import secrets

from peerfront.web.live.records.database import DatabaseRecords
from peerfront.web.live.records.models import Person
from peerfront.web.live.rules.records import PersonRow


def propose_pseudonym() -> str:
    """A pseudonym that nobody has: P and five digits, more where these are nearly used up."""
    digits = 5
    while True:
        for _ in range(20):
            proposed = "P" + "".join(secrets.choice("0123456789") for _ in range(digits))
            if not Person.objects.filter(person=proposed).exists():
                return proposed
        digits += 1


def person_typed(typed: str) -> PersonRow | None:
    """Find the person with a pseudonym; capitals matter only where two pseudonyms differ in nothing else."""
    typed = typed.strip()
    alike = list(Person.objects.filter(person__iexact=typed).values_list("person", flat=True)[:2])
    return DatabaseRecords().person(alike[0] if len(alike) == 1 else typed)
