"""The study's own text on its coupons: typed, seen on each paper, saved with a reason, printed, and measured."""

import re
from dataclasses import replace
from itertools import product

import pytest
from accessible import grave_findings
from django.conf import settings as django_settings
from field_study import FIELD_SETTINGS, FieldStudy, form_with, words_of
from live_client import served

from peerfront.web.live.operations import demo
from peerfront.web.live.operations.verification import verify
from peerfront.web.live.records import models
from peerfront.web.live.records.database import DatabaseRecords
from peerfront.web.live.rules.actions import Role
from peerfront.web.live.rules.deciding import Refused
from peerfront.web.live.rules.refusals import Reason
from peerfront.web.live.rules.requests import ChangeSettings
from peerfront.web.live.rules.study_settings import COUPON_LENGTHS, CouponText
from peerfront.web.live.screens.coupon_text import PAPERS, fit_of, height_of, lines_of

PAGE = "/settings/coupons/"
USUAL = {
    "title": "Health & <i>harbour</i>",
    "text": "An interview of 40 minutes about your health.\nNo names: nobody learns what you said.",
    "reward": "EUR 20 for your time",
    "address": "12 Harbour Street, second floor",
    "hours": "Monday to Friday, 9 to 17",
    "telephone": "+351 21 555 0100",
    "below": "Bring this coupon with you.",
}
_WORDS = "Taking part takes about forty minutes, and answers are kept. " * 6
LONG = {name: _WORDS[:most].strip() for name, most in COUPON_LENGTHS.items() if name != "language"}
SHORT = {"text": "Come on any day.", "telephone": "555-0199"}


def _save(client, texts: dict[str, str], language: str = "", why: str = "the board agreed"):
    address = f"{PAGE}?language={language}"
    form = form_with(client.get(address), "telephone")
    return client.post(address, {**form.fields, **texts, "why": why, "save": "yes"})


def _printed(study: FieldStudy, extra: str = "") -> str:
    """The part of the page with a person's coupons."""
    client = study.client(Role.INTERVIEWER, "north")
    form = form_with(client.get("/people/ana/hand-out/"), "decided")
    place = client.post("/people/ana/hand-out/", form.fields)["Location"]
    text = client.get(place + extra).content.decode()
    return text[text.index('class="coupons ') : text.index("</main>")]


@pytest.mark.usefixtures("one_database")
def test_text_is_seen_before_it_is_saved_then_printed_and_in_the_audit() -> None:
    study = FieldStudy()
    study.seed("ana")
    study.approve(ana=2)
    manager = study.client(Role.MANAGER)
    form = form_with(manager.get(PAGE), "telephone")
    seen = words_of(manager.post(PAGE, {**form.fields, **USUAL, "preview": "yes"}))
    assert seen.count("EUR 20 for your time") == 3, "on each paper"
    assert "8 on a page" in seen
    assert DatabaseRecords().study().settings.coupon_texts == ()
    assert _save(manager, USUAL, why="").status_code == 200
    assert not models.Event.objects.filter(kind="settings_changed").exists(), "without a reason"
    assert _save(manager, USUAL).status_code == 302
    assert DatabaseRecords().study().settings.coupon_texts == (CouponText(**USUAL),)
    printed = _printed(study)
    for name, text in USUAL.items():
        if name not in ("title", "text"):
            assert printed.count(text) == 2, name
    assert "Health &amp; &lt;i&gt;harbour&lt;/i&gt;" in printed
    assert "Bring this coupon to North clinic" not in printed
    assert "ana" not in printed, "who handed it on does not stand on it"
    assert len(re.findall("Valid from", printed)) == 2
    shown = words_of(manager.get("/audit/?kind=settings_changed"))
    assert "EUR 20 for your time" in shown
    assert "the board agreed" in shown
    assert verify().whole


@pytest.mark.usefixtures("one_database")
def test_a_study_without_own_text_prints_as_before() -> None:
    study = FieldStudy()
    study.seed("ana")
    study.approve(ana=1)
    printed = _printed(study)
    assert "Bring this coupon to North clinic on one of these days" in printed
    assert 'class="coupon own"' not in printed


@pytest.mark.usefixtures("one_database")
def test_other_settings_keep_the_text_and_an_empty_text_is_none() -> None:
    study = FieldStudy()
    manager = study.client(Role.MANAGER)
    _save(manager, SHORT)
    form = form_with(manager.get("/settings/"), "budget")
    answered = manager.post("/settings/", {**form.fields, "name": "Another name", "why": "it changed"})
    assert answered.status_code == 302, words_of(answered)
    settings = DatabaseRecords().study().settings
    assert (settings.name, settings.coupon_texts) == ("Another name", (CouponText(**SHORT),))
    _save(manager, dict.fromkeys(SHORT, ""))
    assert DatabaseRecords().study().settings.coupon_texts == ()


@pytest.mark.usefixtures("one_database")
def test_each_language_has_its_text_and_the_others_that_for_all() -> None:
    study = FieldStudy()
    study.seed("ana")
    study.approve(ana=1)
    manager = study.client(Role.MANAGER)
    _save(manager, {"text": "For all"})
    _save(manager, {"text": "Para ti"}, "es")
    settings = DatabaseRecords().study().settings
    assert [settings.coupon_text(each).text for each in ("", "es", "ar")] == ["For all", "Para ti", "For all"]
    printed = _printed(study, "&language=es")
    assert "Para ti" in printed
    assert 'lang="es" dir="ltr"' in printed
    assert "Válido" in printed or "Valid from" not in printed, "days are in the language of the coupon"
    assert replace(settings, coupon_texts=settings.coupon_texts[1:]).coupon_text("ar").text == "Para ti"
    assert manager.get(f"{PAGE}?language=xx").status_code == 200


@pytest.mark.usefixtures("one_database")
def test_what_is_too_long_or_twice_or_changed_meanwhile_is_refused() -> None:
    study = FieldStudy()
    manager = study.client(Role.MANAGER)
    form = form_with(manager.get(PAGE), "telephone")
    refused = _save(manager, {"telephone": "5" * 41, "hours": "9 to 17"})
    assert refused.status_code == 200
    assert "9 to 17" in refused.content.decode(), "nothing typed is lost"
    texts = (CouponText(text="x" * 301),), (CouponText("es"), CouponText("es", "again"))
    for each, reason in zip(texts, (Reason.TEXT_LENGTH, Reason.TWICE), strict=True):
        answered = study.ask(ChangeSettings(replace(FIELD_SETTINGS, coupon_texts=each), "why"))
        assert isinstance(answered, Refused)
        assert answered.refusal.reason is reason
    _save(manager, SHORT)
    late = manager.post(PAGE, {**form.fields, "text": "mine", "why": "late", "save": "yes"})
    assert "Somebody changed the settings" in words_of(late)
    assert study.client(Role.COORDINATOR).get(PAGE).status_code == 403


@pytest.mark.usefixtures("one_database")
def test_a_text_that_does_not_fit_is_warned_about() -> None:
    manager = FieldStudy().client(Role.MANAGER)
    form = form_with(manager.get(PAGE), "telephone")
    seen = words_of(manager.post(PAGE, {**form.fields, **LONG}))
    assert "shorten the text" in seen
    assert "4 on a page" in seen


@pytest.mark.usefixtures("one_database")
def test_heights_are_those_of_a_browser(chromium) -> None:
    """Within 3 mm or a tenth."""
    study = FieldStudy()
    client = study.client(Role.MANAGER)
    with served() as address:
        context = chromium.new_context(viewport={"width": 1366, "height": 768})
        cookie = client.cookies[django_settings.SESSION_COOKIE_NAME]
        context.add_cookies([{"name": cookie.key, "value": cookie.value, "url": address}])
        page = context.new_page()
        for texts in (SHORT, USUAL, LONG):
            page.goto(address + PAGE)
            for name, text in texts.items():
                page.fill(f"[name={name}]", text)
            page.get_by_role("button", name="Preview").click()
            page.locator(".coupon.own").first.wait_for()
            assert grave_findings(page) == []
            for layout in ("a4", "letter", "label"):
                measured = page.locator(f".coupons.{layout} .coupon").evaluate("e => e.offsetHeight") / 96 * 25.4
                estimated = height_of(CouponText(**texts), "Harbour study", "North clinic", layout)
                assert estimated == pytest.approx(measured, abs=3, rel=0.1), (layout, texts)
        for width in (820, 390):
            page.set_viewport_size({"width": width, "height": 844})
            assert page.evaluate("document.documentElement.scrollWidth") <= width
        context.close()


def test_how_many_fit_on_a_page() -> None:
    assert (lines_of("a" * 40, 3, 60), lines_of("健" * 40, 3, 60), lines_of("a\nb", 3, 60)) == (2, 2, 2)
    assert lines_of("健" * 41, 3, 60) == 3
    assert fit_of(62, "a4").on_page == 8
    assert fit_of(70, "a4").on_page == 6
    assert fit_of(60, "letter").on_page == 8
    assert (fit_of(96, "label").too_long, fit_of(99.2, "label").too_long) == (0, 4)


def test_the_coupons_of_the_made_up_study_fit_every_paper() -> None:
    for site, layout in product(demo.SITES.values(), PAPERS):
        height = height_of(demo.SETTINGS.coupon_texts[0], demo.SETTINGS.name, site, layout)
        assert fit_of(height, layout).too_long == 0, (site, layout)
