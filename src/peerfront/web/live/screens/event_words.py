"""What happened, in a sentence: every event of the chain as a manager or an ethics board reads it.

Answers are never told: the audit says that they were recorded, not what they were.
"""

from collections.abc import Mapping
from dataclasses import fields
from enum import Enum
from typing import Any

from django.utils.translation import gettext

from peerfront.foundation.messages import Message
from peerfront.foundation.shown import visible
from peerfront.web.live.rules import events
from peerfront.web.live.rules.codes import shown_code
from peerfront.web.live.rules.events import Event, Fact
from peerfront.web.live.rules.stored_events import kind_of, plain_value
from peerfront.web.live.rules.study_settings import Settings
from peerfront.web.live.screens.page_words import in_words, reason_words, refused_words, shown_amount, term, typed
from peerfront.words.language import joined, n_coupons, n_people
from peerfront.words.messages import sentences

NOT_TOLD = frozenset(
    {
        "answers", "network_size", "salt", "commitment", "digest", "request_digest", "lines", "settings",
    }
)  # fmt: skip
"""Fields that details leave out: answers are sensitive, the others long or of no use to a reader."""


def sentence(event: Event) -> str:
    """What happened, in the reader's language: the sentence of the event's kind, or of the action that was noted."""
    fact = event.fact
    if isinstance(fact, events.RequestRefused):
        refused = {"action": term(fact.action.value), "found": joined([refused_words(fact)])}
        return in_words(Message("audit.request_refused", refused))
    if isinstance(fact, events.ActionNoted):
        code = f"audit.{fact.action.value}"
        return in_words(Message(code if code in sentences() else "audit.action_noted", _noted(fact)))
    return in_words(Message(f"audit.{kind_of(fact)}", _values(fact)))


def _values(fact: Fact) -> dict[str, Any]:
    """The fields of a fact as its sentence shows them."""
    plain = {each.name: _shown(getattr(fact, each.name)) for each in fields(fact) if each.name not in NOT_TOLD}
    if "code" in plain:
        plain["code"] = shown_code(plain["code"])
    values: dict[str, Any] = {name: typed(text) for name, text in plain.items()}
    match fact:
        case events.PlanProposed():
            values["people"] = n_people(len(fact.lines))
            values["coupons"] = n_coupons(sum(line.coupons for line in fact.lines))
        case events.PlanChanged():
            values["people"] = n_people(len(fact.lines))
        case events.CouponsOverridden():
            values["coupons"] = n_coupons(fact.coupons)
        case events.CouponsIssued():
            values["coupons"] = n_coupons(len(fact.codes))
        case events.PaymentMade():
            values["amount"] = typed(shown_amount(fact.amount, fact.currency))
    return values


def _noted(fact: events.ActionNoted) -> dict[str, Any]:
    values: dict[str, Any] = {"imported": "?", "there_before": "?", "done": "", "role": "", "site": ""}
    values |= {name: visible(text) for name, text in fact.details}
    site = values["site"] or gettext("all sites")
    said = {"action": term(fact.action.value), "done": term(values["done"]), "role": term(values["role"]), "site": site}
    return values | said | {"subject": typed(fact.subject)}


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
            told.append((term(each.name), visible(reason_words(value)) if each.name == "reason" else _shown(value)))
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
