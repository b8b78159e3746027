"""Estimates in a page: as `peerfront estimate` makes them from the export, noted in the audit."""

import re

import pytest
from played_study import PlayedStudy

from peerfront.study.estimation import estimate
from peerfront.web.live.exporting import live_study
from peerfront.web.live.records import models
from peerfront.web.live.records.database import link_of
from peerfront.web.live.rules.actions import Role
from peerfront.web.live.screens.estimates_page import job_for


def _key(answer) -> str:
    return re.search(r'name="key" value="([^"]+)"', answer.content.decode())[1]


def _asked(client, **entries):
    form = {"key": _key(client.get("/estimates/")), "outcome": "hiv", "by": "-", "population": ""} | entries
    return client.post("/estimates/", form)


@pytest.mark.usefixtures("one_database")
def test_a_page_estimates_as_the_command_does_and_the_audit_notes_it() -> None:
    study = PlayedStudy().play(weeks=6)
    client = study.client(Role.ANALYST)
    sent = _asked(client, by="gender", population="5000")
    order = {"outcome": "hiv", "by": "gender", "population": "5000"}
    key = sent.headers["Location"].split("asked=")[1]
    assert job_for(key, order, wait=120).ended.is_set()
    page = client.get(sent.headers["Location"])
    made = estimate(live_study(), "hiv", by="gender", strata="gender", population=5000)
    (one,) = made.outcomes
    (shown,) = page.context["outcomes"]
    best = one.best[one.best["group"] == "everybody"].iloc[-1]
    (row,) = shown["rows"]  # one row of the two answers; the other answer is the rest
    assert (row["what"], row["estimate"]) == (best["category"], f"{100 * best['estimate']:.0f}%")
    assert len(shown["groups"]) == (one.best["group"] != "everybody").sum()
    assert len(shown["others"]) == len(made.table) - len(one.best), "folded"
    text = page.content.decode()
    assert text.count("Use this") == 0
    assert text.index('<td class="number figure">') < text.index("Other estimators")
    assert "--" not in page.content.decode().split("<main")[1].split("<form")[0]  # no options of commands
    notes = [link_of(each).event.fact for each in models.Event.objects.filter(kind="action_noted")]
    assert [dict(note.details) for note in notes] == [{"outcome": "hiv", "by": "gender", "population": "5000"}]


@pytest.mark.usefixtures("one_database")
def test_what_cannot_be_estimated_is_said() -> None:
    study = PlayedStudy()
    client = study.client(Role.COORDINATOR)
    sent = _asked(client)
    assert job_for(sent.headers["Location"].split("asked=")[1], {"outcome": "hiv"}, wait=60).ended.is_set()
    text = client.get(sent.headers["Location"]).content.decode()
    assert "It cannot be estimated." in text
    assert "Nobody takes part yet" in text


@pytest.mark.usefixtures("one_database")
def test_the_address_of_somebody_elses_estimate_opens_nothing() -> None:
    study = PlayedStudy().play(weeks=2)
    sent = _asked(study.client(Role.ANALYST))
    other = study.client(Role.COORDINATOR)
    assert other.get(sent.headers["Location"]).status_code == 404
    assert other.get("/estimates/?asked=made-up").status_code == 404
    assert study.client(Role.INTERVIEWER, "north").get("/estimates/").status_code == 403
    assert "Select a valid choice" in _asked(other, outcome="nonsense").content.decode()


@pytest.mark.usefixtures("one_database")
def test_a_part_of_the_page_says_when_it_is_done() -> None:
    study = PlayedStudy().play(weeks=4)
    client = study.client(Role.ANALYST)
    address = _asked(client, outcome="age").headers["Location"]
    job_for(address.split("asked=")[1], {"outcome": "age"}, wait=60)
    part = client.get(address, headers={"X-Part": "yes"}).content.decode()
    assert "data-done" in part
    assert "<html" not in part
    assert [row["what"] for row in client.get(address).context["outcomes"][0]["rows"]] == ["Mean"]
