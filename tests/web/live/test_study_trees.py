"""Chains of recruits: their sizes, where people stand in the picture, and the picture itself."""

import xml.etree.ElementTree as ElementTree
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from played_study import PlayedStudy

from peerfront.web.live.records import models
from peerfront.web.live.records.recruitment import Forest, Recruited
from peerfront.web.live.rules.actions import Role
from peerfront.web.live.screens.tree_page import shown_people

START = datetime(2026, 3, 2, tzinfo=UTC)


def _forest(recruiters):
    """People 0, 1, ... with the number of their recruiter, or None."""
    return Forest(
        Recruited(f"p{n}", None if above is None else f"p{above}", "north", START + timedelta(hours=n))
        for n, above in enumerate(recruiters)
    )


@st.composite
def forests(draw):
    count = draw(st.integers(1, 40))
    return [draw(st.none() | st.integers(0, n - 1)) if n else None for n in range(count)]


@given(forests())
def test_chains_part_the_people_and_waves_count_recruitments(recruiters) -> None:
    forest = _forest(recruiters)
    chains = forest.chains()
    assert sum(chain.people for chain in chains) == len(recruiters)
    assert [chain.people for chain in chains] == sorted((chain.people for chain in chains), reverse=True)
    for n, above in enumerate(recruiters):
        assert forest.waves[f"p{n}"] == (0 if above is None else forest.waves[f"p{above}"] + 1)
    for chain in chains:
        assert chain.people == len(list(forest.below(chain.root)))


@given(forests())
def test_people_who_come_one_by_one_stand_as_if_they_came_at_once(recruiters) -> None:
    together, one_by_one = _forest(recruiters), Forest()
    for each in together.people.values():
        one_by_one.add(each)
    assert (one_by_one.recruits, one_by_one.waves) == (together.recruits, together.waves)
    assert one_by_one.chains() == together.chains()


@given(forests(), st.integers(1, 40))
def test_nobody_stands_on_another_and_recruiters_stand_among_their_recruits(recruiters, most) -> None:
    forest = _forest(recruiters)
    root = forest.chains()[0]
    people = shown_people(forest, root.root, most)
    assert len(people) == min(most, root.people)
    places = {each.person.person: each for each in people}
    for column in {each.wave for each in people}:
        own = sorted(each.row for each in people if each.wave == column)
        assert all(later - sooner >= 1 - 1e-9 for sooner, later in pairwise(own))
    for each in people:
        below = [places[recruit] for recruit in each.recruits]
        if below:
            assert min(recruit.row for recruit in below) <= each.row <= max(recruit.row for recruit in below)
        assert all(recruit.wave == each.wave + 1 and recruit.recruiter_row == each.row for recruit in below)
    hidden = sum(each.hidden for each in people)
    all_recruits = sum(len(forest.recruits.get(person, ())) for person in places)
    assert hidden == all_recruits - (len(places) - 1)


def test_a_chain_of_ten_thousand_waves_can_be_drawn() -> None:
    forest = _forest([None, *range(9_999)])
    assert forest.chains()[0].waves == 9_999
    assert len(shown_people(forest, "p0", 10_000)) == 10_000


@pytest.mark.usefixtures("one_database")
def test_every_tree_is_on_one_page_and_each_alone_with_names_as_a_list_and_as_a_file() -> None:
    study = PlayedStudy().play(weeks=4)
    client = study.client(Role.COORDINATOR)
    page = client.get("/trees/")
    chains = [chain for chain, _ in page.context["chains"]]
    assert sum(chain.people for chain in chains) == models.Person.objects.count()
    assert page.content.decode().count('<svg class="tree') == len(chains)
    for colour in ("site", "wave", "gender", "nonsense"):
        assert client.get("/trees/", {"colour": colour}).status_code == 200
        page = client.get("/trees/", {"root": chains[0].root, "colour": colour})
        assert f">{chains[0].root}</text>" in page.context["picture"]
        listed = page.content.decode().split("<details>")[1].split("</details>")[0]
        assert listed.count("<tr><th") == chains[0].people + 1
    kept = client.get("/trees/", {"root": chains[0].root, "file": ""})
    assert kept["Content-Type"] == "image/svg+xml"
    assert "attachment" in kept["Content-Disposition"]
    assert ElementTree.fromstring(kept.content).tag == "{http://www.w3.org/2000/svg}svg"
    part = models.Person.objects.filter(recruiter=chains[0].root).first()
    below = client.get("/trees/", {"root": part.person}).context
    assert below["above"] == chains[0].root
    assert below["whole"] < chains[0].people
    assert client.get("/trees/?root=nobody").status_code == 404


@pytest.mark.usefixtures("one_database")
def test_without_people_there_is_no_picture() -> None:
    client = PlayedStudy().client(Role.ANALYST)
    assert "Nobody takes part yet." in client.get("/trees/").content.decode()
