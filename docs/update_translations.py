"""Collect every sentence of the pages into the catalogues of translations, and compile them.

python docs/update_translations.py          # adds new sentences to each django.po, drops unused ones, writes django.mo
python docs/update_translations.py --check  # changes nothing; exit code 1 if a catalogue is wrong or not complete

Languages that a machine made (MACHINE_MADE in words/language.py) may lack sentences. How much each has is written into
docs/how-to/translate.md, which also says how to add a language.
"""

import argparse
import ast
import io
import string
import sys
from pathlib import Path
from typing import Any

import polib
from babel.messages.extract import extract
from django.utils.translation.template import templatize

from peerfront.words.language import MACHINE_MADE, PAGE_LANGUAGES

SOURCE = Path(__file__).parents[1] / "src" / "peerfront"
LOCALE = SOURCE / "words" / "locale"
GUIDE = Path(__file__).parent / "how-to" / "translate.md"
ROOMS = ("words", "web", "cli")
KEYWORDS = {
    "_": None,
    "gettext": None,
    "gettext_lazy": None,
    "gettext_noop": None,
    "ngettext": (1, 2),
    "ngettext_lazy": (1, 2),
    "pgettext": ((1, "c"), 2),
    "pgettext_lazy": ((1, "c"), 2),
    "npgettext": ((1, "c"), 2, 3),
    "say": None,
    "tell": None,
    "warn": None,
    "say_n": (1, 2),
}
OF_NOTES = ("by", "done", "downloaded", "events", "head", "imported", "kept", "last", "made_at", "outcome",
            "population", "there_before", "times", "whole")  # fmt: skip
"""Details of notes in the audit."""
NAMED_FIRST = (
    "check_text",
    "check_identifier",
    "check_range",
    "check_distinct",
    "_BadEntry",
    "staff_note",
    "member_note",
    "note_login",
    "_note_login",
)
"""Functions whose first argument is a name that people read."""
NAMING_FAULTS = ("fault", "fault_of_questions", "_difference")
"""Functions that return the name of what is wrong."""
Sentence = tuple[str | None, str, str | None]
"""Context, sentence, and its plural."""


def sentences() -> dict[Sentence, str]:
    """Every sentence with the file it first stands in."""
    found: dict[Sentence, str] = {}
    for room in ROOMS:
        for path in sorted((SOURCE / room).rglob("*")):
            method = "python"
            if path.suffix == ".py" and "migrations" not in path.parts:
                code = path.read_bytes()
            elif path.suffix == ".j2":
                method, code = "jinja2", path.read_bytes()
            elif path.suffix in (".html", ".txt") and "templates" in path.parts:
                code = _quoted(templatize(path.read_text("utf-8"))).encode()
            else:
                continue
            for _, message, _, context in extract(method, io.BytesIO(code), KEYWORDS):
                single, plural = (message, None) if isinstance(message, str) else (message[0], message[1])
                if single:
                    found.setdefault((context, single, plural), str(path.relative_to(SOURCE)))
            if path.suffix == ".py":
                for single in _within_texts(ast.parse(code)):
                    found.setdefault((None, single, None), str(path.relative_to(SOURCE)))
    for sentence, where in _of_the_rules() + _of_the_library() + _of_messages() + _of_help():
        found.setdefault((None, sentence, None), where)
    return found


def _quoted(templatized: str) -> str:
    """Django blots out markup with rows of X and such, which is not Python: keep the calls alone, one in a line."""
    return "\n".join(line.strip() for line in templatized.splitlines() if "gettext(" in line or "_(" in line)


def _within_texts(module: ast.Module) -> set[str]:
    """Sentences within f"...", which Babel does not see."""
    calls = [call for text in ast.walk(module) if isinstance(text, ast.JoinedStr) for call in ast.walk(text)]
    return {
        single
        for call in calls
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and KEYWORDS.get(call.func.id, ()) is None
        for single in _texts(call.args[0])
    }


def _of_the_rules() -> list[tuple[str, str]]:
    """The rules' own terms, which are looked up by their names."""
    from dataclasses import fields
    from typing import get_args

    from peerfront.web.live.rules.actions import Action, Role
    from peerfront.web.live.rules.chain import KINDS
    from peerfront.web.live.rules.events import DecidedBy, Erasable, Fact, PaymentKind
    from peerfront.web.live.rules.records import PlanStatus
    from peerfront.web.live.rules.study_settings import QuestionKind, Settings
    from peerfront.words.messages import sentences

    refusals = [sentence for code, sentence in sentences().items() if code.startswith("refusal_")]
    enums = (Action, Erasable, Role, PaymentKind, DecidedBy, PlanStatus, QuestionKind)
    terms = {each.value for kind in enums for each in kind} | set(KINDS)
    terms |= {each.name for kind in (Settings, *get_args(Fact)) for each in fields(kind)}
    terms |= set(OF_NOTES) | {name for sentence in refusals for name in _values(sentence)}
    for path in (SOURCE / "web" / "live").rglob("*.py"):
        terms |= _names_in(ast.parse(path.read_bytes()))
    return [(name.replace("_", " "), "web/live/rules") for name in sorted(terms)]


def _of_the_library() -> list[tuple[str, str]]:
    """What the app shows of the library's fixed sentences: counts."""
    from dataclasses import fields

    from peerfront.data.study import Summary

    counts: dict[str, Any] = {each.name: 0 for each in fields(Summary)}
    facts = Summary(**counts).facts
    return [(what, "data") for what, _ in facts]


def _of_messages() -> list[tuple[str, str]]:
    """Sentences of codes."""
    from peerfront.words.messages import sentences

    return [(sentence, f"words/messages ({code})") for code, sentence in sentences().items()]


def _of_help() -> list[tuple[str, str]]:
    """What `peerfront --help` shows."""
    from typer.main import get_command

    from peerfront.cli.main import app, unfolded, with_help

    return [(text, "cli (--help)") for text in sorted({unfolded(each.help) for each in with_help(get_command(app))})]


def _names_in(module: ast.Module) -> set[str]:
    """Names of fields that a refusal tells, and what a note in the audit says: they are translated when shown."""
    found: set[str] = set()
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef) and node.name in NAMING_FAULTS:
            found |= {
                each.value.value
                for each in ast.walk(node)
                if isinstance(each, ast.Return) and isinstance(each.value, ast.Constant) and each.value.value
            }
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id in NAMED_FIRST and node.args:
                found |= _texts(node.args[0])
            elif node.func.id in ("refusal", "Refuse"):
                found |= {text for each in node.keywords if each.arg == "name" for text in _texts(each.value)}
    return found


def _texts(node: ast.expr) -> set[str]:
    """A text, or both texts of `one if ... else other`."""
    if isinstance(node, ast.IfExp):
        return _texts(node.body) | _texts(node.orelse)
    return {node.value} if isinstance(node, ast.Constant) and isinstance(node.value, str) else set()


def missing(catalogue: polib.POFile) -> list[str]:
    """Sentences that a catalogue does not translate."""
    translated = {(entry.msgctxt, entry.msgid) for entry in catalogue if entry.translated()}
    return [single for context, single, _ in sentences() if (context, single) not in translated]


def faulty(catalogue: polib.POFile) -> list[str]:
    """Sentences whose translation names other values."""
    wrong = []
    for entry in catalogue.translated_entries():
        single, plural = entry.msgid, entry.msgid_plural
        texts = list(entry.msgstr_plural.values()) if plural else [entry.msgstr]
        if any(_values(text) - _values(single) - _values(plural or "") for text in texts):
            wrong.append(f"{single} (its translation names other values)")
        if not plural and _values(texts[0]) != _values(single):
            wrong.append(f"{single} (its translation leaves out a value)")
    return wrong


def _values(text: str) -> set[str]:
    """Names that are filled in: {code} and %(number)s."""
    try:
        braces = {name for _, name, _, _ in string.Formatter().parse(text) if name}
    except ValueError:
        braces = set()
    return braces | {part.split(")")[0] for part in text.split("%(")[1:]}


def update(path: Path) -> polib.POFile:
    """Add what is new, drop what is gone, keep what is translated."""
    before = polib.pofile(str(path)) if path.exists() else polib.POFile()
    kept = {(entry.msgctxt, entry.msgid): entry for entry in before}
    after = polib.POFile(wrapwidth=120)
    after.header = before.header
    after.metadata = before.metadata or {
        "Language": path.parts[-3],
        "MIME-Version": "1.0",
        "Content-Type": "text/plain; charset=utf-8",
        "Content-Transfer-Encoding": "8bit",
        "Plural-Forms": "nplurals=2; plural=(n != 1);",
    }
    forms = int(after.metadata["Plural-Forms"].partition("nplurals=")[2][0])
    for (context, single, plural), where in sorted(sentences().items(), key=lambda each: (each[1], each[0][1])):
        entry = polib.POEntry(msgctxt=context, msgid=single, occurrences=[(where, "")])
        old = kept.get((context, single))
        if plural:
            entry.msgid_plural = plural
            entry.msgstr_plural = (old and old.msgstr_plural) or dict.fromkeys(range(forms), "")
        elif old:
            entry.msgstr = old.msgstr
        after.append(entry)
    return after


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing")
    chosen = parser.parse_args()
    bad, rows = False, []
    for folder in sorted(LOCALE.glob("*/LC_MESSAGES")):
        path = folder / "django.po"
        if not chosen.check:
            catalogue = update(path)
            catalogue.save(str(path))
            catalogue.save_as_mofile(str(path.with_suffix(".mo")))
        code, catalogue = folder.parent.name, polib.pofile(str(path))
        lacking, wrong, every = missing(catalogue), faulty(catalogue), len(sentences())
        bad = bad or bool(wrong) or (bool(lacking) and code not in MACHINE_MADE)
        rows.append(f"| `{code}` | {PAGE_LANGUAGES.get(code, '')} | {1 - len(lacking) / every:.0%} |\n")
        print(f"{code}: {every} sentences, {len(lacking)} without a translation, {len(wrong)} with other values")
    if not chosen.check:
        _write_coverage(rows)
    sys.exit(1 if chosen.check and bad else 0)


def _write_coverage(rows: list[str]) -> None:
    """Replace the rows of the table of languages."""
    before, heading, after = GUIDE.read_text("utf-8").partition("| --- | --- | ---: |\n")
    rest = after.splitlines(keepends=True)
    while rest and rest[0].startswith("| `"):
        del rest[0]
    GUIDE.write_text("".join([before, heading, *rows, *rest]), "utf-8")


if __name__ == "__main__":
    main()
