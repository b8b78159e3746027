"""What is still to be done for a person who has been enrolled."""

from dataclasses import dataclass

from django.urls import reverse
from django.utils.translation import gettext

from peerfront.web.live.records.database import DatabaseRecords
from peerfront.web.live.rules.actions import Member
from peerfront.web.live.rules.records import PersonRow, StudyRow


@dataclass(frozen=True)
class NextStep:
    """A page, and the words of the button that leads to it."""

    address: str
    label: str


def next_step(study: StudyRow, person: PersonRow, member: Member) -> NextStep | None:
    """Record answers, hand out coupons, or print those of this round again.

    None for somebody who withdrew, and for people of a site that is not the member's.
    """
    name = person.person
    if person.withdrawn_at is not None or not member.covers(person.site):
        return None
    if person.answers is None:
        return NextStep(reverse("answers", args=[name]), gettext("Record the answers of %(person)s") % {"person": name})
    decision = DatabaseRecords().decision(study.rounds, name) if study.rounds else None
    if decision is None or not decision.coupons:
        return NextStep(reverse("hand_out", args=[name]), gettext("Coupons for %(person)s") % {"person": name})
    return NextStep(
        reverse("print_coupons", args=[name]), gettext("Print the coupons of %(person)s again") % {"person": name}
    )
