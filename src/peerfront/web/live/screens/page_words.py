"""Refusals, terms, amounts, codes and reasons in the reader's language; some are filters of templates, too."""

from datetime import date
from decimal import Decimal

import segno
from django import template
from django.utils.formats import date_format, number_format
from django.utils.translation import get_language_bidi, gettext

from peerfront.foundation.messages import Message
from peerfront.foundation.shown import visible
from peerfront.web.live.rules import codes
from peerfront.web.live.rules.events import CouponsIssued, DecidedBy, RequestRefused
from peerfront.web.live.rules.records import DecisionRow
from peerfront.web.live.rules.refusals import TERMS, Reason, Refusal
from peerfront.web.pages.speaking import page_speaker
from peerfront.words import language
from peerfront.words.language import Text, joined, speaking
from peerfront.words.reason_words import reason_text, short_reason, spoken_reason
from peerfront.words.stored_text import reason_from_text

register = template.Library()
DAYS = frozenset({"day", "first_day", "last_day", "latest", "today"})
"""Arguments of refusals that are days, written as 2026-03-02."""


@register.filter
def term(name: str) -> str:
    """A word of the program (a role, an action, a state, a field), or several with commas, as people read them."""
    return ", ".join(gettext(each.replace("_", " ")) for each in name.split(", "))


def refusal_words(refusal: Refusal | None) -> dict[str, str]:
    """What was found and what to do, in the reader's language, for the template of a page."""
    if refusal is None:
        return {}
    values = {name: typed(_value(name, value)) for name, value in refusal.arguments}
    return {part: in_words(Message(f"refusal_{part}.{refusal.reason}", values)) for part in ("found", "to_do")}


def in_words(message: Message) -> str:
    """A message in the language of the page."""
    with speaking(page_speaker()):
        return str(message)


def typed(text: str) -> Text:
    """Text that somebody typed, a name or a code, as the value of a sentence."""
    return joined([isolated(visible(text))])


def refused_words(fact: RequestRefused) -> str:
    """What was found when something was refused, as it was recorded; also by another version of the program."""
    try:
        return refusal_words(Refusal(Reason(fact.reason), fact.arguments))["found"]
    except (ValueError, KeyError):  # a reason that this version does not have, or not with these arguments
        return term(fact.reason)


def isolated(text: object) -> str:
    """Text within a sentence of a right-to-left language, in its own direction: codes, days, what somebody typed."""
    return f"\u2068{text}\u2069" if get_language_bidi() else str(text)


def _value(name: str, value: str) -> str:
    if name in TERMS:
        return term(value)
    return date_format(date.fromisoformat(value), "DATE_FORMAT") if name in DAYS else value


_DECIMALS = dict.fromkeys(
    ("BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "VND", "VUV", "XAF", "XOF", "XPF"), 0
) | dict.fromkeys(("BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"), 3)
"""Decimal places of currencies (ISO 4217) that do not have two."""


def decimals(currency: str) -> int:
    """Number of decimal places in which a currency is written."""
    return _DECIMALS.get(currency, 2)


@register.filter
def shown_amount(amount: int, currency: str) -> str:
    """Write an amount with its currency, in the reader's language: EUR 20.00, JPY 2,000.

    A blank that does not break keeps the two together.
    """
    places = decimals(currency)
    value = Decimal(amount).scaleb(-places)
    return f"{currency}\u00a0{number_format(value, decimal_pos=places, use_l10n=True, force_grouping=True)}"


@register.filter
def about_amount(amount: int, currency: str) -> str:
    """An amount without decimal places: EUR 434."""
    value = round(Decimal(amount).scaleb(-decimals(currency)))
    return f"{currency}\u00a0{number_format(value, use_l10n=True, force_grouping=True)}"


@register.filter
def shown_code(code: str) -> str:
    """A coupon's code in groups, as it is printed."""
    return visible(codes.shown_code(code))


@register.filter
def qr_picture(content: str) -> str:
    """A QR code that holds this text and nothing else, as the address of an SVG picture (`data:`).

    The highest error correction: paper is folded, gets wet, and is photographed in bad light.
    """
    code = segno.make_qr(content, error="h")
    return code.svg_data_uri(border=4, omitsize=True, light="#fff")


@register.filter
def chance(probability: float) -> str:
    """A probability with as many digits as it needs: 1, 0.62, 0.0004."""
    digits = 2
    while digits < 6 and 0.0 < probability < 1.0 and round(probability, digits) in (0.0, 1.0):
        digits += 1
    shown = round(probability, digits)
    return str(number_format(int(shown) if shown in (0.0, 1.0) else shown, use_l10n=True))


def reason_words(stored: str) -> str:
    """Why somebody gets a number of coupons, in the reader's language; text of earlier versions as it is."""
    return " ".join(reason_sentences(stored))


def spoken_words(stored: str, decided_by: DecidedBy = DecidedBy.PLAN) -> str:
    """A sentence about somebody's number that can be said to them; texts that staff typed are not for their ears."""
    if decided_by is DecidedBy.OVERRIDE:
        return gettext("As the coordinator decided.")
    reason = reason_from_text(stored)
    if isinstance(reason, str):
        return gettext("As planned for this round.")
    with speaking(page_speaker()):
        return str(spoken_reason(reason))


@register.filter
def percent(share: float) -> str:
    """A share or chance in percent, in the reader's language."""
    with speaking(page_speaker()):
        return str(language.percent(share))


def short_words(stored: str) -> str:
    """Why somebody gets a number of coupons, in a few words; text of earlier versions as it is."""
    reason = reason_from_text(stored)
    if isinstance(reason, str):
        return reason
    with speaking(page_speaker()):
        return str(short_reason(reason))


def reason_sentences(stored: str) -> list[str]:
    """The sentences of a reason, the most important first."""
    reason = reason_from_text(stored)
    if isinstance(reason, str):
        return [reason]
    with speaking(page_speaker()):
        return [str(part) for part in reason_text(reason).values.values()]


def reason_lines(decision: CouponsIssued | DecisionRow) -> tuple[str, ...]:
    """Who decided and why, and the plan's number."""
    by = {
        DecidedBy.PLAN: gettext("By the approved plan"),
        DecidedBy.ARRIVAL: gettext("By the approved model, when the person came"),
        DecidedBy.OVERRIDE: gettext("By the coordinator"),
    }[decision.decided_by]
    values = {"by": by, "reason": isolated(visible(reason_words(decision.reason)))}
    lines = [gettext("%(by)s: %(reason)s") % values if decision.reason else by]
    given = len(decision.codes) if isinstance(decision, CouponsIssued) else decision.coupons
    if decision.planned is not None and decision.planned != decision.decided:
        numbers = {"planned": decision.planned, "decided": decision.decided}
        lines.append(gettext("Planned were %(planned)s, decided %(decided)s.") % numbers)
    if given < decision.decided:
        fewer = {"given": given, "decided": decision.decided, "why": isolated(visible(decision.why_fewer))}
        lines.append(gettext("Handed out were %(given)s of %(decided)s: %(why)s") % fewer)
    return tuple(lines)


def details(decision: CouponsIssued | DecisionRow) -> tuple[str, ...]:
    """The details that estimates need: group, probability, model and seed."""
    lines = []
    if decision.stratum:
        lines.append(gettext("Group: %(stratum)s.") % {"stratum": isolated(visible(decision.stratum))})
    if decision.probability is not None:
        values = {"probability": chance(decision.probability)}
        lines.append(gettext("Probability of this number: %(probability)s.") % values)
    model = {"model": isolated(decision.model), "seed": decision.seed}
    return (*lines, gettext("Model %(model)s, seed %(seed)s.") % model)
