"""A right-to-left language in which everything is translated: each Latin letter of a sentence becomes a Hebrew one.

What is still in Latin letters on a page was not translated, or is not to be: codes, names, what people typed.
"""

import re
from contextlib import contextmanager
from pathlib import Path

import polib
from django.conf import settings
from django.test import override_settings
from update_translations import sentences

CODE = "he"
_KEPT = re.compile(r"%\([^)]*\)[sd]|%%|\{[^}]*\}|<[^>]*>|&\w+;|COUPONS|EXPECTED|FEWER")
_LETTERS = "אבגדהוזחטיכלמנסעפצקרשת"
_MIRRORED = {ord("a") + place: _LETTERS[place % len(_LETTERS)] for place in range(26)}


def mirrored(sentence: str) -> str:
    """A sentence in the made-up language; names of values and markup stay."""
    parts, end = [], 0
    for kept in _KEPT.finditer(sentence):
        parts += [sentence[end : kept.start()].lower().translate(_MIRRORED), kept[0]]
        end = kept.end()
    return "".join([*parts, sentence[end:].lower().translate(_MIRRORED)])


@contextmanager
def spoken(folder: Path):
    """Let pages be shown in the made-up language, beside the others."""
    catalogue = polib.POFile()
    catalogue.metadata = {
        "Language": CODE,
        "Content-Type": "text/plain; charset=utf-8",
        "Plural-Forms": "nplurals=2; plural=(n != 1);",
    }
    for context, single, plural in sentences():
        entry = polib.POEntry(msgctxt=context, msgid=single)
        if plural:
            entry.msgid_plural, entry.msgstr_plural = plural, {0: mirrored(single), 1: mirrored(plural)}
        else:
            entry.msgstr = mirrored(single)
        catalogue.append(entry)
    place = folder / CODE / "LC_MESSAGES"
    place.mkdir(parents=True)
    catalogue.save_as_mofile(str(place / "django.mo"))
    languages = [*settings.LANGUAGES, (CODE, "עברית")]
    with override_settings(LANGUAGES=languages, LOCALE_PATHS=[folder, *settings.LOCALE_PATHS]):
        yield CODE
