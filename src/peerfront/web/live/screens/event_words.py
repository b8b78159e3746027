"""What happened, in a sentence: every event of the chain as a manager or an ethics board reads it.

Answers are never told: the audit says that they were recorded, not what they were.
"""

from collections.abc import Mapping
from dataclasses import fields
from enum import Enum
from typing import Any

from django.utils.translation import gettext, ngettext

from peerfront.foundation.shown import visible
from peerfront.web.live.rules import events
from peerfront.web.live.rules.codes import shown_code
from peerfront.web.live.rules.events import Event, Fact
from peerfront.web.live.rules.permissions import Action
from peerfront.web.live.rules.settings import Settings
from peerfront.web.live.rules.stored_events import plain_value
from peerfront.web.live.screens.money import shown_amount
from peerfront.web.live.screens.words import isolated, refused_words, term

NOT_TOLD = frozenset(
    {
        "answers", "network_size", "salt", "commitment", "digest", "request_digest", "lines", "settings",
    }
)  # fmt: skip
"""Fields that details leave out: answers are sensitive, the others long or of no use to a reader."""


def sentence(event: Event) -> str:
    """What happened, in the reader's language."""
    fact = event.fact
    match fact:
        case events.StudyBegun():
            return gettext("The study began; its coupons begin with {prefix}.").format(prefix=fact.prefix)
        case events.SettingsChanged():
            return gettext("Changed the settings: {why}").format(why=_told(fact.why))
        case events.SiteAdded():
            return gettext("Added the site {name}.").format(name=_told(fact.name))
        case events.SeedAdded():
            return gettext("Added {person} as a seed.").format(person=fact.person)
        case events.CouponScanned():
            return gettext("Scanned coupon {code}; it could be used.").format(code=_code(fact.code))
        case events.PersonEnrolled():
            return gettext("Enrolled {person} with coupon {code} of {recruiter}.").format(
                person=fact.person, code=_code(fact.code), recruiter=fact.recruiter
            )
        case events.AnswersRecorded():
            return gettext("Recorded the answers of {person}.").format(person=fact.person)
        case events.AnswersCorrected():
            return gettext("Corrected the answers of {person}: {why}").format(person=fact.person, why=_told(fact.why))
        case events.AnswersErased():
            return gettext("Erased the answers of {person}: {why}").format(person=fact.person, why=_told(fact.why))
        case events.PersonWithdrawn():
            return gettext("{person} withdrew: {why}").format(person=fact.person, why=_told(fact.why))
        case events.PaymentMade():
            return gettext("Paid {amount} to {person} ({kind}) for coupon {code}.").format(
                amount=isolated(shown_amount(fact.amount, fact.currency)),
                person=fact.person,
                kind=term(fact.kind.value),
                code=_code(fact.code),
            )
        case events.PersonImported():
            return gettext("Imported {person}.").format(person=fact.person)
        case events.RequestRefused():
            return _refused(fact)
        case events.ActionNoted():
            return _noted(fact)
        case _:
            return _about_plans_and_coupons(fact)


def _about_plans_and_coupons(fact: Fact) -> str:
    match fact:
        case events.PlanProposed():
            number = sum(line.coupons for line in fact.lines)
            return ngettext(
                "Proposed plan {plan} with {coupons} coupons for {people} person.",
                "Proposed plan {plan} with {coupons} coupons for {people} people.",
                len(fact.lines),
            ).format(plan=fact.plan, coupons=number, people=len(fact.lines))
        case events.PlanChanged():
            return ngettext(
                "Changed plan {plan} for {people} person: {why}",
                "Changed plan {plan} for {people} people: {why}",
                len(fact.lines),
            ).format(plan=fact.plan, people=len(fact.lines), why=_told(fact.why))
        case events.PlanApproved():
            return gettext("Approved plan {plan}; round {round} began.").format(plan=fact.plan, round=fact.round)
        case events.PlanStopped():
            return gettext("Stopped plan {plan}: {why}").format(plan=fact.plan, why=_told(fact.why))
        case events.CouponsOverridden():
            return ngettext(
                "Decided on {coupons} coupon for {person}: {why}",
                "Decided on {coupons} coupons for {person}: {why}",
                fact.coupons,
            ).format(coupons=fact.coupons, person=fact.person, why=_told(fact.why))
        case events.CouponsIssued():
            return ngettext(
                "Handed out {coupons} coupon to {person} in round {round}.",
                "Handed out {coupons} coupons to {person} in round {round}.",
                len(fact.codes),
            ).format(coupons=len(fact.codes), person=fact.person, round=fact.round)
        case events.CouponVoided():
            return gettext("Made coupon {code} void: {why}").format(code=_code(fact.code), why=_told(fact.why))
        case events.CouponExtended():
            return gettext("Extended coupon {code} until {day}: {why}").format(
                code=_code(fact.code), day=isolated(fact.last_day), why=_told(fact.why)
            )
        case _:
            return term(type(fact).__name__)


def _refused(fact: events.RequestRefused) -> str:
    return gettext("Refused ({action}): {found}").format(action=term(fact.action.value), found=refused_words(fact))


def _noted(fact: events.ActionNoted) -> str:
    details, subject = dict(fact.details), _told(fact.subject)
    match fact.action:
        case Action.MANAGE_USERS:
            return gettext("User {user}: {done} ({role}, {site}).").format(
                user=subject,
                done=term(visible(details.get("done", ""))),
                role=term(visible(details.get("role", ""))),
                site=visible(details.get("site", "")) or gettext("all sites"),
            )
        case Action.IMPORT_STUDY:
            return gettext("Imported the file {file}: {new} people were new, {same} were there already.").format(
                file=subject, new=details.get("imported", "?"), same=details.get("there_before", "?")
            )
        case Action.EXPORT:
            return gettext("Exported the study ({file}).").format(file=subject)
        case Action.BACK_UP:
            return gettext("Back-up {file}.").format(file=subject)
        case Action.RESTORE:
            return gettext("Restored the study from {file}.").format(file=subject)
        case Action.PRINT_COUPONS:
            return gettext("Printed the coupons of {person}.").format(person=subject)
        case Action.WRITE_CONTACT:
            return gettext("Wrote how to reach {person}.").format(person=subject)
        case Action.SEE_CONTACT:
            return gettext("Looked up how to reach {person}.").format(person=subject)
        case Action.DELETE_CONTACT:
            return gettext("Deleted how to reach {person}.").format(person=subject)
        case _:
            return gettext("{action}: {subject}").format(action=term(fact.action.value), subject=subject)


def details(event: Event, before: Settings | None = None) -> list[tuple[str, str]]:
    """The rest of what an event says, by name; `before` are the settings that a change replaced."""
    told: list[tuple[str, str]] = []
    for each in fields(event.fact):
        if each.name in NOT_TOLD or each.name in ("arguments", "details"):
            continue
        if each.name == "reason" and isinstance(event.fact, events.RequestRefused):
            continue  # the sentence tells it
        value = getattr(event.fact, each.name)
        if value not in (None, "", ()):
            told.append((term(each.name), _shown(value)))
    told += [(term(name), visible(text)) for name, text in getattr(event.fact, "details", ())]
    told += [(term(name), visible(text)) for name, text in getattr(event.fact, "arguments", ())]
    if isinstance(event.fact, events.SettingsChanged) and before is not None:
        told += _changed(plain_value(before), plain_value(event.fact.settings))
    stamp = event.stamp
    told.append((gettext("clock of the device"), str(stamp.device_time or gettext("not told"))))
    told.append((gettext("request"), stamp.request_key))
    return told


def _changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [
        (term(name), gettext("{before} → {after}").format(before=_brief(before[name]), after=_brief(after[name])))
        for name in after
        if before.get(name) != after[name]
    ]


def _brief(value: Any) -> str:
    if isinstance(value, list):
        return visible(", ".join(str(each["name"]) if isinstance(each, dict) else str(each) for each in value)) or "–"  # noqa: RUF001
    return "–" if value is None else visible(str(value))  # noqa: RUF001


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        return visible(", ".join(_shown(each) for each in value))
    return term(value.value) if isinstance(value, Enum) else visible(str(value))


def _code(code: str) -> str:
    return _told(shown_code(code))


def _told(text: str) -> str:
    return isolated(visible(text))
