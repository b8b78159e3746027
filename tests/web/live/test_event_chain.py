"""Events as plain data and back, and the hash chain: nothing can be changed without being noticed."""

import copy
import dataclasses
import json
import types
import typing
from dataclasses import replace
from datetime import UTC, date, datetime
from enum import Enum

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_live import SmallStudy

from peerfront.foundation.errors import DataFileError
from peerfront.web.live.rules import events
from peerfront.web.live.rules.actions import Role
from peerfront.web.live.rules.chain import (
    FIRST,
    KINDS,
    checked,
    event_data,
    event_from,
    linked,
    plain_value,
    value_from,
)
from peerfront.web.live.rules.deciding import Journal, decide
from peerfront.web.live.rules.effects import Contradiction, rebuild
from peerfront.web.live.rules.events import Event, PaymentKind, Stamp
from peerfront.web.live.rules.requests import EnrolPerson, Pay, ScanCoupon, WithdrawPerson
from peerfront.web.live.rules.study_settings import Settings

PLAIN = {
    str: st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
    int: st.integers(-9, 10**12),
    float: st.floats(allow_nan=False, allow_infinity=False),
    bool: st.booleans(),
    date: st.dates(),
    datetime: st.datetimes(datetime(1950, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC)),
    types.NoneType: st.none(),
}


def values(kind):
    """Values of a field's type."""
    inner = typing.get_args(kind)
    if isinstance(kind, types.UnionType):
        return st.one_of([values(each) for each in inner])
    if typing.get_origin(kind) is tuple:
        if inner[-1] is Ellipsis:
            return st.lists(values(inner[0]), max_size=2).map(tuple)
        return st.tuples(*(values(each) for each in inner))
    if dataclasses.is_dataclass(kind):
        return st.builds(kind, **{name: values(each) for name, each in typing.get_type_hints(kind).items()})
    return st.sampled_from(kind) if issubclass(kind, Enum) else PLAIN[kind]


EVENTS = st.builds(Event, values(Stamp), st.integers(1, 9), st.one_of([values(kind) for kind in KINDS.values()]))


@pytest.fixture(scope="module")
def journal() -> Journal:
    study = SmallStudy()
    study.seed("ana")
    study.approve(ana=2)
    used, _ = study.issue("ana")
    study.days(1)
    study.ask(ScanCoupon("Ünknown =1+1"))
    study.enrol("bea", used)
    study.do(Pay(used, PaymentKind.INTERVIEW))
    study.do(WithdrawPerson("ana", True, "asked \u202eto"))
    return study.journal


def test_every_kind_of_fact_has_a_name() -> None:
    assert set(KINDS.values()) == set(typing.get_args(events.Fact))
    assert isinstance(events.Fact, types.UnionType)


@given(EVENTS)
def test_events_come_back_as_they_were(event) -> None:
    assert event_from(json.loads(json.dumps(event_data(event)))) == event


def _places(data, place=""):
    """Every place within plain data, with what holds it and under which name."""
    entries = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for name, value in entries:
        own = f"{place}.{name}" if isinstance(data, dict) else f"{place}[{name}]"
        yield own.removeprefix("."), data, name
        yield from _places(value, own)


@given(EVENTS, st.data())
def test_what_does_not_fit_is_named_with_its_place(event, data) -> None:
    broken = json.loads(json.dumps(event_data(event)))
    own = {part: broken[part] for part in ("stamp", "part", "fact")}
    place, above, name = data.draw(st.sampled_from(list(_places(own))))
    above[name] = {"unheard": "of"}
    broken |= own
    with pytest.raises(DataFileError) as refused:
        event_from(broken)
    assert refused.value.message.arguments["place"] == place


@given(EVENTS, st.data())
def test_data_that_no_event_gives_are_refused(event, data) -> None:
    whole = event_data(event)
    part = data.draw(st.sampled_from(["stamp", "fact"]))
    broken = copy.deepcopy(whole)
    kind = Stamp if part == "stamp" else type(event.fact)
    later = {each.name for each in dataclasses.fields(kind) if each.metadata.get("later")}
    name = data.draw(st.sampled_from(sorted(broken[part].keys() - later)))
    if data.draw(st.booleans()):
        del broken[part][name]
    else:
        broken[part][name] = {"unheard": "of"}
    with pytest.raises(DataFileError, match="no event"):
        event_from(broken)


@pytest.mark.parametrize("time", ["2026-13-01T00:00:00+00:00", "2026-12-01T00:00:00", "yesterday"])
def test_a_time_that_none_gives_is_refused(journal, time) -> None:
    data = copy.deepcopy(journal.links[0].data)
    data["stamp"]["server_time"] = time
    with pytest.raises(DataFileError, match=r"stamp\.server_time is"):
        event_from(data)


def test_settings_of_earlier_versions_are_read_with_what_they_did_not_decide() -> None:
    settings = Settings(20, 3, at_least_one=True)
    data = plain_value(settings)
    assert value_from(data, Settings) == settings
    earlier = {name: value for name, value in data.items() if name != "at_least_one"}
    assert value_from(earlier, Settings) == replace(settings, at_least_one=None)
    for broken in ({**data, "unheard": 1}, {name: value for name, value in data.items() if name != "rounds"}):
        with pytest.raises(DataFileError):
            value_from(broken, Settings)


@pytest.mark.parametrize(
    "data",
    [
        {},
        [],
        None,
        {"stamp": {}, "part": 1, "kind": "riot", "fact": {}},
        {"stamp": 1, "part": 1, "kind": [], "fact": 1},
    ],
)
def test_what_is_no_event_is_refused(data) -> None:
    with pytest.raises(DataFileError, match="no event"):
        event_from(data)


def test_times_have_one_spelling(journal) -> None:
    event = journal.links[0].event
    assert event.stamp.server_time.tzinfo is not None
    assert journal.links[0].data["stamp"]["server_time"] == "2026-03-02T09:00:00.000000+00:00"


def test_the_chain_gives_the_same_state_again(journal) -> None:
    again = Journal(journal.links)
    assert again.state == journal.state == rebuild(link.event for link in journal.links)
    assert again.head == journal.head != FIRST
    assert Journal().head == FIRST


@given(st.data())
def test_every_change_of_the_chain_is_noticed(journal, data) -> None:
    links = list(journal.links)
    place = data.draw(st.integers(0, len(links) - 2))
    way = data.draw(st.sampled_from(["remove", "swap", "repeat", "edit", "edit and hash"]))
    if way == "remove":
        del links[place]
    elif way == "swap":
        links[place : place + 2] = reversed(links[place : place + 2])
    elif way == "repeat":
        links.insert(place, links[place])
    else:
        edited = copy.deepcopy(links[place].data)
        edited["stamp"]["actor"] = "somebody else"
        event = event_from(edited)
        number, before = links[place].number, links[place].before
        links[place] = linked(number, before, event) if way == "edit and hash" else replace(links[place], data=edited)
    with pytest.raises(DataFileError, match="was changed after it was recorded"):
        checked(links)


def test_two_requests_on_the_same_records_cannot_both_be_added() -> None:
    study = SmallStudy()
    study.seed("ana")
    study.approve(ana=1)
    (code,) = study.issue("ana")
    study.days(1)
    head = study.journal.head
    first = decide(study.state, study.request(EnrolPerson(code, "bea")), study.now)
    second = decide(study.state, study.request(EnrolPerson(code, "cleo"), site="south"), study.now)
    study.journal.add(first.events, head)
    with pytest.raises(Contradiction, match="Decide again"):
        study.journal.add(second.events, head)
    before = study.state.copy()
    with pytest.raises(Contradiction, match="RedemptionRow"):  # as the unique key of a database
        study.journal.add(second.events, study.journal.head)
    assert study.state == before


def test_a_request_of_several_events_is_added_whole_or_not_at_all(journal) -> None:
    again = Journal(journal.links)
    stamp = Stamp("x", Role.COORDINATOR, None, None, journal.state.study().last_time, "new", "0")
    several = (
        Event(stamp, 1, events.SiteAdded("west", "West")),
        Event(stamp, 2, events.SiteAdded("north", "North")),  # there already
    )
    with pytest.raises(Contradiction, match="SiteRow"):
        again.add(several, again.head)
    assert again.state == journal.state
    assert again.head == journal.head


@pytest.mark.parametrize(
    "fact",
    [
        events.PersonWithdrawn("nobody", "x"),
        events.CouponVoided("K7M4RT9XC0", "x"),
        events.PlanApproved(9, 2),
        events.StudyBegun("K7", Settings(1, 1)),
    ],
)
def test_events_that_cannot_follow_are_contradictions(journal, fact) -> None:
    stamp = Stamp("x", Role.COORDINATOR, None, None, journal.state.study().last_time, "new", "0")
    with pytest.raises(Contradiction):
        journal.state.copy().add(Event(stamp, 1, fact))
    with pytest.raises(Contradiction, match="part 2"):
        journal.state.copy().add(Event(stamp, 2, fact))
