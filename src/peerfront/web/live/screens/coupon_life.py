"""The life of a coupon in time order: what the events say of it, and the days on which it becomes valid and expires."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from django.utils.translation import gettext

from peerfront.web.live.records import models
from peerfront.web.live.records.database import link_of
from peerfront.web.live.rules.events import (
    CouponExtended,
    CouponScanned,
    CouponsIssued,
    CouponVoided,
    Event,
    PaymentKind,
    PaymentMade,
    PersonEnrolled,
    PersonImported,
    RequestRefused,
    SeedAdded,
)
from peerfront.web.live.rules.records import CouponRow, StudyRow
from peerfront.web.live.screens.page_words import isolated, reason_lines, refused_words, term
from peerfront.web.live.screens.visibility import time_text

_KINDS = (
    "coupons_issued", "coupon_scanned", "person_enrolled", "person_imported", "seed_added", "coupon_voided",
    "coupon_extended", "payment_made", "request_refused",
)  # fmt: skip
_MOST_SHOWN = 200


@dataclass(frozen=True)
class Moment:
    """Something that happened to a coupon."""

    at: datetime
    when: str
    what: str
    who: str = ""
    site: str = ""
    lines: tuple[str, ...] = field(default=())
    """More about it."""
    tone: str = "plain"


def events_about(coupon: CouponRow) -> list[Event]:
    """What was recorded about a coupon, the newest of very many, in time order."""
    written = json.dumps(coupon.code, ensure_ascii=False)
    found = models.Event.objects.filter(kind__in=_KINDS, data__contains=written).order_by("-number")
    return [link_of(each).event for each in reversed(found[:_MOST_SHOWN])]


def life_of(
    coupon: CouponRow, events: Iterable[Event], study: StudyRow, today: date, sites: dict[str, str]
) -> list[Moment]:
    """The life of a coupon; `sites` are names of the sites in sight. Who did what elsewhere is not told."""
    moments = []
    for event in events:
        told = _told(coupon, event)
        if told is None:
            continue
        what, tone, lines = told
        at, site, who = event.stamp.server_time, event.stamp.site or "", event.stamp.actor
        if isinstance(event.fact, PersonImported):  # done for the whole study; the person is of one site
            site = event.fact.site
        if site and site not in sites:
            who = ""
            what, lines = (what, lines) if isinstance(event.fact, CouponsIssued) else (_elsewhere(event), ())
        moments.append(Moment(at, time_text(study, at), what, who, sites.get(site, ""), lines, tone))
    return sorted(moments + _days(coupon, study, today), key=lambda moment: moment.at)


def _elsewhere(event: Event) -> str:
    if isinstance(event.fact, PersonEnrolled | PersonImported):
        return gettext("Used: somebody was enrolled with it at another site.")
    if isinstance(event.fact, PaymentMade):
        return gettext("A payment was made at another site.")
    return gettext("Shown at another site.")


def _days(coupon: CouponRow, study: StudyRow, today: date) -> list[Moment]:
    """The days on which a coupon became valid and expired, if they have come."""
    zone = ZoneInfo(study.settings.timezone)
    if coupon.holder is None or coupon.voided_at is not None:
        return []
    moments = []
    if coupon.first_day <= today:
        begin = max(datetime.combine(coupon.first_day, time.min, zone), coupon.issued_at + timedelta(microseconds=1))
        moments.append(Moment(begin, coupon.first_day.isoformat(), gettext("Valid from this day on.")))
    if coupon.last_day < today:
        end = datetime.combine(coupon.last_day, time.max, zone)
        moments.append(Moment(end, coupon.last_day.isoformat(), gettext("The last day on which it was valid.")))
    return moments


def _told(coupon: CouponRow, event: Event) -> tuple[str, str, tuple[str, ...]] | None:
    """What an event says of a coupon, its colour, and more lines; None if it is about something else."""
    fact = event.fact
    match fact:
        case CouponsIssued() if coupon.code in fact.codes:
            what = gettext("Handed out to %(person)s in round %(round)s, one of %(number)s.") % {
                "person": fact.person, "round": fact.round, "number": len(fact.codes),
            }  # fmt: skip
            return what, "good", reason_lines(fact)
        case CouponScanned(code=coupon.code):
            return gettext("Shown; it could be used."), "plain", ()
        case PersonEnrolled(code=coupon.code):
            return gettext("Used: %(person)s was enrolled with it.") % {"person": fact.person}, "good", ()
        case PersonImported():
            return _imported(coupon, fact)
        case SeedAdded(code=coupon.code):
            return gettext("The code of %(person)s, a seed.") % {"person": fact.person}, "good", ()
        case CouponVoided(code=coupon.code):
            return gettext("Made void."), "bad", (fact.why,)
        case CouponExtended(code=coupon.code):
            return gettext("Extended to %(day)s.") % {"day": isolated(fact.last_day)}, "care", (fact.why,)
        case PaymentMade(code=coupon.code):
            whom = {"person": fact.person}
            if fact.kind is PaymentKind.INTERVIEW:
                return gettext("%(person)s was paid for the interview.") % whom, "plain", ()
            return gettext("%(person)s was paid for recruiting.") % whom, "plain", ()
        case RequestRefused(code=coupon.code):
            found = refused_words(fact)
            asked = gettext("Refused: %(action)s.") % {"action": term(fact.action.value)}
            return asked, "bad", (found,)
    return None


def _imported(coupon: CouponRow, fact: PersonImported) -> tuple[str, str, tuple[str, ...]] | None:
    if fact.code == coupon.code:
        return gettext("Used by %(person)s before the study was run here.") % {"person": fact.person}, "plain", ()
    if any(each.code == coupon.code for each in fact.coupons):
        told = gettext("Handed out to %(person)s before the study was run here.") % {"person": fact.person}
        return told, "plain", ()
    return None
