"""Every page, for every role, at one's own site and at another, by GET and POST: what the table says, happens.

`benchmarks/live_access.py` walks; what is expected comes from `rules.actions` alone.
"""

import sys
from functools import cache
from pathlib import Path

import pytest
from django.test import Client
from django.urls import get_resolver
from django.utils import timezone
from live_client import LiveStudy

from peerfront.web.live.operations.verification import verify
from peerfront.web.live.records.models import Event, Person, PlanningJob
from peerfront.web.live.rules.actions import Role
from peerfront.web.live.rules.events import PaymentKind
from peerfront.web.live.rules.requests import Pay
from peerfront.web.live.screens.staff_requests import PAGES

sys.path.append(str(Path(__file__).parents[3] / "benchmarks"))
import live_access


@pytest.fixture(scope="module")
def study(django_database):
    """Somebody with coupons at each site, and a proposed plan."""
    made = LiveStudy()
    made.seed("ana", "north")
    made.seed("ben", "south")
    made.approve(ana=2, ben=1)
    made.issue("ana")
    made.issue("ben", "south")
    made.plan(ben=1)
    for person, site in (("ana", "north"), ("ben", "south")):
        made.do(Pay(made.state.person(person).code, PaymentKind.INTERVIEW), site=site)
    made.user(Role.MANAGER)
    PlanningJob.objects.create(pk=1, asked_by="coordinator-all", asked_at=timezone.now(), state="done")
    return made


@pytest.fixture(scope="module")
def about(study) -> live_access.About:
    people = {
        site: (person, study.state.coupons_of(person)[0].code, study.state.person(person).code)
        for site, person in (("north", "ana"), ("south", "ben"))
    }
    return live_access.About(people, plan=2)


@pytest.fixture(scope="module")
def client(study):
    """Somebody with these roles at a site, who stays logged in; or nobody."""
    logged_in = cache(study.client)
    return lambda roles, site: Client() if roles is None else logged_in(roles, site)


@pytest.fixture(scope="module")
def django_database():
    from django_site import empty_database, use_database

    use_database(empty_database("sqlite"))
    yield
    use_database({"NAME": ":memory:", "ENGINE": "django.db.backends.sqlite3"})


@pytest.mark.parametrize("page", sorted(PAGES))
def test_everybody_opens_what_the_table_allows_and_nothing_else(page, about, client) -> None:
    if page not in live_access.pages():
        pytest.skip("not built, or ends the login")
    before = Person.objects.count(), Event.objects.exclude(kind="action_noted").count()
    cells = list(live_access.walk(page, about, client))
    assert not [str(cell) for cell in cells if cell.fault]
    assert {cell.is_open for cell in cells} == ({True} if PAGES[page] == "everybody" else {True, False})
    assert (Person.objects.count(), Event.objects.exclude(kind="action_noted").count()) == before, "empty forms"


def test_the_walk_sees_every_page(study) -> None:
    patterns = {each.name for each in get_resolver().url_patterns}
    assert patterns <= PAGES.keys()
    assert verify().rows > 0
