"""Answers are erased from records and events, the chain stays whole, and nothing that is left tells them."""

import copy
import json
from dataclasses import replace

import pytest
from small_live import ANSWERS, SmallStudy, imported, importing

from peerfront.foundation.errors import DataFileError
from peerfront.live.rules.chain import checked, erased, linked
from peerfront.live.rules.deciding import Accepted
from peerfront.live.rules.erasing import commitment
from peerfront.live.rules.events import AnswersErased, PaymentKind
from peerfront.live.rules.journal import Journal
from peerfront.live.rules.permissions import Role
from peerfront.live.rules.refusals import Reason
from peerfront.live.rules.requests import (
    AddSeed,
    CorrectAnswers,
    EraseAnswers,
    IssueCoupons,
    Pay,
    RecordAnswers,
    WithdrawPerson,
)
from peerfront.live.rules.state import rebuild

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
    assert request.digest == replace(request, wish=RecordAnswers("ana", 10, OTHER)).digest
    salts = [link.data["fact"]["salt"] for link in study.journal.links if "salt" in link.data["fact"]]
    assert len(set(salts)) == 3
    assert all(len(salt) == 28 for salt in salts)
    study.do(EraseAnswers("ana", "asked to"))
    left = _everything(study)
    assert sum(salt in left for salt in salts) == 1, "that of bea"
    assert commitment("", SECRET) not in left


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
        ({"commitment": commitment("0", SECRET), "salt": "0"}, "content does not give its hash"),
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
