"""The arguments of a rule: the records, the request, the time, and look-ups that return a row or raise a refusal."""

import re
from collections.abc import Callable, Container
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

from peerfront.web.live.rules.actions import is_allowed
from peerfront.web.live.rules.codes import (
    LENGTH,
    PREFIX_LENGTH,
    foreign_code,
    has_code_form,
    is_of_study,
    read_code,
    shown_code,
)
from peerfront.web.live.rules.events import Fact
from peerfront.web.live.rules.records import CouponRow, PersonRow, Records, StudyRow
from peerfront.web.live.rules.refusals import Reason, Refusal, refusal
from peerfront.web.live.rules.requests import Request
from peerfront.web.live.rules.study_settings import LONGEST_TEXT

Outcome = tuple[Fact, ...] | Refusal
"""What a rule gives: what happens, or why not."""
Rule = Callable[["Situation", Any], Outcome]
_IDENTIFIER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")
_MOST_DRAWS = 1_000


@dataclass(frozen=True)
class Situation:
    """A request to a study that has begun, with its records and time."""

    records: Records
    study: StudyRow
    request: Request
    now: datetime
    draw_code: Callable[[str], str]
    """Draws a code of the study with a prefix."""

    @property
    def today(self) -> date:
        return self.day(self.now)

    def day(self, at: datetime) -> date:
        """Return the day in the study's own time zone."""
        return at.astimezone(ZoneInfo(self.study.settings.timezone)).date()

    def site_name(self, site: str) -> str:
        row = self.records.site(site)
        return site if row is None else row.name

    def concerns(self, site: str) -> Refusal | None:
        """Refuse what belongs to another site, if the role does not cover it."""
        member = self.request.member
        if is_allowed(self.request.wish.action, member.role, own_site=member.covers(site)):
            return None
        return refusal(Reason.SITE, site=self.site_name(site), own_site=self.site_name(member.site or ""))

    def concerns_all_sites(self) -> Refusal | None:
        """Refuse what belongs to all sites, if the role is for one."""
        member = self.request.member
        if is_allowed(self.request.wish.action, member.role, own_site=member.covers(None)):
            return None
        return refusal(Reason.WHOLE_STUDY, own_site=member.site)

    def reachable_person(self, person: str, *, withdrawn_too: bool = False) -> PersonRow | Refusal:
        """Look up a person; refuse one who is unknown, at a site the role does not cover, or (by default) withdrawn."""
        if bad := bad_identifier("person", person):
            return bad
        row = self.records.person(person)
        if row is None:
            return refusal(Reason.NO_PERSON, person=person)
        if other_site := self.concerns(row.site):
            return other_site
        if row.withdrawn_at is not None and not withdrawn_too:
            return refusal(Reason.WITHDRAWN, person=person, day=self.day(row.withdrawn_at))
        return row

    def already_enrolled(self, row: PersonRow) -> Refusal:
        day, site = self.day(row.enrolled_at), self.site_name(row.site)
        return refusal(Reason.ALREADY_ENROLLED, person=row.person, day=day, site=site)

    def typed_coupon(self, typed: str) -> CouponRow | Refusal:
        """Look up the coupon that somebody typed or scanned; refuse a mistyped, unknown or foreign code."""
        coupon = find_coupon(self.records, self.study, typed)
        if coupon is not None:
            return coupon
        code = read_code(typed)
        if code is None:
            return refusal(Reason.MISTYPED if has_code_form(typed) else Reason.UNLISTED)
        if not is_of_study(code, self.study.prefix):
            return refusal(Reason.OTHER_STUDY, code=shown_code(code), prefix=self.study.prefix)
        return refusal(Reason.UNKNOWN, code=shown_code(code))

    def spent(self, coupon: CouponRow) -> Refusal | None:
        """Refuse a coupon that was used or made void."""
        redemption = self.records.redemption(coupon.code)
        if redemption is not None:
            day, site = self.day(redemption.at), self.site_name(redemption.site)
            return refusal(Reason.USED, code=shown_code(coupon.code), day=day, site=site)
        if coupon.voided_at is not None:
            return refusal(Reason.VOIDED, code=shown_code(coupon.code), day=self.day(coupon.voided_at))
        return None

    def stored_code(self, text: str) -> str | None:
        """The stored spelling of an imported code: that of the study's own codes, or that of another system."""
        own = read_code(text)
        return own if own is not None and is_of_study(own, self.study.prefix) else foreign_code(text)

    def salt(self) -> str:
        """Draw unguessable characters (126 bits), from the same source as codes."""
        return "".join(self.draw_code(self.study.prefix)[PREFIX_LENGTH : LENGTH - 1] for _ in range(4))

    def unknown_codes(self, number: int, besides: Container[str] = ()) -> tuple[str, ...]:
        """Draw codes that are neither in the records nor in `besides`."""
        codes: dict[str, None] = {}
        draws = 0
        while draws <= number + _MOST_DRAWS:
            if len(codes) == number:
                return tuple(codes)
            drawn = [self.draw_code(self.study.prefix) for _ in range(number - len(codes))]
            draws += len(drawn)
            taken = self.records.coupons(drawn)
            codes |= dict.fromkeys(code for code in drawn if code not in taken and code not in besides)
        raise RuntimeError(f"{_MOST_DRAWS:,} codes in a row were taken: the source of random numbers is broken.")


@dataclass(frozen=True)
class DeclaredRule:
    """The function that decides on a kind of request, and the kinds of facts that it returns."""

    decide: Rule
    gives: tuple[type, ...]


RULES: dict[type, DeclaredRule] = {}
"""By kind of request; filled by `rule_of`."""
D = TypeVar("D", bound=Rule)


def rule_of(request: type, *gives: type) -> Callable[[D], D]:
    """Mark the function that decides on a kind of request and returns these facts."""

    def mark(decide: D) -> D:
        RULES[request] = DeclaredRule(decide, gives)
        return decide

    return mark


def find_coupon(records: Records, study: StudyRow, typed: str) -> CouponRow | None:
    """Find the coupon with a typed code: one of the study's own form, or imported from another system.

    An imported code is found as it is written. If it has our form, as coupons of another peerfront study do, it is
    found with and without hyphens, because exports write hyphens and QR codes hold none.
    """
    own = read_code(typed)
    if own is not None and is_of_study(own, study.prefix):
        return records.coupon(own)
    for code in (foreign_code(typed), own, None if own is None else shown_code(own)):
        coupon = None if code is None else records.coupon(code)
        if coupon is not None and coupon.imported:
            return coupon
    return None


def bad_identifier(name: str, text: str) -> Refusal | None:
    """Refuse an invalid short name; the text itself is not recorded, because it may hold anything."""
    if _IDENTIFIER.fullmatch(text):
        return None
    return refusal(Reason.BAD_NAME, name=name, length=len(text))


def bad_text(name: str, text: str, *, longest: int = LONGEST_TEXT, needed: bool = False) -> Refusal | None:
    """Refuse text that is too long, or required and empty."""
    if len(text) > longest or (needed and not text.strip()):
        return refusal(Reason.TEXT_LENGTH, name=name, length=len(text), least=int(needed), most=longest)
    return None


def no_reason(why: str) -> Refusal | None:
    """Refuse a missing or very long reason."""
    return bad_text("reason", why) if why.strip() else refusal(Reason.NO_REASON)


def out_of_range(name: str, value: float, least: float, most: float) -> Refusal | None:
    """Refuse NaN and numbers outside the limits."""
    if least <= value <= most:
        return None
    return refusal(Reason.OUT_OF_RANGE, name=name, value=str(value)[:40], least=f"{least:.15g}", most=f"{most:.15g}")
