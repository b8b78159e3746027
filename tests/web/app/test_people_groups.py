"""The people of a sheet by number of coupons: reasons said once, pages, search; a large sheet stays small."""

from itertools import count

import pytest
from app_client import running_app

from peerfront.web.app.app_folder import AppFolder, write_data
from peerfront.web.app.people_groups import PER_PAGE, sheet_people
from peerfront.words.language import say


def sheet_of(*coupons: int, reasons=((1, 2),)) -> dict:
    """A result as `step_work` writes it: people in the order of the file, with reasons in turn."""
    texts = [(say("short {n}", n=short), say("whole {n}", n=whole)) for short, whole in reasons]
    people = [
        {"person": f"P{number:04d}", "coupons": coupons, "reason": number % len(texts)}
        for number, coupons in zip(count(), coupons, strict=False)
    ]
    return {"people": people, "reasons": texts}


def test_people_are_grouped_by_coupons_the_most_first() -> None:
    people = sheet_people(sheet_of(0, 3, 1, 3, 0))
    assert [(each.coupons, each.n_people) for each in people.groups] == [(3, 2), (1, 1), (0, 2)]
    assert [each.person for each in people.groups[0].people] == ["P0001", "P0003"]


def test_a_reason_that_all_share_is_said_once_and_others_are_counted() -> None:
    shared = sheet_people(sheet_of(2, 2, 2)).groups[0]
    assert shared.shared == "whole 2"
    (mixed,) = sheet_people(sheet_of(2, 2, 2, reasons=((1, 1), (1, 2), (3, 3)))).groups
    assert (mixed.shared, mixed.why) == (None, (("short 1", 2), ("short 3", 1)))
    many = sheet_people(sheet_of(*[1] * 10, reasons=[(n, n) for n in range(5)])).groups[0]
    assert (len(many.why), many.n_other) == (3, 4)


def test_a_search_finds_ids_in_any_case_and_an_older_result_shows_nobody() -> None:
    found = sheet_people(sheet_of(3, 1, 0), "p0001")
    assert [each.person for group in found.groups for each in group.people] == ["P0001"]
    assert found.few
    assert sheet_people(sheet_of(3), "nobody").groups == ()
    assert sheet_people({"people": [{"person": "P1", "coupons": 1, "reason": "text"}]}) is None


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """An app with a sheet of 3,000 people."""
    folder = AppFolder(tmp_path_factory.mktemp("large") / "study")
    (folder.path / "model").mkdir()
    for name in ("model/manifest.json", "sheet.csv"):
        (folder.path / name).write_text("{}")
    result = sheet_of(*(n % 3 for n in range(3000)), reasons=[(n % 7, n) for n in range(600)])
    order = {"file": "files/study.csv", "budget": 4000, "date": "2026-03-02"}
    result |= {"lines": [], "details": [], "curve": [], "outlook": None}
    write_data(folder.path / "app" / "sheet.json", {"work": "plan", "choices": order, "inputs": {}, "result": result})
    with running_app(folder.path) as running:
        yield running.client()


def test_3000_people_are_pages_of_200_and_each_is_found(large) -> None:
    page = large.get("/sheet/")
    assert page.text.count("<bdi>P") == PER_PAGE
    assert len(page.body) < 120_000
    assert "2 coupons each : 1000 people" in page.words
    assert "Page 1 of 15" in page.words
    last = large.get("/sheet/?page=15")
    assert "None this round : 1000 people" in last.words
    assert "P2997" in last.words
    found = large.get("/sheet/?who=p2998")
    assert found.text.count("<bdi>P") == 1
    assert "whole 598" in found.words
    assert "Nobody on the sheet has an id with “<b>”." in large.get("/sheet/?who=<b>").words


def test_an_error_is_linked_to_its_field_and_gets_the_focus(large) -> None:
    page = large.post("/sheet/", {"budget": "", "date": "2026-03-02", "reserve": "-1"})
    assert 'tabindex="-1" autofocus' in page.text
    summary = page.text.split("autofocus")[1].split("</ul>")[0]
    assert 'href="#id_budget"><span><bdi>Coupons left</bdi>' in summary
    assert 'href="#id_reserve"><span><bdi>Coupons to keep back for good</bdi>' in summary
    folded = page.text.split("More choices")[0].rpartition("<details")[2]
    assert " open" in folded, "a field with an error is not folded away"
