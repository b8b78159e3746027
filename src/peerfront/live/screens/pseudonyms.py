"""Pseudonyms for people who are enrolled: short, easy to read out, drawn at random so that they tell nothing."""

import secrets

from peerfront.live.records.models import Person


def propose_pseudonym() -> str:
    """A pseudonym that nobody has: P and five digits, more where these are nearly used up."""
    digits = 5
    while True:
        for _ in range(20):
            proposed = "P" + "".join(secrets.choice("0123456789") for _ in range(digits))
            if not Person.objects.filter(person=proposed).exists():
                return proposed
        digits += 1
