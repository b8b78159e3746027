"""Answers, and strata and reasons that tell them, are erased: the chain stays whole, and nothing left tells them."""

import copy
import json
from dataclasses import replace

import pytest
from small_live import ANSWERS, SmallStudy, imported, importing

from peerfront.foundation.errors import DataFileError
from peerfront.web.live.rules.actions import Role
from peerfront.web.live.rules.chain import checked, commitment, erased, linked
from peerfront.web.live.rules.deciding import Accepted, Journal, digest_of
from peerfront.web.live.rules.effects import rebuild
from peerfront.web.live.rules.events import AnswersErased, PaymentKind, PlannedCoupons
from peerfront.web.live.rules.refusals import Reason
from peerfront.web.live.rules.requests import (
    AddSeed,
    ApprovePlan,
    CorrectAnswers,
    EraseAnswers,
    IssueCoupons,
    OverrideCoupons,
    Pay,
    PlanForOne,
    ProposePlan,
    RecordAnswers,
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
    assert event.fact == AnswersErased("ana", "asked to")
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
    assert len(study.state.person("ana").imported) <= 64, "the width of the column"
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
    assert [erased(link, "ana") for link in before] == study.journal.links[:-1]
    assert [erased(link, "nobody") for link in before] == before
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
