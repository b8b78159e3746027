"""Pages of a right-to-left language in a real browser: mirrored, not too wide, codes still from left to right.

Arabic shows how they look; a made-up language, in which every sentence is translated, what cannot be translated.
"""

import re

import pytest
from demo_pages import demo_pages, logged_in
from django.conf import settings
from live_client import served
from made_up_language import CODE, mirrored, spoken

from peerfront.web.live.records import models
from peerfront.web.live.records.database import DatabaseRecords

LEFT_OVER = '<p id="left">Not in the catalogue.</p><p id="right">القسيمة ABC</p></main>'
SIZES = {"tablet": (820, 1180), "phone": (390, 844)}
TEXTS = """() => {
  const skipped = "script, noscript, bdi, code, pre, option, textarea, legend, .code, .hash, [hidden]";
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), found = [];
  while (walker.nextNode())
    if (!walker.currentNode.parentElement.closest(skipped)) found.push(walker.currentNode.textContent.trim());
  return found;
}"""
NAMES = re.compile(
    "\u2068[^\u2069]*\u2069"  # what was typed, within a sentence
    r"|Made-up study|North clinic|Harbour office|same-for-all|peerfront|[A-Za-z]+\.(csv|toml|txt)"
    r"|\b(north|harbour|interviewer|coordinator|cashier|analyst|manager|investigator)\b"
)
"""What stays in Latin letters: names that people gave, files, currencies."""


@pytest.fixture(scope="module")
def made_up(demo, tmp_path_factory):
    with spoken(tmp_path_factory.mktemp("locale")):
        yield


def _page(chromium, address: str, size: str, user: str, language: str = "ar"):
    width, height = SIZES[size]
    context = chromium.new_context(viewport={"width": width, "height": height})
    context.add_cookies([{"name": settings.LANGUAGE_COOKIE_NAME, "value": language, "url": address}])
    if user:
        session = logged_in(user).cookies[settings.SESSION_COOKIE_NAME]
        context.add_cookies([{"name": session.key, "value": session.value, "url": address}])
    return context.new_page()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    "user", ["", "interviewer-north", "cashier", "coordinator", "analyst", "manager", "investigator"]
)
def test_every_page_is_mirrored_and_fits(chromium, demo, user, size) -> None:
    with served() as address:
        page = _page(chromium, address, size, user)
        for each in demo_pages()[user]:
            page.goto(address + each)
            assert page.evaluate("[document.documentElement.lang, document.documentElement.dir]") == ["ar", "rtl"], each
            wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
            assert wide <= 0, (each, wide)
            brand, links = (page.locator(f".top {part}").first.bounding_box() for part in (".brand", "nav"))
            assert brand["x"] + brand["width"] > SIZES[size][0] / 2, each  # the first thing stands on the right
            assert links is None or links["x"] <= brand["x"] + brand["width"], each
            for code in page.locator(".code").all()[:3]:
                assert code.evaluate("(each) => getComputedStyle(each).direction") == "ltr", each
        page.context.close()


def test_nothing_is_left_in_latin_letters(chromium, made_up) -> None:
    """The made-up language translates every sentence, so what it does not reach is not translatable."""
    typed = _typed()
    with served() as address:
        for user, addresses in demo_pages().items():
            page = _page(chromium, address, "tablet", user, CODE)
            for each in addresses:
                page.goto(address + each)
                texts = set(page.evaluate(TEXTS)) - typed
                assert [text for text in texts if re.search("[a-z]{3}", NAMES.sub("", text))] == [], each
            page.context.close()


def _typed() -> set[str]:
    """What people typed, and answers: shown as they are stored."""
    study = DatabaseRecords().study()
    reasons = models.Coupon.objects.exclude(why_void="").values_list("why_void", flat=True)
    return {text for each in study.settings.questions for text in (each.text, *each.choices)} | set(reasons)


def test_a_code_reads_from_left_to_right_within_a_sentence(chromium, demo) -> None:
    with served() as address:
        page = _page(chromium, address, "tablet", "interviewer-north")
        page.goto(address + next(each for each in demo_pages()["interviewer-north"] if "enrol" in each))
        code = page.locator("h1, p, .verdict").locator(".code").first
        first, last = code.evaluate(
            """(each) => {
              const text = each.firstChild, range = document.createRange();
              const place = (at) => {
                range.setStart(text, at);
                range.setEnd(text, at + 1);
                return range.getBoundingClientRect().x;
              };
              return [place(0), place(text.length - 1)];
            }"""
        )
        assert first < last
        assert page.locator("input[name=key]").count()
        page.goto(f"{address}/arrive/")
        assert page.locator("input.scan").evaluate("(each) => getComputedStyle(each).direction") == "ltr"
        page.context.close()


def test_a_page_says_that_its_language_is_by_a_machine(demo) -> None:
    told = "Machine translation, not yet checked by a speaker."
    for language, said in {"ar": True, "es": False, "en": False}.items():
        page = logged_in("cashier").get("/pay/", headers={"accept-language": language}).content.decode()
        assert (f'<span lang="en" dir="ltr">{told}</span>' in page) is said
        assert ("ترجمة آلية لم يراجعها متحدث بعد." in page) is said


def test_sentences_that_are_not_translated_are_marked_as_english(chromium, demo) -> None:
    with served() as address:
        page = _page(chromium, address, "tablet", "cashier")
        page.route("**/pay/", lambda route: route.fulfill(body=route.fetch().text().replace("</main>", LEFT_OVER)))
        page.goto(f"{address}/pay/")
        assert page.locator("#left").get_attribute("lang") == "en"
        assert page.locator("#left").evaluate("(each) => getComputedStyle(each).unicodeBidi") == "plaintext"
        assert page.locator("#right").get_attribute("lang") is None
        page.context.close()


def test_the_made_up_language_keeps_values() -> None:
    assert mirrored("Abc <b>%(code)s</b> d {name}: 95%%") == "אבג <b>%(code)s</b> ד {name}: 95%%"
