"""The live study in Spanish: no English sentence is left on a page, and everybody chooses their language."""

import re
from html.parser import HTMLParser

import polib
import pytest
from demo_pages import demo_pages, logged_in
from django.conf import settings
from django.test import override_settings
from field_study import form_with
from update_translations import LOCALE

READ = ("title", "aria-label", "alt", "placeholder")


class Said(HTMLParser):
    """What a page says: its texts and what is read aloud; not what the engine wrote in English."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._english = 0
        self.feed(html)

    def handle_starttag(self, tag, attrs) -> None:
        told = dict(attrs)
        self.texts += [told[name] for name in READ if told.get(name)]
        self._english = tag in ("script", "style") or told.get("lang") == "en"

    def handle_endtag(self, tag) -> None:
        self._english = False

    def handle_data(self, data) -> None:
        if not self._english and data.strip():
            self.texts.append(" ".join(data.split()))


@pytest.fixture(scope="module")
def english() -> dict[str, re.Pattern[str]]:
    """Sentences that differ in Spanish, with any values in them."""
    found = {}
    for entry in polib.pofile(str(LOCALE / "es" / "LC_MESSAGES" / "django.po")):
        spanish = list(entry.msgstr_plural.values()) if entry.msgid_plural else [entry.msgstr]
        for single in filter(None, (entry.msgid, entry.msgid_plural)):
            if single not in spanish and re.search("[a-z]{3}", single) and "<" not in single:
                parts = re.split(r"%\([^)]*\)[sd]|\{[^}]*\}", single.replace("%%", "%"))
                if any(len(part.strip()) > 5 for part in parts):
                    found[single] = re.compile(".+".join(map(re.escape, parts)))
    return found


def test_no_sentence_is_left_in_english(demo, english) -> None:
    typed_by_people = {
        "north",
        "another",
        "interviewer",
        "cashier",
        "coordinator",
        "analyst",
        "manager",
        "investigator",
        "none",
    }
    exact = {single for single in english if "%(" not in single and "{" not in single}
    filled = [pattern for single, pattern in english.items() if single not in exact]
    exact -= typed_by_people
    for user, addresses in demo_pages().items():
        client = logged_in(user)
        for address in addresses:
            page = client.get(address, headers={"accept-language": "es"})
            assert page.status_code == (404 if address == "/nowhere/" else 200), address
            html = page.content.decode()
            assert '<html lang="es" dir="ltr">' in html, address
            for text in Said(html).texts:
                assert text not in exact, (address, text)
                assert not any(pattern.fullmatch(text) for pattern in filled), (address, text)


def test_a_refusal_and_a_form_with_faults_are_spanish(demo) -> None:
    client = logged_in("interviewer-north")
    scan = form_with(client.get("/arrive/"), "key", "typed")
    typed = {**scan.fields, "typed": "never"}
    page = client.post("/arrive/", typed, headers={"accept-language": "es"}, follow=True).content.decode()
    assert "Ningún cupón tiene el código que se escribió." in page
    typed = {"old_password": "x", "new_password1": "a", "new_password2": "b"}
    page = client.post("/password/", typed, headers={"accept-language": "es"}).content.decode()
    assert re.search(r'<ul class="errorlist"[^>]*><li>[^<]*(contraseña|obligatorio)', page)


def test_the_language_is_chosen_on_a_page_and_stays(demo) -> None:
    client = logged_in("cashier")
    assert '<html lang="en"' in client.get("/pay/").content.decode()
    chosen = client.post("/language/", {"language": "es", "next": "/pay/"})
    assert (chosen.status_code, chosen["location"]) == (302, "/pay/")
    assert '<html lang="es"' in client.get("/pay/").content.decode()
    client.post("/language/", {"language": "xx", "next": "/pay/"})
    assert '<html lang="es"' in client.get("/pay/").content.decode()
    client.post("/language/", {"language": "en", "next": "/pay/"})
    assert '<html lang="en"' in client.get("/pay/", headers={"accept-language": "es"}).content.decode()


def test_the_study_has_a_language_for_those_who_chose_none(demo, tmp_path) -> None:
    from peerfront.web.live.folder import LiveFolder, Serving

    folder = LiveFolder(tmp_path / "study")
    folder.create(Serving(hosts=("localhost",), language="es"))
    with override_settings(LANGUAGE_CODE=folder.serving.language):
        assert '<html lang="es"' in logged_in("").get("/login/").content.decode()
        asked = logged_in("").get("/login/", headers={"accept-language": "en"}).content.decode()
        assert '<html lang="en"' in asked
    assert dict(settings.LANGUAGES)[folder.serving.language] == "Español"


def test_numbers_and_days_follow_the_language(demo) -> None:
    page = logged_in("cashier").get("/pay/", headers={"accept-language": "es"}).content.decode()
    assert "EUR\xa05,00" in page
    coupon = next(each for each in demo_pages()["coordinator"] if re.fullmatch("/coupons/[^/]+/", each))
    page = logged_in("coordinator").get(coupon, headers={"accept-language": "es"}).content.decode()
    assert re.search(r"\d+ de [a-z]+ de 20\d\d a \d+ de [a-z]+ de 20\d\d, ambos días incluidos", page)
