"""Catalogues of translations: nothing is missing, every value is kept, and what is compiled is what was written."""

import ast
import re

import polib
import pytest
from django.conf import settings
from django.template import engines
from django.templatetags.i18n import BlockTranslateNode, TranslateNode
from django.utils import translation
from update_translations import LOCALE, ROOMS, SOURCE, faulty, missing, sentences, update

from peerfront.web.live.screens.page_words import refusal_words, term
from peerfront.words import messages
from peerfront.words.language import LANGUAGES, MACHINE_MADE

COMPLETE = [code for code in LANGUAGES if code != "en"]
TRANSLATED = [*COMPLETE, *MACHINE_MADE]
LOOKED_UP = ("gettext", "gettext_lazy", "gettext_noop", "_", "say", "say_n", "tell", "warn")


def catalogue(language: str) -> polib.POFile:
    return polib.pofile(str(LOCALE / language / "LC_MESSAGES" / "django.po"))


def texts(entry: polib.POEntry) -> list[str]:
    return list(entry.msgstr_plural.values()) if entry.msgid_plural else [entry.msgstr]


def test_every_catalogue_is_offered() -> None:
    assert set(TRANSLATED) == {"es", "ar"} == {each.name for each in LOCALE.iterdir()}
    assert [code for code, _ in settings.LANGUAGES] == ["en", *TRANSLATED]


@pytest.mark.parametrize("language", COMPLETE)
def test_every_sentence_is_translated(language) -> None:
    assert missing(catalogue(language)) == []


def test_what_a_machine_translated_says_so() -> None:
    for language in MACHINE_MADE:
        assert catalogue(language).header == "Machine translation, not reviewed by a speaker."
        assert update(_path(language)).header == catalogue(language).header


@pytest.mark.parametrize("language", TRANSLATED)
def test_translations_name_the_same_values(language) -> None:
    assert faulty(catalogue(language)) == []
    assert {each.msgid for each in catalogue(language)} == {each.msgid for each in update(_path(language))}


@pytest.mark.parametrize("language", TRANSLATED)
def test_what_is_compiled_is_what_was_written(language) -> None:
    compiled = polib.mofile(str(LOCALE / language / "LC_MESSAGES" / "django.mo"))
    assert {(e.msgctxt, e.msgid): texts(e) for e in compiled} == {
        (e.msgctxt, e.msgid): texts(e) for e in catalogue(language).translated_entries()
    }


@pytest.mark.parametrize("language", TRANSLATED)
def test_translations_keep_markup_and_ends_of_sentences(language) -> None:
    for entry in catalogue(language).translated_entries():
        for text in texts(entry):
            assert sorted(re.findall(r"<[^>]+>", text)) == sorted(re.findall(r"<[^>]+>", entry.msgid)), entry.msgid
            assert (text[-1] in ".:?!؟") == (entry.msgid[-1] in ".:?!"), (entry.msgid, text)
            blanks = r"^\s*|\s*$"
            assert re.findall(blanks, text) == re.findall(blanks, entry.msgid), entry.msgid


@pytest.mark.parametrize("language", TRANSLATED)
def test_plural_forms_are_those_of_the_language(language) -> None:
    told = catalogue(language)
    forms = int(re.search(r"nplurals=(\d+)", told.metadata["Plural-Forms"])[1])
    assert all(len(each.msgstr_plural) == forms for each in told if each.msgid_plural)


def test_spanish_counts_as_spanish_does() -> None:
    with translation.override("es"):
        words = [translation.ngettext("%(number)s coupon", "%(number)s coupons", n) % {"number": n} for n in (0, 1, 2)]
    assert words == ["0 cupones", "1 cupón", "2 cupones"]


def test_arabic_has_six_forms() -> None:
    with translation.override("ar"):
        forms = [
            translation.ngettext("{n:,} coupon", "{n:,} coupons", n).format(n=n) for n in (0, 1, 2, 3, 10, 11, 100, 103)
        ]
    few, many = "قسائم", "قسيمة"
    assert forms == [
        "لا قسائم", "قسيمة واحدة", "قسيمتان", f"3 {few}", f"10 {few}", f"11 {many}", f"100 {many}", f"103 {few}"
    ]  # fmt: skip


def _path(language: str):
    return LOCALE / language / "LC_MESSAGES" / "django.po"


# Nothing is left out ------------------------------------------------------------------------------------------------


def _nodes(nodes):
    for node in nodes:
        yield node
        for _, inner in getattr(node, "conditions_nodelists", ()):
            yield from _nodes(inner)
        for name in getattr(node, "child_nodelists", ()):
            yield from _nodes(getattr(node, name, None) or ())


def _context(node) -> str | None:
    return None if node.message_context is None else node.message_context.resolve({})


def test_every_sentence_of_a_template_is_collected() -> None:
    from django.template.library import import_library

    engine = engines["django"].engine
    engine.template_builtins.append(import_library("peerfront.web.app.app_words"))
    known = {(context, single, plural) for context, single, plural in sentences()}
    found = set()
    for path in SOURCE.rglob("templates/**/*.html"):
        for node in _nodes(engine.from_string(path.read_text("utf-8")).nodelist):
            if isinstance(node, BlockTranslateNode):
                single, plural = node.render_token_list(node.singular)[0], node.render_token_list(node.plural)[0]
                assert "." not in "".join(re.findall(r"%\(([^)]*)\)", single)), f"{path}: {single} stays empty"
                found.add((_context(node), single, plural or None))
            elif isinstance(node, TranslateNode) and isinstance(literal := node.filter_expression.var.literal, str):
                found.add((_context(node), literal.replace("%", "%%"), None))
    assert len(found) > 700
    assert found - known == set()


def test_every_sentence_of_the_code_is_collected() -> None:
    known = {single for _, single, _ in sentences()}
    paths = [path for room in ROOMS for path in (SOURCE / room).rglob("*.py")]
    calls = [
        node
        for path in paths
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in LOOKED_UP and node.args
    ]
    told = {call.args[0].value for call in calls if isinstance(call.args[0], ast.Constant)}
    assert len(told) > 350
    assert told - known == set()


def test_no_template_says_anything_outside_the_catalogue() -> None:
    """Text between tags, and attributes that are read aloud; names of files and commands are no sentences."""
    allowed = {"peerfront", "PDF", "CSV", "MB", "layout", "study.csv", "schema.toml", "decisions.csv", "coupons.csv"}
    allowed |= {"README.txt", "peerfront live restore backup-….zip NEW-FOLDER --keys keys.json"}
    for path in SOURCE.rglob("templates/**/*.html"):
        text = re.sub(r"\{#.*?#\}", "", path.read_text("utf-8"))
        text = re.sub(r"\{% blocktranslate.*?endblocktranslate %\}", "", text, flags=re.DOTALL)
        read_aloud = re.findall(r'\b(?:title|aria-label|alt|placeholder)="([^"{]*[a-z]{3,}[^"{]*)"', text)
        text = re.sub(r"\{%.*?%\}|\{\{.*?\}\}", "", text, flags=re.DOTALL)
        said = {part.strip(" ·\n-") for part in re.sub(r"<[^>]*>", "\n", text).splitlines()}
        assert {part for part in said if re.search("[A-Za-z]{2}", part)} <= allowed, path
        assert read_aloud == [], path


# Refusals -----------------------------------------------------------------------------------------------------------


def test_refusals_are_told_in_spanish_with_days_as_spanish_writes_them() -> None:
    from peerfront.web.live.rules.refusals import Reason, refusal

    told = refusal(Reason.EXPIRED, code="K7M-4RT9-XC0", last_day="2026-03-02", today="2026-03-05")
    with translation.override("es"):
        found, to_do = refusal_words(told).values()
        roles = term("coordinator, manager")
    assert found == "El cupón K7M-4RT9-XC0 fue válido hasta el 2 de marzo de 2026; hoy es 5 de marzo de 2026."
    assert to_do == "No inscriba a la persona. La coordinación puede extender el cupón."
    assert roles == "coordinación, gerencia"


def test_every_refusal_is_another_sentence_in_spanish() -> None:
    with translation.override("es"):
        for code, sentence in messages.sentences().items():
            assert not code.startswith("refusal_") or translation.gettext(sentence) != sentence


def test_values_keep_their_direction_in_right_to_left_sentences() -> None:
    from peerfront.web.live.rules.refusals import Reason, refusal

    told = refusal(Reason.VOIDED, code="K7M-4RT9-XC0", day="2026-03-02")
    with translation.override("ar"):
        found = refusal_words(told)["found"]
    assert "\u2068K7M-4RT9-XC0\u2069" in found
    with translation.override("en"):
        assert "\u2068" not in refusal_words(told)["found"]


# Numbers ------------------------------------------------------------------------------------------------------------


def test_numbers_in_sentences_follow_the_language_of_the_page() -> None:
    from peerfront.foundation.messages import Measured
    from peerfront.web.pages.speaking import page_speaker
    from peerfront.words.language import in_digits, say, speaking

    told = say("{n:,} {gain:+.1f} {margin:.1f} {each} {typed}", n=1234, gain=0.25, margin=Measured(2.4, 0.3),
               each=[in_digits(0.5, ".2f"), 3], typed="1,5.csv")  # fmt: skip
    shown = {}
    for language in ("en", "es"):
        with translation.override(language), speaking(page_speaker()):
            shown[language] = str(told)
    assert shown == {"en": "1,234 +0.2 2.4 ± 0.3 0.50, 3 1,5.csv", "es": "1\xa0234 +0,2 2,4 ± 0,3 0,50; 3 1,5.csv"}
    assert str(told) == shown["en"]
