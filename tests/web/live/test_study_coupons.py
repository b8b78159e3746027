"""The board and the page of a coupon: counts, filters, life, and what a coordinator does; who sees what."""

import re
from datetime import timedelta

import pytest
from django.urls import reverse
from played_study import PLAYED, PlayedStudy

from peerfront.web.live.operations.verification import verify
from peerfront.web.live.records import models
from peerfront.web.live.records.database import link_of, row_of
from peerfront.web.live.rules.actions import Role
from peerfront.web.live.rules.codes import shown_code
from peerfront.web.live.rules.events import CouponScanned, ImportedCoupon, PaymentKind
from peerfront.web.live.rules.records import CouponRow
from peerfront.web.live.rules.requests import (
    AcceptClock,
    ExtendCoupon,
    ImportedPerson,
    ImportPeople,
    Pay,
    ScanCoupon,
    VoidCoupon,
)
from peerfront.web.live.screens.coupon_board import (
    EXPIRING,
    STATES,
    CouponState,
    counts_by_state,
    in_state,
    shown_state,
    state_of,
)
from peerfront.web.live.screens.coupon_page import events_about
from peerfront.web.live.screens.page_frame import study_or_404, today_of


def _handed_out():
    return models.Coupon.objects.exclude(holder=None)


def _unused(site="north"):
    return _handed_out().filter(redemption=None, voided_at=None, site=site).order_by("-issued_at", "code").first()


def _key(answer) -> str:
    return re.search(r'name="key" value="([^"]+)"', answer.content.decode())[1]


@pytest.mark.usefixtures("one_database")
def test_every_coupon_is_in_one_state_and_queries_agree_with_the_rule() -> None:
    study = PlayedStudy().play(weeks=5)
    void = _unused()
    study.do(VoidCoupon(void.code, "lost"), site="north")
    first = _handed_out().order_by("issued_at").first()
    for today in (first.first_day - timedelta(days=1), first.first_day, first.last_day + timedelta(days=1)):
        counts = counts_by_state(study_or_404(), today)[None]
        assert sum(counts[state] for state in CouponState) == _handed_out().count()
        for state in STATES:
            found = set(_handed_out().filter(in_state(state, today)).values_list("pk", flat=True))
            by_rule = {
                each.code
                for each in _handed_out().select_related("redemption")
                if state
                in (
                    state_of(row_of(CouponRow, each), hasattr(each, "redemption"), today),
                    shown_state(row_of(CouponRow, each), hasattr(each, "redemption"), today),
                )
            }
            assert found == by_rule, (state, today)
            assert counts[state] == len(found)
    assert counts_by_state(study_or_404(), today_of(study_or_404()))[None][CouponState.VOID] == 1
    assert set(_handed_out().filter(in_state(EXPIRING, today))) <= set(
        _handed_out().filter(in_state(CouponState.VALID, today))
    )


@pytest.mark.usefixtures("one_database")
def test_the_board_counts_filters_and_pages() -> None:
    study = PlayedStudy().play(weeks=6)
    client = study.client(Role.COORDINATOR)
    page = client.get("/coupons/")
    issued, kept = _handed_out().count(), models.Study.objects.get().kept
    assert f"{issued} coupons handed out + {kept} kept = budget of {PLAYED.budget}." in page.content.decode()
    assert issued > 50
    assert len(page.context["coupons"]) == 50
    seen = {
        each.row.code for number in (1, 2, 3, 4) for each in client.get(f"/coupons/?page={number}").context["coupons"]
    }
    assert seen == set(_handed_out().values_list("pk", flat=True))  # the last page is shown for those after it
    used = client.get("/coupons/?state=used&site=south").context
    assert (
        used["page"].paginator.count
        == models.Redemption.objects.exclude(coupon__holder=None).filter(coupon__site="south").count()
    )
    code = _handed_out().first().code
    for typed in (shown_code(code), code[:6].lower(), f" {shown_code(code)} "):
        found = client.get("/coupons/", {"search": typed}).context["coupons"]
        assert code in {each.row.code for each in found}
    assert client.get("/coupons/", {"search": "<script>", "state": "x", "page": "-7"}).status_code == 200


@pytest.mark.usefixtures("one_database")
def test_somebody_of_a_site_sees_the_coupons_of_the_site_alone() -> None:
    study = PlayedStudy().play(weeks=3)
    client = study.client(Role.INTERVIEWER, "south")
    shown = client.get("/coupons/?site=north").context
    assert {each.row.site_id for each in shown["coupons"]} == {"south"}
    other = _unused("north")
    assert client.get(f"/coupons/{other.code}/").status_code == 404
    assert client.get("/coupons/", {"search": other.code}).context["page"].paginator.count == 0
    coordinator = study.client(Role.COORDINATOR, "south")
    for what in ("void", "extend"):
        assert coordinator.get(f"/coupons/{other.code}/{what}/").status_code == 404
        assert coordinator.post(f"/coupons/{other.code}/{what}/", {"key": "k", "why": "x"}).status_code == 404
        assert client.get(f"/coupons/{_unused('south').code}/{what}/").status_code == 403  # an interviewer
    assert models.Coupon.objects.get(pk=other.code).voided_at is None


@pytest.mark.usefixtures("one_database")
def test_the_life_of_a_coupon_is_told_in_order() -> None:
    study = PlayedStudy().play(weeks=2)
    coupon = _unused("north")
    study.do(ExtendCoupon(coupon.code, coupon.last_day + timedelta(days=9), "holder was ill"), site="north")
    study.do(ScanCoupon(coupon.code), site="north")
    study.do(VoidCoupon(coupon.code, "lost <b>again</b>"), site="north")
    study.ask(ScanCoupon(coupon.code), site="south")
    page = study.client(Role.COORDINATOR).get(f"/coupons/{coupon.code}/")
    told = [moment.what for moment in page.context["life"]]
    assert [each.split()[0] for each in told] == ["Handed", "Extended", "Scanned", "Made", "Refused"]
    text = page.content.decode()
    assert coupon.holder_id in told[0]
    assert "By the approved plan" in text
    assert "lost &lt;b&gt;again&lt;/b&gt;" in text
    assert "was made void on" in text
    of_site = study.client(Role.INTERVIEWER, "north").get(f"/coupons/{coupon.code}/").content.decode()
    assert "Shown at another site." in of_site
    used = models.Redemption.objects.exclude(coupon__holder=None).first()
    told = [moment.what for moment in study.client(Role.COORDINATOR).get(f"/coupons/{used.coupon_id}/").context["life"]]
    assert told[0].startswith("Handed out")
    assert told[1] == "Valid from this day on."
    assert told[2].startswith(f"Enrolled {used.person_id} with coupon")


@pytest.mark.usefixtures("one_database")
def test_a_coupon_is_made_void_once_however_often_the_form_is_sent() -> None:
    study = PlayedStudy().play(weeks=1)
    coupon = _unused()
    client = study.client(Role.COORDINATOR, "north")
    address = f"/coupons/{coupon.code}/void/"
    form = {"key": _key(client.get(address)), "why": ""}
    assert "This field is required" in client.post(address, form).content.decode()
    form["why"] = "lost on the bus"
    for _ in range(2):
        assert client.post(address, form).headers["Location"] == f"/coupons/{coupon.code}/"
    assert models.Event.objects.filter(kind="coupon_voided").count() == 1
    again = client.post(address, {"key": _key(client.get(address)), "why": "typed in vain"})
    assert "was made void on" in again.content.decode()
    assert "typed in vain" in again.content.decode()  # nothing typed is lost
    assert verify().whole


@pytest.mark.usefixtures("one_database")
def test_a_coupon_is_extended_to_a_later_day_only() -> None:
    study = PlayedStudy().play(weeks=1)
    coupon = _unused()
    client = study.client(Role.COORDINATOR)
    address = f"/coupons/{coupon.code}/extend/"
    page = client.get(address)
    sooner = {"key": _key(page), "why": "ill", "last_day": coupon.last_day.isoformat()}
    refused = client.post(address, sooner)
    assert "is valid until" in refused.content.decode()
    assert _key(refused) != sooner["key"]
    later = coupon.last_day + timedelta(days=60)
    client.post(address, {"key": _key(refused), "why": "ill", "last_day": later.isoformat()})
    assert models.Coupon.objects.get(pk=coupon.code).last_day == later


@pytest.mark.usefixtures("one_database")
def test_codes_of_another_system_have_pages_too() -> None:
    study = PlayedStudy()
    at = study.now - timedelta(days=9)
    codes = ("AB/12 3", "?X#1", "VOID")
    coupons = tuple(ImportedCoupon(code, at, at.date(), at.date() + timedelta(days=90), void=False) for code in codes)
    person = ImportedPerson("ana", "north", "", None, at, 7, (("age", "34"),), coupons)
    study.do(ImportPeople((person,), "old.xlsx"), site=None)
    client = study.client(Role.COORDINATOR)
    for code in codes:
        page = client.get(reverse("coupon", args=[code]))
        assert page.context["coupon"].code == code
        assert page.context["life"][-1].what == "Imported ana."
        address = reverse("void_coupon", args=[code])
        assert client.post(address, {"key": _key(client.get(address)), "why": "old"}).status_code == 302
        assert models.Coupon.objects.get(pk=code).voided_at is not None
        found = client.get("/coupons/", {"search": code[:2].lower()}).context["coupons"]
        assert code in {each.row.code for each in found}


@pytest.mark.usefixtures("one_database")
def test_the_life_of_a_coupon_is_all_that_was_recorded_about_it() -> None:
    study = PlayedStudy().play(weeks=5)
    used = models.Redemption.objects.exclude(coupon__holder=None).order_by("coupon").first()
    other, void = _unused(), _unused("south")
    study.do(VoidCoupon(void.code, "lost"), site="south")
    study.do(Pay(used.coupon_id, PaymentKind.INTERVIEW), site=used.person.site_id)
    for code in (used.coupon_id, other.code, void.code):
        study.ask(ScanCoupon(code), site="north")
    study.do(ExtendCoupon(other.code, other.last_day + timedelta(days=90), "asked for"), site="north")
    study.ask(ScanCoupon(other.code), site="north")
    seed = models.Coupon.objects.filter(holder=None).first()
    for code in (used.coupon_id, other.code, void.code, seed.code):
        stored = models.Event.objects.filter(data__contains=f'"{code}"').order_by("number")
        coupon = row_of(CouponRow, models.Coupon.objects.get(pk=code))
        assert events_about(coupon) == [link_of(each).event for each in stored]


@pytest.mark.usefixtures("one_database")
def test_a_scan_after_the_clock_was_put_back_is_in_the_life_of_the_coupon() -> None:
    study = PlayedStudy().play(weeks=2)
    stored = _unused()
    coupon = row_of(CouponRow, stored)
    study.clock = coupon.issued_at - timedelta(hours=12)
    models.Coupon.objects.filter(pk=stored.pk).update(first_day=study.clock.date() - timedelta(days=1))
    study.do(AcceptClock("it was ahead"), site=None)
    study.do(ScanCoupon(coupon.code), site="north")
    assert isinstance(events_about(coupon)[-1].fact, CouponScanned)
