"""Answers, network size and words of staff are erased: the chain stays whole, and nothing left tells them."""

import copy
import json
from collections import Counter
from dataclasses import replace
from datetime import timedelta

import pytest
from small_live import ANSWERS, SmallStudy, imported, importing

from peerfront.foundation.errors import DataFileError
from peerfront.web.live.operations.backups import load
from peerfront.web.live.records import database
from peerfront.web.live.records.database import link_of
from peerfront.web.live.records.models import Event
from peerfront.web.live.records.recording import recorded_in_clear
from peerfront.web.live.rules.actions import Role
from peerfront.web.live.rules.chain import ERASABLE_KINDS, FIRST, Link, checked, commitment, erased, is_in_clear, linked
from peerfront.web.live.rules.deciding import Accepted, Journal, digest_of
from peerfront.web.live.rules.effects import rebuild
from peerfront.web.live.rules.events import Erasable, PaymentKind, PlannedCoupons
from peerfront.web.live.rules.import_rules import _digest
from peerfront.web.live.rules.refusals import Reason
from peerfront.web.live.rules.requests import (
    AddSeed,
    ApprovePlan,
    ChangePlan,
    CorrectAnswers,
    EraseAnswers,
    ExtendCoupon,
    IssueCoupons,
    OverrideCoupons,
    Pay,
    PlanForOne,
    ProposePlan,
    RecordAnswers,
    VoidCoupon,
    WithdrawPerson,
)

SECRET = (("age", "97"), ("town", "Sagres"))
OTHER = (("age", "98"), ("town", "Sagres"))


@pytest.fixture
def study() -> SmallStudy:
    """Two seeds, one of whom answered, was corrected, and withdrew."""
    study = SmallStudy()
    study.seed("bea")
    study.do(AddSeed("ana"))
    study.do(RecordAnswers("ana", 10, SECRET), key="first")
    study.ask(RecordAnswers("ana", 10, OTHER), key="refused")
    study.do(CorrectAnswers("ana", 11, OTHER, "misheard"), key="second")
    study.do(WithdrawPerson("ana", True, "asked to"))
    return study


def _everything(study: SmallStudy) -> str:
    return json.dumps([link.data for link in study.journal.links]) + str(vars(study.state))


def test_nothing_is_left_of_the_answers_and_the_chain_is_whole(study) -> None:
    hashes = [link.hash for link in study.journal.links]
    assert "Sagres" in _everything(study)
    (event,) = study.do(EraseAnswers("ana", "asked to")).events
    assert (event.fact.person, event.fact.why, event.fact.what) == ("ana", "asked to", (Erasable.ANSWERS,))
    assert "Sagres" not in _everything(study)
    assert "97" not in json.dumps([link.data["fact"].get("answers") for link in study.journal.links])
    assert [link.hash for link in study.journal.links][:-1] == hashes, "not one hash changes"
    assert rebuild(checked(study.journal.links)) == study.state == Journal(study.journal.links).state
    row = study.state.person("ana")
    assert (row.answers, row.network_size) == ((), 11)
    assert study.state.person("bea").answers == ANSWERS


def test_what_is_left_does_not_tell_whether_a_guess_is_right(study) -> None:
    """Requests with other answers have the same digest, and commitments need the salt, which is gone."""
    request = study.request(RecordAnswers("ana", 10, SECRET))
    assert digest_of(request) == digest_of(replace(request, wish=RecordAnswers("ana", 10, OTHER)))
    salts = [link.data["fact"]["salt"] for link in study.journal.links if "salt" in link.data["fact"]]
    assert len(set(salts)) == 3
    assert all(len(salt) == 28 for salt in salts)
    study.do(EraseAnswers("ana", "asked to"))
    left = _everything(study)
    assert sum(salt in left for salt in salts) == 1, "that of bea"
    assert commitment("", answers=SECRET) not in left


def test_the_same_request_again_has_the_same_answer_before_and_after(study) -> None:
    wish = RecordAnswers("ana", 10, SECRET)
    again = study.ask(replace(wish, answers=SECRET[::-1]), key="first")
    assert (isinstance(again, Accepted), again.repeated) == (True, True)
    assert study.ask(replace(wish, answers=OTHER), key="first").reason is Reason.KEY_REUSED
    assert study.ask(CorrectAnswers("ana", 11, SECRET, "misheard"), key="second").reason is Reason.KEY_REUSED
    assert study.ask(replace(wish, answers=OTHER), key="refused").reason is Reason.ANSWERS_RECORDED
    study.do(EraseAnswers("ana", "asked to"), key="erase")
    n_links = len(study.journal.links)
    assert study.ask(wish, key="first").repeated
    assert study.ask(EraseAnswers("ana", "asked to"), key="erase").repeated
    assert len(study.journal.links) == n_links


def test_only_answers_of_people_who_withdrew_are_erased(study) -> None:
    assert study.ask(EraseAnswers("bea", "x")).reason is Reason.NOT_WITHDRAWN
    assert study.ask(EraseAnswers("nobody", "x")).reason is Reason.NO_PERSON
    assert study.ask(EraseAnswers("ana", " ")).reason is Reason.NO_REASON
    assert study.ask(EraseAnswers("ana", "x"), own_site="south", site="south").reason is Reason.SITE
    assert study.ask(EraseAnswers("ana", "x"), role=Role.INTERVIEWER).reason is Reason.ROLE
    study.do(AddSeed("cleo"))
    study.do(WithdrawPerson("cleo", True, "x"))
    assert study.ask(EraseAnswers("cleo", "x")).reason is Reason.NO_ANSWERS


def test_what_is_owed_is_paid_afterwards_and_no_answers_come_back(study) -> None:
    study.do(EraseAnswers("ana", "asked to"))
    study.do(Pay(study.state.person("ana").code, PaymentKind.INTERVIEW))
    for wish in (RecordAnswers("ana", 1, SECRET), CorrectAnswers("ana", 1, SECRET, "x"), IssueCoupons("ana")):
        assert not isinstance(study.ask(wish), Accepted)
    study.do(EraseAnswers("ana", "once more"))
    assert rebuild(checked(study.journal.links)) == study.state


def test_imported_answers_are_erased_and_the_same_file_does_not_bring_them_back() -> None:
    study = SmallStudy()
    people = imported("ana", answers=SECRET), imported("bea", "ana")
    study.do(importing(*people), key="file")
    assert len(study.state.person("ana").imported) <= 128, "the width of the column"
    study.do(WithdrawPerson("ana", True, "asked to"))
    changed = imported("ana", answers=OTHER)
    assert study.ask(importing(changed)).reason is Reason.IMPORT_CONFLICT
    assert study.ask(importing(changed, people[1]), key="file").reason is Reason.KEY_REUSED
    study.do(EraseAnswers("ana", "asked to"))
    assert "Sagres" not in _everything(study)
    assert study.ask(importing(*people), key="file").repeated
    for again in (people, (changed,)):
        assert len(study.do(importing(*again)).events) == 1
    assert study.state.person("ana").answers == ()
    assert study.ask(importing(replace(people[0], network_size=1))).reason is Reason.IMPORT_CONFLICT
    assert rebuild(checked(study.journal.links)) == study.state


def _broken(study: SmallStudy, key: str, **fact) -> list:
    links = list(study.journal.links)
    for place, link in enumerate(links):
        if link.data["stamp"]["request_key"] == key:
            data = copy.deepcopy(link.data)
            data["fact"] |= fact
            links[place] = replace(link, data=data)
    return links


@pytest.mark.parametrize(
    ("fact", "why"),
    [
        ({"answers": [["age", "7"]]}, "do not give their hash"),
        ({"answers": None}, "do not give their hash"),
        ({"salt": "0" * 28}, "do not give their hash"),
        ({"salt": ""}, "have no salt"),
        ({"answers": None, "salt": ""}, "has lost the answers of ana"),
        ({"answers": [], "salt": ""}, "have no salt"),
        ({"commitment": ""}, "content does not give its hash"),
        ({"commitment": commitment("0", answers=SECRET), "salt": "0"}, "content does not give its hash"),
        ({"answers": 7}, "no event"),
        ({"more": 7}, "content does not give its hash"),
    ],
)
def test_answers_are_changed_or_removed_by_nobody_unnoticed(study, fact, why) -> None:
    with pytest.raises(DataFileError, match=why):
        checked(_broken(study, "first", **fact))


def test_a_fact_that_is_none_is_no_error_of_ours(study) -> None:
    links = list(study.journal.links)
    links[3] = replace(links[3], data={**links[3].data, "kind": "answers_recorded", "fact": None})
    with pytest.raises(DataFileError, match="content does not give its hash"):
        checked(links)


def test_answers_that_were_to_be_erased_and_are_still_there_are_noticed(study) -> None:
    before = list(study.journal.links)
    study.do(EraseAnswers("ana", "asked to"))
    with pytest.raises(DataFileError, match="still has answers of ana, which were to be erased"):
        checked([*before, study.journal.links[-1]])
    erasure = study.journal.links[-1].event.fact
    assert [erased(link, erasure) for link in before] == study.journal.links[:-1]
    assert [erased(link, replace(erasure, person="nobody")) for link in before] == before
    again = linked(before[-1].number + 1, before[-1].hash, study.journal.links[-1].event)
    assert again == study.journal.links[-1]


STRATUM, REASON = "town: Sagres", "fewer, because acquaintances is 'few'"
LINES = tuple(PlannedCoupons(person, 1, STRATUM, 1, REASON) for person in ("bea", "ana"))


@pytest.fixture
def planned() -> SmallStudy:
    """Two people with coupons by a plan, and one who came later; ana and cleo withdrew."""
    study = SmallStudy()
    for person in ("ana", "bea", "cleo"):
        study.seed(person)
    study.do(ProposePlan("model-1", 7, LINES), key="plan")
    study.do(ApprovePlan(1))
    for person in ("ana", "bea"):
        study.issue(person)
    for_one = PlanForOne("model-1", 8, 1, STRATUM, 1.0, REASON)
    study.do(IssueCoupons("cleo", plan_for_one=for_one), key="later")
    for person in ("ana", "cleo"):
        study.do(WithdrawPerson(person, True, "asked to"))
    return study


def test_strata_and_reasons_are_erased_with_the_answers_they_tell(planned) -> None:
    hashes = [link.hash for link in planned.journal.links]
    assert _everything(planned).count("Sagres") == 3 * 5, "two lines and three decisions, thrice: links, rows, requests"
    planned.do(EraseAnswers("ana", "asked to"))
    planned.do(EraseAnswers("cleo", "asked to"))
    left = _everything(planned)
    assert left.count("Sagres") == left.count("acquaintances is") == 3 * 2, "those of bea"
    assert [link.hash for link in planned.journal.links][:-2] == hashes
    assert rebuild(checked(planned.journal.links)) == planned.state == Journal(planned.journal.links).state
    decision, line = planned.state.decision(1, "ana"), planned.state.plan_line(1, "ana")
    assert (decision.stratum, decision.reason, decision.coupons, decision.probability) == ("", "", 1, 1)
    assert (line.stratum, line.reason, line.coupons) == ("", "", 1)
    assert planned.state.decision(1, "bea").reason == planned.state.plan_line(1, "bea").reason == REASON


def test_why_somebody_decided_on_another_number_stays_for_the_audit() -> None:
    study = SmallStudy()
    study.seed("ana")
    study.days(1)
    study.approve(ana=1)
    study.do(OverrideCoupons("ana", 2, "asked for two"))
    study.issue("ana")
    study.do(WithdrawPerson("ana", True, "x"))
    study.do(EraseAnswers("ana", "x"))
    assert (study.state.override(1, "ana").why, study.state.decision(1, "ana").reason) == ("asked for two", "")


def test_a_plan_that_is_proposed_again_is_the_same_unless_a_reason_is_another(planned) -> None:
    changed = tuple(replace(line, reason="another") if line.person == "ana" else line for line in LINES)
    wish, other = ProposePlan("model-1", 7, LINES), ProposePlan("model-1", 7, changed)
    assert digest_of(planned.request(wish, key="k")) == digest_of(planned.request(other, key="k")), (
        "it lets nobody guess"
    )
    assert planned.ask(wish, key="plan").repeated
    assert planned.ask(other, key="plan").reason is Reason.KEY_REUSED
    planned.do(EraseAnswers("ana", "asked to"))
    assert planned.ask(wish, key="plan").events[0].fact.plan == 1
    assert planned.ask(IssueCoupons("cleo"), key="later").repeated


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ({"reason": "another"}, "stratum, reason do not give their hash"),
        ({"salt": ""}, "stratum, reason have no salt"),
        ({"reason": "", "stratum": "", "salt": ""}, "has lost the stratum, reason of"),
        ({"commitment": ""}, "content does not give its hash"),
        ({"coupons": 9, "decided": 9}, "content does not give its hash"),
    ],
)
@pytest.mark.parametrize("key", ["plan", "later"])
def test_strata_and_reasons_are_changed_or_removed_by_nobody_unnoticed(planned, key, text, why) -> None:
    fact = text
    if key == "plan":
        (link,) = (link for link in planned.journal.links if link.data["stamp"]["request_key"] == key)
        first, second = link.data["fact"]["lines"]
        fact = {"lines": [first, second | {name: text[name] for name in text if name != "decided"}]}
    with pytest.raises(DataFileError, match=why):
        checked(_broken(planned, key, **fact))


def test_reasons_that_were_to_be_erased_and_are_still_there_are_noticed(planned) -> None:
    before = list(planned.journal.links)
    planned.do(EraseAnswers("cleo", "asked to"))
    place = next(place for place, link in enumerate(before) if link.data["stamp"]["request_key"] == "later")
    links = list(planned.journal.links)
    links[place] = before[place]
    with pytest.raises(DataFileError, match="still has stratum, reason of cleo, which were to be erased"):
        checked(links)


SIZE, WORDS, GOSSIP = (Erasable.NETWORK_SIZE,), (Erasable.WORDS,), "sister of the baker"
REASONS = ("second", "void", "extend", "changed", "override", "withdraw", "erase")
"""Requests with a reason about ana, by their keys."""


@pytest.fixture
def talkative() -> SmallStudy:
    """Wherever staff can write something about ana, they did; and bea, who stays, has a reason of her own."""
    study = SmallStudy()
    for person in ("bea", "cleo"):
        study.seed(person)
    study.do(AddSeed("ana"))
    study.do(RecordAnswers("ana", 7654, SECRET), key="first")
    study.do(CorrectAnswers("ana", 7655, SECRET, GOSSIP), key="second")
    study.plan(ana=3, bea=2)
    study.do(ChangePlan(1, (("bea", 1), ("ana", 2)), GOSSIP), key="changed")
    study.do(ApprovePlan(1))
    study.do(IssueCoupons("ana", 1, GOSSIP), key="issue")
    (code,) = (each.code for each in study.state.coupons_of("ana"))
    study.do(ExtendCoupon(code, study.now.date() + timedelta(days=30), GOSSIP), key="extend")
    study.do(VoidCoupon(code, GOSSIP), key="void")
    study.days(1)
    study.approve(ana=1)
    study.do(OverrideCoupons("ana", 2, GOSSIP), key="override")
    study.issue("ana")
    study.do(WithdrawPerson("ana", True, GOSSIP), key="withdraw")
    study.do(EraseAnswers("ana", GOSSIP), key="erase")
    return study


def test_the_size_alone_is_erased_with_what_reveals_it_and_counts_no_more(planned) -> None:
    planned.do(EraseAnswers("ana", "asked to", SIZE))
    facts = [link.data["fact"] for link in planned.journal.links]
    assert [fact["network_size"] for fact in facts if "network_size" in fact] == [None, 10, 10]
    row = planned.state.person("ana")
    assert (row.network_size, row.answers) == (None, ANSWERS), "the answers are another choice"
    assert planned.state.decision(1, "ana").reason == "", "it told how many people ana knows"
    assert rebuild(checked(planned.journal.links)) == planned.state == Journal(planned.journal.links).state
    assert planned.ask(EraseAnswers("ana", "asked to", ())).reason is Reason.OUT_OF_RANGE


def test_words_about_a_person_are_erased_wherever_they_stand(talkative) -> None:
    hashes = [link.hash for link in talkative.journal.links]
    talkative.do(EraseAnswers("ana", "asked to", WORDS))
    left = [link for link in talkative.journal.links if GOSSIP in json.dumps(link.data)]
    assert [link.data["fact"].get("lines") for link in left] == [[["bea", 1]]], "the reason of bea's own number"
    assert [link.hash for link in talkative.journal.links][:-1] == hashes
    state = talkative.state
    assert rebuild(checked(talkative.journal.links)) == state == Journal(talkative.journal.links).state
    assert state.override(2, "ana").why == ""
    assert {each.why_void for each in state.coupons_of("ana")} == {""}
    decisions = [state.decision(number, "ana") for number in (1, 2)]
    assert [(each.reason, each.why_fewer, each.coupons) for each in decisions] == [("", "", 1), ("", "", 2)]
    assert (state.plan_line(1, "ana").why_changed, state.plan_line(1, "bea").why_changed) == ("", GOSSIP)
    assert state.person("ana").network_size == 7655, "the size is another choice"


def test_what_is_written_after_words_were_erased_stays_until_the_next_time(talkative) -> None:
    talkative.do(EraseAnswers("ana", "the first time", WORDS))
    assert talkative.journal.links[-1].event.fact.why == "the first time"
    talkative.do(EraseAnswers("ana", "the second time", WORDS))
    assert "the first time" not in _everything(talkative)
    assert rebuild(checked(talkative.journal.links)) == talkative.state


@pytest.mark.parametrize(
    ("key", "text"),
    [("first", "network_size"), ("second", "network_size"), ("issue", "why_fewer"), *((key, "why") for key in REASONS)],
)
def test_sizes_and_words_are_changed_removed_or_left_by_nobody_unnoticed(talkative, key, text) -> None:
    before = list(talkative.journal.links)
    place = next(n for n, link in enumerate(before) if link.data["stamp"]["request_key"] == key)
    gone, salt, what = (None, "size_salt", SIZE) if text == "network_size" else ("", "words_salt", WORDS)

    def broken(**change):
        links = list(before)
        data = links[place].data
        links[place] = replace(links[place], data={**data, "fact": data["fact"] | change})
        return links

    for change, why in (
        ({text: 1 if gone is None else "another"}, f"its {text} do not give their hash"),
        ({text: gone}, f"its {text} do not give their hash"),
        ({salt: ""}, f"its {text} have no salt"),
        ({text: gone, salt: ""}, f"has lost the {text} of ana"),
        ({salt.replace("salt", "commitment"): ""}, "content does not give its hash"),
    ):
        with pytest.raises(DataFileError, match=why):
            checked(broken(**change))
    talkative.do(EraseAnswers("ana", "asked to", what))
    assert talkative.journal.links[place].data["fact"][text] == gone
    links = list(talkative.journal.links)
    links[place] = before[place]
    with pytest.raises(DataFileError, match=f"still has {text} of ana, which were to be erased"):
        checked(links)


def test_requests_do_not_tell_sizes_and_words_and_are_answered_once(talkative) -> None:
    person, links = "ana", len(talkative.journal.links)
    for wish, other in (
        (OverrideCoupons(person, 2, GOSSIP), OverrideCoupons(person, 2, "another")),
        (WithdrawPerson(person, True, GOSSIP), WithdrawPerson(person, True, "another")),
        (RecordAnswers(person, 7654, SECRET), RecordAnswers(person, 1, SECRET)),
        (ChangePlan(1, (("bea", 1), ("ana", 2)), GOSSIP), ChangePlan(1, (("bea", 1), ("ana", 2)), "another")),
        (IssueCoupons(person, 1, GOSSIP), IssueCoupons(person, 1, "another")),
    ):
        key = {
            OverrideCoupons: "override", WithdrawPerson: "withdraw", RecordAnswers: "first", ChangePlan: "changed",
            IssueCoupons: "issue",
        }[type(wish)]  # fmt: skip
        assert digest_of(talkative.request(wish, key=key)) == digest_of(talkative.request(other, key=key))
        assert talkative.ask(wish, key=key).repeated
        assert talkative.ask(other, key=key).reason is Reason.KEY_REUSED
    assert len(talkative.journal.links) == links


def test_an_imported_size_is_erased_and_the_same_file_does_not_bring_it_back() -> None:
    study = SmallStudy()
    people = imported("ana", network_size=7654), imported("bea", "ana")
    study.do(importing(*people), key="file")
    study.do(WithdrawPerson("ana", True, "asked to"))
    changed = replace(people[0], network_size=1)
    assert study.ask(importing(changed)).reason is Reason.IMPORT_CONFLICT
    study.do(EraseAnswers("ana", "asked to", SIZE))
    assert "7654" not in _everything(study)
    assert study.ask(importing(*people), key="file").repeated
    for again in (people, (changed,)):
        assert len(study.do(importing(*again)).events) == 1
    assert study.ask(importing(replace(people[0], answers=OTHER))).reason is Reason.IMPORT_CONFLICT
    assert study.state.person("ana").network_size is None
    assert rebuild(checked(study.journal.links)) == study.state


def _as_0_3_wrote(study: SmallStudy) -> SmallStudy:
    """The same study with the events of version 0.3: sizes and words in clear, and in digests of requests."""
    links, before = [], FIRST
    for link in study.journal.links:
        fact = {name: value for name, value in link.data["fact"].items() if not name.startswith(("size_", "words_"))}
        for later in ("person",) if link.data["kind"] in ("coupon_voided", "coupon_extended") else ("what", "keys"):
            fact.pop(later, None)
        data = link.data | {"fact": fact}
        made = Link(link.number, before, data, "")
        links.append(replace(made, hash=made.content_hash))
        before = links[-1].hash
    earlier = SmallStudy()
    earlier.journal, earlier.now = Journal(links), study.now
    return earlier


def test_what_an_earlier_version_wrote_in_clear_leaves_the_rows_and_stays_in_the_events(talkative) -> None:
    study = _as_0_3_wrote(talkative)
    hashes = [link.hash for link in study.journal.links]
    codes = [each.code for each in study.state.coupons_of("ana")]
    in_clear = [link.data["kind"] for link in study.journal.links if is_in_clear(link.event.fact, "ana", codes)]
    assert Counter(in_clear) == dict.fromkeys(
        ("answers_recorded", "answers_corrected", "plan_changed", "coupons_issued", "coupon_extended",
         "coupons_overridden", "person_withdrawn", "answers_erased"), 1
    ) | {"coupon_voided": 3}  # fmt: skip
    study.do(EraseAnswers("ana", "asked to", (*SIZE, *WORDS)), key="again")
    assert [link.hash for link in study.journal.links][:-1] == hashes
    assert "7654" in json.dumps([link.data for link in study.journal.links])
    state = study.state
    assert (state.person("ana").network_size, state.override(2, "ana").why) == (None, "")
    assert {each.why_void for each in state.coupons_of("ana")} == {""}
    assert state.decision(2, "ana").reason == "", "a commitment of 0.3 covers it"
    assert rebuild(checked(study.journal.links)) == state


@pytest.mark.usefixtures("one_database")
def test_events_in_clear_are_counted_that_are_about_the_person_or_their_coupons(talkative) -> None:
    load(_as_0_3_wrote(talkative).journal.links)
    assert (recorded_in_clear("ana"), recorded_in_clear("bea"), recorded_in_clear("cleo")) == (11, 2, 1)


@pytest.mark.usefixtures("one_database")
@pytest.mark.parametrize("text", ['{"stamp": "ana"', '["ana"]', '{"part": "ana"}', "[" * 100_000 + '"ana"'])
def test_events_that_nobody_can_read_are_not_counted(talkative, text) -> None:
    """Somebody tampered with them: `verify` says so, and the page is there to erase the rest."""
    load(_as_0_3_wrote(talkative).journal.links)
    Event.objects.filter(kind="answers_recorded", data__contains='"ana"').update(data=text)
    assert recorded_in_clear("ana") == 10


@pytest.mark.usefixtures("one_database")
def test_plans_are_not_read_to_count_them(talkative, monkeypatch) -> None:
    """A plan of 20,000 lines takes a tenth of a second, and has a commitment in each line."""
    load(_as_0_3_wrote(talkative).journal.links)
    read = []
    monkeypatch.setattr(database, "link_of", lambda stored: read.append(stored.kind) or link_of(stored))
    assert recorded_in_clear("ana") == 11
    assert set(read) < ERASABLE_KINDS - {"plan_proposed"}


@pytest.mark.usefixtures("one_database")
def test_what_was_imported_about_recruits_is_not_counted_for_their_recruiter() -> None:
    study = SmallStudy()
    study.do(importing(imported("ana"), imported("bea", "ana"), imported("cleo", "ana")))
    load(_as_0_3_wrote(study).journal.links)
    assert [recorded_in_clear(person) for person in ("ana", "bea", "cleo")] == [1, 1, 1]


def test_words_about_somebody_without_answers_are_erased_whatever_else_is_chosen() -> None:
    study = SmallStudy()
    study.do(AddSeed("ana"))
    study.do(WithdrawPerson("ana", False, GOSSIP))
    assert study.ask(EraseAnswers("ana", "asked to")).reason is Reason.NO_ANSWERS
    study.do(EraseAnswers("ana", "asked to", tuple(Erasable)))
    assert GOSSIP not in _everything(study)
    assert rebuild(checked(study.journal.links)) == study.state


def test_a_request_that_an_earlier_version_answered_has_the_same_answer() -> None:
    study = SmallStudy()
    wish = importing(imported("ana"))
    request = study.request(wish, key="file")
    study.ask(wish, key="file")
    place = next(n for n, link in enumerate(study.journal.links) if link.data["stamp"]["request_key"] == "file")
    for link in study.journal.links[place:]:
        link.data["stamp"]["request_digest"] = digest_of(request, first=True)
        if link.data["kind"] == "person_imported":
            link.data["fact"]["digest"] = _digest(wish.people[0], first=True)
    earlier = _as_0_3_wrote(study)
    assert digest_of(request, first=True) != digest_of(request)
    assert earlier.ask(wish, key="file").repeated
    other = importing(imported("ana", network_size=1))
    assert earlier.ask(other, key="file").reason is Reason.KEY_REUSED
    assert len(earlier.do(wish).events) == 1, "nobody is new"
    assert earlier.ask(other).reason is Reason.IMPORT_CONFLICT
    assert earlier.state.person("ana").imported.count(":") == 2, "as 0.3 wrote the row"
