"""Every page of the live study, by every role and by nobody, at their own site and at another: what the table says.

For `live_faults.py access` and the tests. The pages come from `staff_requests.PAGES` and the addresses themselves, what
is expected comes from the declarations of actions alone (`rules.actions`); a cell is one page asked for by one person
in one way (GET or POST).
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from peerfront.web.live.rules.actions import Role, Scope, is_allowed

SITES = (None, "north", "south")
SEVERAL = ((Role.INTERVIEWER, Role.CASHIER, Role.COORDINATOR), (Role.ANALYST, Role.MANAGER), tuple(Role))
"""Roles of one login; `test_permissions_table` goes through all sets of roles."""
ROLES: tuple[tuple[Role, ...], ...] = (*((each,) for each in Role), *SEVERAL)
OPEN = {200, 302, 405, 410}  # shown, sent elsewhere on the site, wants a form (POST), or a link that has ended
CLOSED = {403, 404}
OF_A_SITE = {"person", "code"}
"""Parameters of addresses that name something of one site."""
NOT_ASKED = {"logout"}
"""It ends the login of whoever asks."""
NOT_SENT = {"make_plan"}
"""An empty form is all that it needs to start a long work."""


@dataclass(frozen=True)
class About:
    """What addresses name: people at two sites, each with a coupon, and the numbers of other things."""

    people: Mapping[str, tuple[str, str, str]]
    """For a site: a pseudonym, a coupon of theirs, and the code with which they came."""
    plan: int = 1


@dataclass(frozen=True)
class Cell:
    """A page that somebody asked for."""

    page: str
    method: str
    roles: tuple[Role, ...] | None
    """None for nobody, who has not logged in."""
    site: str | None
    about: str
    """The site of which the page tells something, if it does."""
    is_open: bool
    """Whether it should be."""
    fault: str

    def __str__(self) -> str:
        who = "nobody" if self.roles is None else f"{'+'.join(self.roles)} of {self.site or 'all sites'}"
        return f"{self.method} {self.page} about {self.about} by {who}: {self.fault}"


def pages() -> list[str]:
    """The pages that have an address."""
    from peerfront.web.live.screens.staff_requests import PAGES

    return sorted(PAGES.keys() & patterns().keys() - NOT_ASKED)


def patterns() -> dict[str, Any]:
    from django.urls import get_resolver

    return {each.name: each for each in get_resolver().url_patterns}


def walk(page: str, about: About, client: Callable[[tuple[Role, ...] | None, str | None], Any]) -> Iterator[Cell]:
    """Ask for a page in every way. `client` gives a client of somebody with roles at a site, or (None) of nobody."""
    from peerfront.web.live.screens.staff_requests import PAGES, Audience

    names = set(patterns()[page].pattern.converters)
    of_a_site = bool(OF_A_SITE & names) or page == "receipt"
    methods = ("GET",) if page in NOT_SENT else ("GET", "POST")
    for where in about.people if of_a_site else ("north",):
        address, person = _address(page, about, where), about.people[where][0]
        for method in methods:
            response = _asked(client(None, None), method, address)
            is_open = PAGES[page] is Audience.EVERYBODY
            fault = _fault_for_nobody(page, response, person) if not is_open else ""
            if is_open and is_login(response) and page not in ("login", "first_login"):
                fault = "asks for a login"
            yield Cell(page, method, None, None, where, is_open, fault)
        for roles in ROLES:
            for site in SITES:
                is_open = expected(page, roles, site, where if of_a_site else None)
                for method in methods if not is_open or _is_harmless(page) else ("GET",):
                    response = _asked(client(roles, site), method, address)
                    fault = _fault(page, response, person, is_open=is_open)
                    yield Cell(page, method, roles, site, where, is_open, fault)


def expected(page: str, roles: tuple[Role, ...], site: str | None, where: str | None) -> bool:
    """Whether somebody with roles at a site (None for all) may open a page about something at a site."""
    from peerfront.web.live.screens.staff_requests import PAGES, Audience

    needed = PAGES[page]
    if isinstance(needed, Audience):
        return True
    own = site is None or (needed.declared.scope is not Scope.STUDY and where in (None, site))
    return any(is_allowed(needed, each, own_site=own) for each in roles)


def _is_harmless(page: str) -> bool:
    """Whether an empty form, which has no request key, changes nothing for the cells that follow."""
    return page not in ("work_at", "stop_job")


def _address(page: str, about: About, where: str) -> str:
    from django.urls import reverse

    person, code, own = about.people[where]
    samples: dict[str, Any] = {"person": person, "code": code, "number": 1, "token": "none"}
    samples |= {"name": "backup-20260101T000000Z.zip"}
    if "plan" in page and "job" not in page:
        samples["number"] = about.plan
    names = list(patterns()[page].pattern.converters)
    assert set(names) <= samples.keys(), f"Give the walk a sample for {page}: {names}"
    query = {"receipt": {"code": own, "kind": "interview"}}.get(page)
    return reverse(page, kwargs={name: samples[name] for name in names}, query=query)


def _asked(client: Any, method: str, address: str) -> Any:
    return client.get(address) if method == "GET" else client.post(address, {})


def _fault(page: str, response: Any, person: str, *, is_open: bool) -> str:
    if is_open:
        if response.status_code not in OPEN and not (page == "backup_file" and response.status_code == 404):
            return f"is closed ({response.status_code})"
        return "asks for a login" if page not in ("login", "password", "first_login") and is_login(response) else ""
    if response.status_code not in CLOSED:
        return f"is open ({response.status_code})"
    return "names the person" if person in main_of(response) else ""


def _fault_for_nobody(page: str, response: Any, person: str) -> str:
    if not is_login(response):
        return f"is open ({response.status_code})"
    return "names the person" if person in main_of(response) else ""


def is_login(response: Any) -> bool:
    from django.urls import reverse

    return (response.status_code == 302 and response["Location"].startswith(reverse("login"))) or (
        response.status_code in (200, 403) and 'name="password"' in _text(response)
    )


def main_of(response: Any) -> str:
    """The page without its address and menu, in which a pseudonym would be no secret."""
    found = re.search(r"<main.*</main>", _text(response), re.S)
    words = re.sub(r'value="[^"]*"', "", found[0]) if found else ""
    return re.sub(r"\banalyst\b|\bmanager\b", "", words)


def _text(response: Any) -> str:
    return "" if response.streaming else response.content.decode()


def walk_everywhere() -> list[Cell]:
    """Begin a small study in the open database, and ask for every page."""
    from live_hand_edits import SETTINGS, do
    from peerfront.web.live.operations.staff import begin_with_manager
    from peerfront.web.live.records.database import DatabaseRecords
    from peerfront.web.live.rules import requests
    from peerfront.web.live.rules.events import PaymentKind, PlannedCoupons

    begin_with_manager(SETTINGS, {"north": "North clinic", "south": "South street"}, "boss")
    names = {"north": "zora", "south": "quinn"}
    for site, person in names.items():
        do(requests.AddSeed(f"{person}-seed"), site=site)
        do(requests.RecordAnswers(f"{person}-seed", 10, ()), site=site)

    def plan() -> int:
        people = [each for name in names.values() for each in (f"{name}-seed", name)]
        known = [each for each in people if DatabaseRecords().person(each) is not None]
        lines = tuple(PlannedCoupons(each, 2, "all", 0.5, "expected") for each in known)
        number: int = do(requests.ProposePlan("none", 7, lines), site=None).plan
        return number

    do(requests.ApprovePlan(plan()), site=None)
    seeds = {site: do(requests.IssueCoupons(f"{person}-seed"), site=site).codes[0] for site, person in names.items()}
    for site, person in names.items():
        do(requests.EnrolPerson(seeds[site], person), site=site)
        do(requests.RecordAnswers(person, 10, ()), site=site)
        do(requests.Pay(seeds[site], PaymentKind.INTERVIEW), Role.CASHIER, site=site)
    do(requests.ApprovePlan(plan()), site=None)
    people = {
        site: (person, do(requests.IssueCoupons(person), site=site).codes[0], seeds[site])
        for site, person in names.items()
    }
    _job()
    about = About(people, plan())
    clients: dict[tuple[tuple[Role, ...] | None, str | None], Any] = {}

    def client(roles: tuple[Role, ...] | None, site: str | None) -> Any:
        if roles is None:
            return _client(None, None)
        if (roles, site) not in clients:
            clients[roles, site] = _client(roles, site)
        return clients[roles, site]

    return [cell for page in pages() for cell in walk(page, about, client)]


def _job() -> None:
    from django.utils import timezone

    from peerfront.web.live.records.models import PlanningJob

    PlanningJob.objects.create(pk=1, asked_by="boss", asked_at=timezone.now(), state="done")


def _client(roles: tuple[Role, ...] | None, site: str | None) -> Any:
    from importlib import import_module

    from django.contrib.auth.models import User
    from django.test import Client

    from peerfront.web.live.records.models import Member
    from peerfront.web.live.rules.actions import roles_text

    import_module("peerfront.web.live.operations.middleware")  # as a server does; it notes when a login begins
    client = Client(SERVER_NAME="127.0.0.1", raise_request_exception=False)
    if roles is None:
        return client
    user = User.objects.create(username=f"user{User.objects.count()}", password="!")
    Member.objects.create(user=user, roles=roles_text(roles), site_id=site)
    client.force_login(user, backend="peerfront.web.live.screens.staff_requests.StaffBackend")
    if site is None:  # with a role for all sites they work at the first one
        session = client.session
        session["work_site"] = "north"
        session.save()
    return client
