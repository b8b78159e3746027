"""People of another site stay unnamed wherever a coupon leads from one site to another."""

import pytest
from field_study import FieldStudy, form_with, words_of
from small_live import imported

from peerfront.web.live.rules.actions import Role
from peerfront.web.live.rules.requests import EnrolPerson, ImportPeople


@pytest.mark.usefixtures("one_database")
def test_who_used_a_coupon_at_another_site_and_who_gave_it_are_not_named() -> None:
    study = FieldStudy()
    (code,) = study.coupons(1, holder="ana-of-north")
    study.enrol("bea-of-south", code, site="south")
    north, south = study.client(Role.INTERVIEWER, "north"), study.client(Role.INTERVIEWER, "south")
    for page in ("/coupons/", f"/coupons/{code}/", "/people/", "/people/ana-of-north/", "/trees/"):
        assert "bea-of-south" not in north.get(page).content.decode(), page
    for page in ("/coupons/", "/people/", "/people/bea-of-south/", "/trees/"):
        assert "ana-of-north" not in south.get(page).content.decode(), page
    everybody = study.client(Role.COORDINATOR)
    assert "bea-of-south" in everybody.get("/coupons/").content.decode()
    assert "ana-of-north" in everybody.get("/people/?search=bea").content.decode()


@pytest.mark.usefixtures("one_database")
def test_who_was_imported_with_a_coupon_at_another_site_is_not_named() -> None:
    study = FieldStudy()
    recruiter = imported("ana-of-north", None, "A1", "B1")
    recruit = imported("bea-of-south", "ana-of-north", "B1", site="south")
    study.do(ImportPeople((recruiter, recruit), "study.csv"), site=None)
    of_site = study.client(Role.COORDINATOR, "north").get("/coupons/B1/").content.decode()
    assert "bea-of-south" not in of_site
    assert "ana-of-north" in of_site
    assert "bea-of-south" in study.client(Role.COORDINATOR).get("/coupons/B1/").content.decode()


@pytest.mark.usefixtures("one_database")
@pytest.mark.parametrize("role", [Role.COORDINATOR, Role.ANALYST])
def test_a_plan_names_the_people_of_ones_own_site_and_counts_the_others(role: Role) -> None:
    study = FieldStudy()
    for person, site in (("ana-of-north", "north"), ("bea-of-south", "south"), ("cleo-of-south", "south")):
        study.seed(person, site)
    study.approve(**{"ana-of-north": 1, "bea-of-south": 3})
    plan = study.plan(**{"ana-of-north": 2, "bea-of-south": 1, "cleo-of-south": 3})
    pages = [f"/plan/{plan}/{each}" for each in ("", "sheet/", "sheet/?site=south", "sheet/?file=csv&site=south")]
    for page in ("/plan/", *pages):
        shown = study.client(role, "north").get(page).content.decode()
        assert "ana-of-north" in shown, page
        assert "of-south" not in shown, page
        everything = study.client(role).get(page).content.decode()
        assert "cleo-of-south" in everything, page
    totals = words_of(study.client(role, "north").get("/plan/"))
    assert "Waits for approval 3 6" in totals
    assert "South street: 2 people, coupons: 4" in totals
    assert "Planned for" not in words_of(study.client(role, "north").get(f"/plan/{plan}/change/?person=bea-of-south"))


@pytest.mark.usefixtures("one_database")
def test_what_people_of_all_sites_wrote_is_not_estimated_for_a_role_for_one_site() -> None:
    study = FieldStudy()
    for site, offered in (("north", {"area", "age"}), (None, {"area", "age", "work"})):
        client = study.client(Role.COORDINATOR, site)
        page = client.get("/estimates/").content.decode()
        assert {name for name in ("area", "age", "work") if f'value="{name}"' in page} == offered
        sent = client.post("/estimates/", {"key": f"of-{site}", "outcome": "work", "by": "-"})
        assert (sent.status_code == 302) == (site is None)


@pytest.mark.usefixtures("one_database")
def test_coming_again_tells_nothing_about_pseudonyms_of_other_sites() -> None:
    study = FieldStudy()
    code, other = study.coupons(2, holder="ana-of-north")
    study.seed("bea-of-south", "south")
    south = {"own_site": "south", "site": "south"}
    north = study.client(Role.INTERVIEWER, "north")
    form = form_with(north.get(f"/enrol/?code={code}"), "known")
    pages = [north.post(f"/enrol/?code={code}", form.fields | {"known": name}) for name in ("nobody", "bea-of-south")]
    words = [words_of(page) for page in pages]
    assert words[0] == words[1].replace("bea-of-south", "nobody"), "nobody there, or there at another site: the same"
    assert "takes part at your site" in words[1]
    assert "South street" not in words[1]
    for wish in (EnrolPerson(other, "ana-of-north"), EnrolPerson(code, "ana-of-north")):
        answer = study.ask(wish, **south)
        assert dict(answer.refusal.arguments) == {"person": "ana-of-north"}, "neither day nor site, nor whose coupon"
    everybody = study.client(Role.COORDINATOR)
    form = form_with(everybody.get(f"/enrol/?code={code}"), "known")
    assert "South street" in words_of(everybody.post(f"/enrol/?code={code}", form.fields | {"known": "bea-of-south"}))
