"""Verification and export read a study piece by piece: the same results as by lists, in less memory."""

import sys
import tracemalloc
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import hypothesis.strategies as st
import pytest
from django.test import override_settings
from django_site import STUDY_FOLDER, empty_database, use_database
from hypothesis import given, settings
from small_live import SmallStudy

from peerfront.foundation import spreadsheets
from peerfront.foundation.errors import DataFileError
from peerfront.foundation.messages import note
from peerfront.foundation.spreadsheets import write_rows
from peerfront.web.live import exporting
from peerfront.web.live.export_tables import COUPON_COLUMNS, aliases, coupon_rows, written_ids
from peerfront.web.live.operations import verification
from peerfront.web.live.operations.backups import load
from peerfront.web.live.operations.registers import compare_registers, registers
from peerfront.web.live.operations.signed_heads import signed_heads
from peerfront.web.live.records import models
from peerfront.web.live.records.database import link_of
from peerfront.web.live.records.recording import event_columns, signature
from peerfront.web.live.rules.actions import Action
from peerfront.web.live.rules.chain import Link, _groups, _person, checked, checked_events, linked, parts_of
from peerfront.web.live.rules.effects import Contradiction, State, rebuild
from peerfront.web.live.rules.events import ActionNoted, AnswersErased, Erasable, Event
from peerfront.web.live.rules.requests import (
    AddSeed,
    CorrectAnswers,
    EraseAnswers,
    IssueCoupons,
    OverrideCoupons,
    RecordAnswers,
    WithdrawPerson,
)

sys.path.append(str(Path(__file__).parents[3] / "benchmarks"))
import live_hand_edits as edits
from live_size import made_chain

PEOPLE = ("ana", "bea", "cleo")


def _plain_fault_of_erased(events) -> str:
    """The first text that was erased without an event about it, or is there despite one, with all events at hand."""
    last: dict[str, dict[Erasable, int]] = {}
    for number, event in enumerate(events, start=1):
        if isinstance(event.fact, AnswersErased):
            last.setdefault(event.fact.person, {}).update(dict.fromkeys(event.fact.what, number))
    for number, event in enumerate(events, start=1):
        for part in parts_of(event.fact):
            for group, stored, salt, _ in _groups(part):
                person = _person(vars(part))
                what = {each for each, asked in last.get(person, {}).items() if asked > number}
                is_erased = not group.is_erased_with(vars(part)).isdisjoint(what)
                if is_erased == bool(salt):
                    code = "live_events.not_erased" if is_erased else "live_events.lost"
                    return str(DataFileError(code, number=number, names=list(stored), person=person))
    return ""


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_erased_texts_are_followed_as_with_all_events_at_hand(data) -> None:
    study = SmallStudy()
    for person in PEOPLE:
        study.do(AddSeed(person))
        study.do(RecordAnswers(person, 7, (("age", person),)))
    study.do(CorrectAnswers("ana", 8, (("age", "40"),), "misheard"))
    study.approve(ana=1, bea=2, cleo=1)
    study.ask(OverrideCoupons("cleo", 2, "asked for two"))
    for person in PEOPLE:
        study.ask(IssueCoupons(person, 1, "wanted one") if person == "bea" else IssueCoupons(person))
        study.do(WithdrawPerson(person, True, "no time"))
    versions = [[link] for link in study.journal.links]
    kinds = st.lists(st.sampled_from(list(Erasable)), min_size=1, max_size=3, unique=True)
    for _ in range(data.draw(st.integers(0, 4))):
        study.ask(EraseAnswers(data.draw(st.sampled_from(PEOPLE)), "asked to", tuple(data.draw(kinds))))
        for place, link in enumerate(study.journal.links):
            if place == len(versions):
                versions.append([])
            if link not in versions[place]:
                versions[place].append(link)
    links = [data.draw(st.sampled_from(each)) if len(each) > 1 else each[0] for each in versions]
    fault = ""
    try:
        events = list(checked_events(links))
    except DataFileError as problem:
        fault, events = str(problem), [link.event for link in links]
    assert fault == _plain_fault_of_erased(events)
    assert fault or rebuild(events) == rebuild(checked(links))


def _plain_verify(folder) -> verification.Verification:
    """The result of `verify`, from lists of the whole chain."""
    heads, keys = signed_heads(folder), folder.keys
    links, odd = [], []
    for stored in models.Event.objects.order_by("number"):
        try:
            link = link_of(stored)
        except ValueError:
            link = Link(stored.number, stored.before, {}, stored.hash)
        links.append(link)
        with suppress(KeyError, TypeError, ValueError):
            columns = event_columns(link)
            if any(columns[name] != getattr(stored, name) for name in verification._COLUMNS):
                odd.append(note("live_records.columns_differ", number=stored.number))
    head = links[-1].hash
    try:
        events = checked(links)
        state = rebuild(events)
    except (DataFileError, Contradiction) as broken:
        is_chain = isinstance(broken, DataFileError)
        fault = broken.message if is_chain else note("live_records.broken", problem=str(broken))
        return verification.Verification(len(links), head, 0, (fault,))
    expected = registers(events)
    rows, faults = verification.compare(state)
    if "secret_key" in (others := expected.other_keys(keys)):
        fault = verification._other_key(heads, folder, others)
        found = (fault, *verification._some(faults + odd))
        return verification.Verification(len(links), head, rows, found, bound=True)
    faults += odd + ([note("live_records.keys_changed", names=others)] if others else [])
    signed = False
    for number, (link, present) in enumerate(
        zip(links, models.Event.objects.order_by("number").values_list("signature", flat=True), strict=True), start=1
    ):
        signed = signed or bool(present) or number == expected.bound
        if signed and present != signature(number, link.hash, keys):
            faults.append(note("live_records.not_signed", number=number))
            break
    hashes = {number: link.hash for number, link in enumerate(links, start=1)}
    faults += [*heads.faults, *heads.differences(hashes, len(links))]
    users = contacts = 0
    if expected.bound:
        users, contacts, differences = compare_registers(expected)
        faults += differences
        if not folder.heads.exists():
            faults.append(note("live_records.no_heads", file=folder.heads.name))
    return verification.Verification(
        len(links), head, rows, tuple(verification._some(faults)), tuple(expected.notes), expected.bound is not None,
        users, contacts, heads.kept, heads.backups,
    )  # fmt: skip


@pytest.mark.usefixtures("one_database")
def test_what_verify_finds_of_every_edit_is_what_lists_of_the_whole_chain_give() -> None:
    edits.play(STUDY_FOLDER)
    for name, change in ({"none": lambda _: None} | edits.EDITS | edits.ONLY_PAPER).items():
        with edits.undone(STUDY_FOLDER) as copy:
            change(copy)
            keys = copy.keys
            with override_settings(KEYS=keys, CONTACT_KEY=keys.contact_key, SECRET_KEY=keys.secret_key):
                assert verification.verify(copy) == _plain_verify(copy), name


def _most_memory(work) -> int:
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_of_a_chain_that_is_followed_is_that_of_its_rows() -> None:
    def follow(n_people: int) -> tuple[int, int, int]:
        rows, state, n_events = State(keep_events=False), State(keep_events=False), 0

        def by_event() -> None:
            nonlocal n_events
            for event in checked_events(made_chain(n_people, 3)):
                rows.add(event)
                n_events += 1

        def all_at_once() -> None:
            links = list(made_chain(n_people, 3))
            for event in checked(links):
                state.add(event)

        return _most_memory(by_event), _most_memory(all_at_once), n_events

    follow(310)  # what is loaded once
    (some, at_once, n_some), (more, more_at_once, n_more) = follow(350), follow(700)
    assert n_more > 1.9 * n_some
    assert more - some < 0.35 * (more_at_once - at_once)


def test_memory_of_a_chain_of_notes_hardly_grows() -> None:
    begun = list(made_chain(1, 3))[:2]

    def notes(number: int) -> Iterator[Link]:
        yield from begun
        before = begun[-1]
        for key in range(number):
            stamp = replace(before.event.stamp, request_key=f"note-{key}")
            noted = Event(stamp, 1, ActionNoted(Action.EXPORT, "study.zip", (("format", "csv"),)))
            before = linked(before.number + 1, before.hash, noted)
            yield before

    def follow(number: int) -> int:
        state = State(keep_events=False)

        def work() -> None:
            for event in checked_events(notes(number)):
                state.add(event)

        return _most_memory(work)

    follow(10)
    assert (follow(4_000) - follow(2_000)) / 2_000 < 300, "bytes of each: its request key, once"


@pytest.mark.usefixtures("one_database")
def test_memory_of_an_export_does_not_grow_with_coupons(tmp_path, monkeypatch) -> None:
    def most_of_coupons(per_person: int) -> int:
        use_database(empty_database("sqlite"))
        load(made_chain(400, per_person))
        ids = written_ids(models.Person.objects.values_list("person", flat=True))
        rows = partial(coupon_rows, ids, exporting.study_settings(), aliases())
        return _most_memory(lambda: write_rows(tmp_path / "coupons.csv", COUPON_COLUMNS, rows))

    monkeypatch.setattr(spreadsheets, "_ROWS_AT_ONCE", 50)
    most_of_coupons(1)  # what is loaded once
    some, more = most_of_coupons(50), most_of_coupons(100)
    assert models.Coupon.objects.count() > 9_000, "of which 2,000 are read at a time"
    assert more < 1.2 * some
