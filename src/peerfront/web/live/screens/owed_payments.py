"""What is owed: for interviews to those who came, and for recruiting to those whose coupons they came with."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet

from peerfront.web.live.records.models import Payment, Redemption
from peerfront.web.live.rules.codes import shown_code
from peerfront.web.live.rules.events import PaymentKind
from peerfront.web.live.rules.study_settings import Settings
from peerfront.web.live.screens.page_words import shown_amount

_RECEIVER = {PaymentKind.INTERVIEW: "person", PaymentKind.RECRUITING: "coupon__holder"}
"""Who is paid, seen from the redemption of a coupon."""


@dataclass(frozen=True)
class Owed:
    """A payment that is to be made."""

    code: str
    kind: PaymentKind
    person: str
    amount: str
    since: datetime

    @property
    def shown(self) -> str:
        return shown_code(self.code)


@dataclass(frozen=True)
class OwedPayments:
    """All payments that are owed at one site, or (None) at all; to one person if one is named."""

    settings: Settings
    site: str | None = None
    person: str | None = None

    def count(self) -> int:
        return sum(rows.count() for rows in self._by_kind().values())

    def newest(self, number: int) -> list[Owed]:
        """The last few, newest first."""
        found = [each for kind, rows in self._by_kind().items() for each in self._read(kind, rows[:number])]
        return sorted(found, key=lambda each: each.since, reverse=True)[:number]

    def _by_kind(self) -> dict[PaymentKind, QuerySet[Redemption]]:
        amounts = {kind: self._amount(kind) for kind in PaymentKind}
        return {kind: self._unpaid(kind) for kind, amount in amounts.items() if amount}

    def _amount(self, kind: PaymentKind) -> int:
        settings = self.settings
        return settings.interview_payment if kind is PaymentKind.INTERVIEW else settings.recruiting_payment

    def _unpaid(self, kind: PaymentKind) -> QuerySet[Redemption]:
        receiver = _RECEIVER[kind]
        paid = Payment.objects.filter(coupon=OuterRef("coupon"), kind=kind.value)
        wanted: dict[str, Any] = {f"{receiver}__isnull": False}
        if self.site is not None:
            wanted[f"{receiver}__site"] = self.site
        if self.person is not None:
            wanted[receiver] = self.person
        return Redemption.objects.filter(~Exists(paid), person__answers__isnull=False, **wanted).order_by("-at")

    def _read(self, kind: PaymentKind, rows: QuerySet[Redemption]) -> Iterator[Owed]:
        amount = shown_amount(self._amount(kind), self.settings.currency)
        for code, receiver, at in rows.values_list("coupon_id", _RECEIVER[kind], "at"):
            yield Owed(code, kind, receiver, amount, at)
