"""The arguments of a rule: the records, the request, the time, and look-ups that return a row or refuse the request."""

import re
from collections.abc import Callable, Container
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, TypeVar, get_type_hints
from zoneinfo import ZoneInfo

from peerfront.web.live.rules.codes import (
    LENGTH,
    PREFIX_LENGTH,
    foreign_code,
    has_code_form,
    read_code,
    shown_code,
)
from peerfront.web.live.rules.events import Fact
from peerfront.web.live.rules.records import CouponRow, PersonRow, Records, StudyRow
from peerfront.web.live.rules.refusals import Reason, Refuse
from peerfront.web.live.rules.requests import Request
from peerfront.web.live.rules.study_settings import LONGEST_TEXT

Rule = Callable[["Situation", Any], tuple[Fact, ...]]
"""Returns what happens, or raises `Refuse`."""
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

    def check_site(self, site: str) -> None:
        """Refuse what belongs to another site, if the role does not cover it."""
        member = self.request.member
        if not member.may(self.request.wish.action, own_site=member.covers(site)):
            raise Refuse(Reason.SITE, site=self.site_name(site), own_site=self.site_name(member.site or ""))

    def reachable_person(self, person: str, *, withdrawn_too: bool = False) -> PersonRow:
        """Look up a person; refuse one who is unknown, at a site the role does not cover, or (by default) withdrawn."""
        check_identifier("person", person)
        row = self.records.person(person)
        if row is None:
            raise Refuse(Reason.NO_PERSON, person=person)
        self.check_site(row.site)
        if row.withdrawn_at is not None and not withdrawn_too:
            raise Refuse(Reason.WITHDRAWN, person=person, day=self.day(row.withdrawn_at))
        return row

    def typed_coupon(self, typed: str) -> CouponRow:
        """Look up the coupon that somebody typed or scanned; refuse a mistyped, unknown or foreign code."""
        coupon = find_coupon(self.records, self.study, typed)
        if coupon is not None:
            return coupon
        code = read_code(typed)
        if code is None:
            raise Refuse(Reason.MISTYPED if has_code_form(typed) else Reason.UNLISTED)
        if not code.startswith(self.study.prefix):
            raise Refuse(Reason.OTHER_STUDY, code=shown_code(code), prefix=self.study.prefix)
        raise Refuse(Reason.UNKNOWN, code=shown_code(code))

    def check_unspent(self, coupon: CouponRow) -> None:
        """Refuse a coupon that was used or made void."""
        redemption = self.records.redemption(coupon.code)
        if redemption is not None:
            day, site = self.day(redemption.at), self.site_name(redemption.site)
            raise Refuse(Reason.USED, code=shown_code(coupon.code), day=day, site=site)
        if coupon.voided_at is not None:
            raise Refuse(Reason.VOIDED, code=shown_code(coupon.code), day=self.day(coupon.voided_at))

    def stored_code(self, text: str) -> str | None:
        """The stored spelling of an imported code: that of the study's own codes, or that of another system."""
        own = read_code(text)
        return own if own is not None and own.startswith(self.study.prefix) else foreign_code(text)

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


RULES: dict[type, Rule] = {}
"""By kind of request; filled by `rule`."""
D = TypeVar("D", bound=Rule)


def rule(decide: D) -> D:
    """Mark the function that decides on the kind of request that its argument `wish` is."""
    RULES[get_type_hints(decide)["wish"]] = decide
    return decide


def find_coupon(records: Records, study: StudyRow, typed: str) -> CouponRow | None:
    """Find the coupon with a typed code: one of the study's own form, or imported from another system.

    An imported code is found as it is written. If it has our form, as coupons of another peerfront study do, it is
    found with and without hyphens, because exports write hyphens and QR codes hold none.
    """
    own = read_code(typed)
    if own is not None and own.startswith(study.prefix):
        return records.coupon(own)
    for code in (foreign_code(typed), own, None if own is None else shown_code(own)):
        coupon = None if code is None else records.coupon(code)
        if coupon is not None and coupon.imported:
            return coupon
    return None


def is_identifier(text: str) -> bool:
    """Whether a text can be the short name of a person, a site or a model."""
    return _IDENTIFIER.fullmatch(text) is not None


def check_identifier(name: str, text: str) -> None:
    """Refuse an invalid short name; the text itself is not recorded, because it may hold anything."""
    if not is_identifier(text):
        raise Refuse(Reason.BAD_NAME, name=name, length=len(text))


def check_text(name: str, text: str, *, longest: int = LONGEST_TEXT, needed: bool = False) -> None:
    """Refuse text that is too long, or required and empty."""
    if len(text) > longest or (needed and not text.strip()):
        raise Refuse(Reason.TEXT_LENGTH, name=name, length=len(text), least=int(needed), most=longest)


def check_distinct(name: str, texts: list[str]) -> None:
    """Refuse a text that is given twice."""
    if len(set(texts)) != len(texts):
        raise Refuse(Reason.TWICE, name=name)


def check_reason(why: str) -> None:
    """Refuse a missing or very long reason."""
    if not why.strip():
        raise Refuse(Reason.NO_REASON)
    check_text("reason", why)


def check_range(name: str, value: float, least: float, most: float) -> None:
    """Refuse NaN and numbers outside the limits."""
    if not least <= value <= most:
        limits = {"least": f"{least:.15g}", "most": f"{most:.15g}"}
        raise Refuse(Reason.OUT_OF_RANGE, name=name, value=str(value)[:40], **limits)
