"""Rules of notes for the audit: what was done or looked at without changing a row of the rules."""

from peerfront.web.live.rules.events import ActionNoted
from peerfront.web.live.rules.permissions import Action
from peerfront.web.live.rules.refusals import Reason, Refusal, refusal
from peerfront.web.live.rules.requests import NoteAction
from peerfront.web.live.rules.situation import Outcome, Situation, bad_identifier, bad_text, out_of_range

MOST_DETAILS = 50
LONGEST_SUBJECT = 100
OF_A_PERSON = frozenset({Action.WRITE_CONTACT, Action.SEE_CONTACT, Action.DELETE_CONTACT, Action.PRINT_COUPONS})
"""Concern a person, and so the site of the person."""
AFTER_WITHDRAWAL = frozenset({Action.SEE_CONTACT, Action.DELETE_CONTACT})
"""Done for people who withdrew, too: they are owed payments, and their details are to be deleted."""


def note_action(situation: Situation, wish: NoteAction) -> Outcome:
    """Note an action for a person whom the member may reach, or for a site or study that they may see."""
    if bad := bad_text("subject", wish.subject, longest=LONGEST_SUBJECT) or _bad_details(wish.details):
        return bad
    if wish.noted in OF_A_PERSON:
        person = situation.known_person(wish.subject, withdrawn_too=wish.noted in AFTER_WITHDRAWAL)
        if isinstance(person, Refusal):
            return person
    elif situation.request.site is None and (all_sites := situation.concerns_all_sites()):
        return all_sites
    return (ActionNoted(wish.noted, wish.subject, wish.details),)


def _bad_details(details: tuple[tuple[str, str], ...]) -> Refusal | None:
    if bad := out_of_range("number_of_details", len(details), 0, MOST_DETAILS):
        return bad
    names = [name for name, _ in details]
    if len(set(names)) != len(names):
        return refusal(Reason.TWICE, name="detail")
    for name, value in details:
        if bad := bad_identifier("detail", name) or bad_text("detail", value):
            return bad
    return None
