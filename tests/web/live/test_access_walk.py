"""Every page, for every role, at one's own site, at another one and for the whole study: what the table says, happens.

The pages come from `access.PAGES` and the addresses themselves; what is expected comes from `rules.actions` alone.
"""

import re

import pytest
from django.test import Client
from django.urls import URLPattern, get_resolver, reverse
from django.utils import timezone
from live_client import LiveStudy

from peerfront.web.live.records.models import Person, PlanningJob
from peerfront.web.live.rules.actions import Role, Scope, is_allowed
from peerfront.web.live.rules.events import PaymentKind
from peerfront.web.live.rules.requests import Pay
from peerfront.web.live.screens.staff_requests import PAGES, Audience

OPEN = {200, 302, 405, 410}  # shown, sent elsewhere on the site, wants a form (POST), or a link that has ended
CLOSED = {403, 404}
OF_A_SITE = {"person", "code"}
"""Parameters of addresses that name something of one site."""
SAMPLES = {
    "backup_file": {"name": "backup-20260101T000000Z.zip"},
} | {page: {"number": 2} for page in ("plan_number", "plan_sheet", "change_plan", "approve_plan", "stop_plan")}
"""What addresses of some pages name; otherwise it is ana, her coupon, and number 1."""


@pytest.fixture(scope="module")
def study(django_database):
    """Somebody with coupons at the site north, and a proposed plan."""
    made = LiveStudy()
    made.seed("ana", "north")
    made.seed("ben", "south")
    made.approve(ana=2)
    made.issue("ana")
    made.plan(ben=1)
    made.do(Pay(made.state.person("ana").code, PaymentKind.INTERVIEW))
    made.user(Role.MANAGER)
    PlanningJob.objects.create(pk=1, asked_by="coordinator-all", asked_at=timezone.now(), state="done")
    return made


@pytest.fixture(scope="module")
def django_database():
    from django_site import empty_database, use_database

    use_database(empty_database("sqlite"))
    yield
    use_database({"NAME": ":memory:", "ENGINE": "django.db.backends.sqlite3"})


def _patterns() -> dict[str, URLPattern]:
    return {each.name: each for each in get_resolver().url_patterns}


def _address(page: str, study: LiveStudy) -> str | None:
    """The address of a page, about ana and her first coupon; None for a page that is not built."""
    pattern = _patterns().get(page)
    if pattern is None:
        return None
    (code, *_) = (each.code for each in study.state.coupons_of("ana"))
    samples = {"person": "ana", "code": code, "number": 1, "token": "none"} | SAMPLES.get(page, {})
    names = list(pattern.pattern.converters)
    assert set(names) <= samples.keys(), f"Give the walk a sample for {page}: {names}"
    query = {"receipt": {"code": study.state.person("ana").code, "kind": "interview"}}.get(page)
    return reverse(page, kwargs={name: samples[name] for name in names}, query=query)


SEVERAL = ((Role.INTERVIEWER, Role.CASHIER, Role.COORDINATOR), (Role.ANALYST, Role.MANAGER), tuple(Role))
"""Roles of one login; `test_permissions_table` goes through all sets of roles."""


def _expected(page: str, role: Role | tuple[Role, ...], site: str | None) -> bool:
    """Whether somebody of some roles for a site (None for all) may open the page about ana, who is at north."""
    needed = PAGES[page]
    if isinstance(needed, Audience):
        return True
    concerned_site = bool(OF_A_SITE & set(_patterns()[page].pattern.converters)) or page == "receipt"
    own = site is None or (needed.declared.scope is not Scope.STUDY and (site == "north" or not concerned_site))
    return any(is_allowed(needed, each, own_site=own) for each in ((role,) if isinstance(role, Role) else role))


@pytest.mark.parametrize("page", sorted(PAGES))
@pytest.mark.parametrize("role", [*Role, *SEVERAL], ids=str)
@pytest.mark.parametrize("site", [None, "north", "south"])
def test_roles_open_what_the_table_allows(study, page, role, site) -> None:
    address = _address(page, study)
    if address is None or page == "logout":
        pytest.skip("not built, or ends the login")
    response = study.client(role, site).get(address)
    if _expected(page, role, site):
        assert response.status_code in OPEN, f"{page} is closed for {role} of {site}"
        assert page == "login" or not _is_login(response)
    else:
        assert response.status_code in CLOSED, f"{page} is open for {role} of {site}"
        assert "ana" not in _main(response)


@pytest.mark.parametrize("page", sorted(PAGES))
def test_forms_are_refused_like_their_pages(study, page) -> None:
    address = _address(page, study)
    if address is None or isinstance(PAGES[page], Audience):
        pytest.skip("not built, or for everybody")
    before = Person.objects.count()
    for role in (*Role, *SEVERAL):
        for site in (None, "north", "south"):
            if not _expected(page, role, site):
                response = study.client(role, site).post(address, {})
                assert response.status_code in CLOSED, f"{page} takes a form of {role} of {site}"
    assert Person.objects.count() == before


@pytest.mark.parametrize("page", sorted(PAGES))
def test_nothing_is_shown_without_a_login(study, page) -> None:
    address = _address(page, study)
    if address is None:
        pytest.skip("not built")
    for response in (Client().get(address), Client().post(address, {})):
        if PAGES[page] is Audience.EVERYBODY:
            assert not _is_login(response) or page in ("login", "first_login")
        else:
            assert _is_login(response)
            assert "ana" not in _main(response)


def test_the_walk_sees_every_page() -> None:
    assert _patterns().keys() <= PAGES.keys()


def _is_login(response) -> bool:
    return (response.status_code == 302 and response["Location"].startswith(reverse("login"))) or (
        response.status_code in (200, 403) and 'name="password"' in response.content.decode()
    )


def _main(response) -> str:
    """The page without its address and menu, in which a pseudonym would be no secret."""
    content = b"" if response.streaming else response.content
    found = re.search(r"<main.*</main>", content.decode(), re.S)
    words = re.sub(r'value="[^"]*"', "", found[0]) if found else ""
    return re.sub(r"\banalyst\b|\bmanager\b", "", words)
