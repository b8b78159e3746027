"""Decide on a request: the events to be added, or a refusal with its reason and what to do.

`decide` is pure. It reads single rows through the look-ups of `Records`, which a state in memory and a database both
offer, and changes nothing. Use it like this inside one transaction, whatever the database:

1. begin a transaction in which nobody else writes (SQLite: IMMEDIATE; PostgreSQL: an advisory lock);
2. `answer = decide(records, request, now)`;
3. add `answer.events` to the hash chain (`chain.linked`) and write the rows of `effects.effects` for each, in order;
   after an event `AnswersErased`, replace the links before it by `chain.erased`;
4. commit, then answer the user. If it fails on a unique key (another request was faster), begin again at 1.

The same request key gives the same answer, which is marked as `repeated`: skip step 3, its events are recorded already.
A refusal has an event, too, so step 3 is the same for it.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from peerfront.web.live.rules import coupon_rules, import_rules, person_rules, study_rules  # noqa: F401  # registered
from peerfront.web.live.rules.actions import Action, Scope, roles_allowed, roles_text
from peerfront.web.live.rules.chain import (
    FIRST,
    Link,
    checked,
    digest_data,
    erased,
    linked,
    one_spelling,
    parts_of,
    texts,
)
from peerfront.web.live.rules.codes import has_code_form, new_code, plain_characters
from peerfront.web.live.rules.effects import Contradiction, rebuild
from peerfront.web.live.rules.events import AnswersErased, Event, Fact, PlannedCoupons, RequestRefused, Stamp
from peerfront.web.live.rules.records import Records, StudyRow
from peerfront.web.live.rules.refusals import Reason, Refusal, Refuse, refusal
from peerfront.web.live.rules.requests import (
    TIMELESS,
    AcceptClock,
    BeginStudy,
    ImportedPerson,
    ImportPeople,
    ProposePlan,
    Request,
    Wish,
)
from peerfront.web.live.rules.situation import RULES, Situation, check_identifier, find_coupon, is_identifier

STEP = timedelta(minutes=5)
"""Corrections of the server's clock by less are made up for: after a step back, time stands still until it has caught
up."""
LONGEST_QUIET = timedelta(days=14)
"""After a restart of the computer, the longest time without a record after which the clock is believed unasked."""
LONGEST_KEY = 100


@dataclass(frozen=True)
class Accepted:
    """The answer to an accepted request."""

    events: tuple[Event, ...]
    repeated: bool = False
    """Whether the request was answered before, so that these events are recorded already."""


@dataclass(frozen=True)
class Refused:
    """The answer to a refused request: the reason, and the event that records it."""

    refusal: Refusal
    events: tuple[Event, ...]
    repeated: bool = False

    @property
    def reason(self) -> Reason:
        return self.refusal.reason


Answer = Accepted | Refused


def decide(
    records: Records,
    request: Request,
    now: datetime,
    draw_code: Callable[[str], str] = new_code,
    doubt: Refusal | None = None,
) -> Answer:
    """Answer a request at a time of the server's clock; `draw_code` makes a code for a study's prefix.

    `doubt` says why this clock may be wrong (`clock_doubt`); then nothing is recorded that later requests build on.
    """
    for time in (now, request.device_time):
        if time is not None and time.tzinfo is None:
            raise ValueError(f"{time} has no time zone; use UTC.")
    if not is_request_key(request.key):
        return Refused(refusal(Reason.BAD_NAME, name="request_key", length=len(request.key)), ())
    recorded = tuple(records.events_of(request.key))
    if recorded:
        return _same_answer(request, recorded)
    study, member = records.study(), request.member
    at_a_site = request.wish.action.declared.scope is not Scope.STUDY and is_identifier(request.site or "")
    site = request.site if at_a_site else None
    role, digest = member.role_for(request.wish.action), digest_of(request)
    stamp = Stamp(member.name, role, site, _storable(request.device_time), now, request.key, digest)
    try:
        _check_request(records, study, request, now, doubt)
        facts = _facts(records, study, request, now, draw_code)
    except Refuse as refused:
        fact = _refused_fact(records, study, request, refused.refusal)
        return Refused(refused.refusal, (Event(stamp, 1, fact),))
    if study is not None and (_needs_clock(request.wish) or now > study.last_time - STEP):
        stamp = replace(stamp, server_time=max(now, study.last_time))
    return Accepted(tuple(Event(stamp, part, fact) for part, fact in enumerate(facts, start=1)))


def is_request_key(text: str) -> bool:
    """Whether a text can be the key of a request."""
    return 0 < len(text) <= LONGEST_KEY and text.isascii() and text.isprintable()


def digest_of(request: Request, *, first: bool = False) -> str:
    """A digest of who, where and what, without times and what `digest_data` omits; it differs for another request.

    The `first` digest is that of versions until 0.3.
    """
    what = {
        "action": request.wish.action.value,
        "actor": request.member.name,
        "site": request.site,
        "asked": digest_data(request.wish, first=first),
    }
    return hashlib.sha256(one_spelling(what)).hexdigest()[:16]


def _same_answer(request: Request, recorded: tuple[Event, ...]) -> Answer:
    first = recorded[0]
    digests = digest_of(request), digest_of(request, first=True)
    if first.stamp.request_digest not in digests or _other_texts(request.wish, recorded):
        return Refused(refusal(Reason.KEY_REUSED), (), repeated=True)
    if isinstance(first.fact, RequestRefused):
        return Refused(Refusal(Reason(first.fact.reason), first.fact.arguments), recorded, repeated=True)
    return Accepted(recorded, repeated=True)


def _other_texts(wish: Wish, recorded: tuple[Event, ...]) -> bool:
    """Whether a repeated request differs from the recorded one in its texts; texts erased since are not compared."""
    several: Sequence[ImportedPerson | PlannedCoupons] = ()
    if isinstance(wish, ImportPeople | ProposePlan):
        several = wish.people if isinstance(wish, ImportPeople) else wish.lines
    asked = {each.person: each for each in several}
    return any(
        text != _in_order(getattr(asked.get(getattr(part, "person", ""), wish), name, text))
        for event in recorded
        for part in parts_of(event.fact)
        for name, text in texts(part).items()
    )


def _in_order(text: object) -> object:
    return tuple(sorted(text)) if isinstance(text, tuple) else text


def _check_request(
    records: Records, study: StudyRow | None, request: Request, now: datetime, doubt: Refusal | None
) -> None:
    """Refuse requests beyond the role or the site, or with a wrong clock."""
    action, member = request.wish.action, request.member
    scope = action.declared.scope
    if not member.may(action, own_site=True):
        allowed = roles_text(roles_allowed(action))
        raise Refuse(Reason.ROLE, role=roles_text(member.roles), action=action.value, allowed=allowed)
    if action is Action.BEGIN_STUDY and study is not None:
        raise Refuse(Reason.BEGUN)
    if action is not Action.BEGIN_STUDY and study is None:
        raise Refuse(Reason.NOT_BEGUN)
    if scope is Scope.STUDY:
        if not member.may(action, own_site=member.covers(None)):
            raise Refuse(Reason.WHOLE_STUDY, own_site=member.site)
    elif request.site is not None:
        check_identifier("site", request.site)
        if not member.may(action, own_site=member.covers(request.site)):
            raise Refuse(Reason.SITE, site=request.site, own_site=member.site)
        if records.site(request.site) is None:
            raise Refuse(Reason.NO_SITE, site=request.site)
    elif scope is Scope.SITE:
        raise Refuse(Reason.NO_SITE, site="")
    if study is not None:
        _check_clocks(study, request, now, doubt)


def _check_clocks(study: StudyRow, request: Request, now: datetime, doubt: Refusal | None) -> None:
    """Refuse a request if the device's clock or the server's must be wrong; all other rules use the server's time."""
    ahead = timedelta(minutes=study.settings.clock_ahead_minutes)
    late = timedelta(hours=study.settings.clock_behind_hours)
    behind = ahead if isinstance(request.wish, AcceptClock) else late  # two clocks must agree on what is accepted
    device = request.device_time
    if device is not None and not -behind <= device - now <= ahead:
        raise Refuse(Reason.CLOCK, device_time=_minute(device), server_time=_minute(now))
    if not _needs_clock(request.wish):
        return
    fault = clock_behind(now, study.last_time) or doubt
    if fault is not None:
        raise Refuse(fault.reason, **dict(fault.arguments))


def _needs_clock(wish: Wish) -> bool:
    """Whether the server's clock has to be right for this."""
    return not isinstance(wish, TIMELESS | AcceptClock)


def clock_behind(now: datetime, last_time: datetime) -> Refusal | None:
    """Say that the server's clock was wrong, or is, because something was recorded at a later time."""
    if now >= last_time - STEP:
        return None
    return refusal(Reason.SERVER_CLOCK, server_time=_minute(now), last_time=_minute(last_time))


def clock_doubt(now: datetime, last_time: datetime, expected: datetime | None) -> Refusal | None:
    """Say why the server's clock may be wrong; None if it goes on from the last record as it should.

    `expected` is what the clock should say by the seconds that the computer counted since then, which nobody can set;
    None if it counts from a later start.
    """
    if expected is not None:
        jumped = abs(now - expected) > STEP
        return refusal(Reason.CLOCK_JUMP, server_time=_minute(now), expected=_minute(expected)) if jumped else None
    quiet = now - last_time > LONGEST_QUIET
    return refusal(Reason.CLOCK_GAP, server_time=_minute(now), last_time=_minute(last_time)) if quiet else None


def _storable(device_time: datetime | None) -> datetime | None:
    """Leave out a time so far off that it cannot be written in UTC; the refusal names it."""
    return device_time if device_time is None or 1900 < device_time.year < 9000 else None


def _minute(at: datetime) -> str:
    return at.isoformat(sep=" ", timespec="minutes")


def _facts(
    records: Records, study: StudyRow | None, request: Request, now: datetime, draw_code: Callable[[str], str]
) -> tuple[Fact, ...]:
    wish = request.wish
    if isinstance(wish, BeginStudy):
        return study_rules.begin_study(wish)
    assert study is not None, "refused before"
    at = max(now, study.last_time) if _needs_clock(wish) else now
    situation = Situation(records, study, request, at, draw_code)
    return RULES[type(wish)](situation, wish)


def _refused_fact(records: Records, study: StudyRow | None, request: Request, refused: Refusal) -> Fact:
    typed = getattr(request.wish, "typed", "")
    coupon = None if study is None or not typed else find_coupon(records, study, typed)
    code = coupon.code if coupon is not None else plain_characters(typed) if has_code_form(typed) else ""
    return RequestRefused(request.wish.action, refused.reason.value, refused.arguments, code)


class Journal:
    """A study in memory: the chain and its state, extended by one request at a time."""

    def __init__(self, links: Iterable[Link] = ()) -> None:
        self.links = list(links)
        self.state = rebuild(checked(self.links))

    @property
    def head(self) -> str:
        """The hash of the last event, which stands for everything before it."""
        return self.links[-1].hash if self.links else FIRST

    def answer(self, request: Request, now: datetime, draw_code: Callable[[str], str] = new_code) -> Answer:
        """Decide on a request and record its events, as a server does in one transaction."""
        answer = decide(self.state, request, now, draw_code)
        if not answer.repeated:
            self.add(answer.events, self.head)
        return answer

    def add(self, events: Sequence[Event], head: str) -> None:
        """Add all events, or none, if the chain still ends with `head`, the hash at which they were decided."""
        if head != self.head:
            raise Contradiction("Something was recorded since this was decided. Decide again.")
        state = self.state.copy() if len(events) > 1 else self.state  # `State.add` alone is all or nothing
        links: list[Link] = []
        for event in events:
            link = linked(len(self.links) + len(links) + 1, links[-1].hash if links else head, event)
            state.add(event)
            links.append(link)
        self.state = state
        self.links.extend(links)
        for event in events:
            if isinstance(event.fact, AnswersErased):
                self.links[:-1] = [erased(link, event.fact) for link in self.links[:-1]]
                self.state = rebuild(checked(self.links))
