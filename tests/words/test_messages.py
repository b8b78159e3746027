"""Every code has a sentence, every sentence a use, and both name the same values."""

import ast
import pickle
import re
import string
from pathlib import Path

import pytest

import peerfront
from peerfront.data.problems import KINDS
from peerfront.data.read.read_settings import FORMATS, PRESETS, ROLES
from peerfront.data.read.recognition import suggested_columns
from peerfront.experiments.policies import POLICIES
from peerfront.foundation.errors import DataFileError, InfeasibleAllocation, PeerfrontError, SettingError, UnknownName
from peerfront.foundation.messages import Lines, Measured, Message, Remedies, Remedy, Severity, note, warning
from peerfront.simulation.catalog import WORLDS
from peerfront.words.language import Medium, Text, catalogue, joined, marked, say, say_n, speaking, warn
from peerfront.words.messages import sentences, text_of

SOURCE = Path(peerfront.__file__).parent
MAKERS = {"Message", "note", "warning"}
BY_NAME = ("audit.", "refusal_found.", "refusal_to_do.", "problem_titles.", "problem_remedies.")
"""Topics whose codes are names of events, actions and refusals; tests of the live study look for each of them."""
BY_ENTRY = ("world_summary.", "world_description.", "world_setting.", "policy_summary.", "policy_setting.")
"""Topics whose codes are names of worlds, policies and their settings."""


def uses_of_codes() -> list[tuple[str, str, set[str] | None]]:
    """Where a code is written down as the first argument of a message or an error: place, code, names of values."""
    uses = []
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            first = node.args[0]
            if isinstance(first, ast.Constant) and isinstance(first.value, str) and first.value in sentences():
                named = (
                    None if any(each.arg is None for each in node.keywords) else {each.arg for each in node.keywords}
                )
                if len(node.args) > 1:
                    named = None  # Message(code, arguments)
                uses.append((f"{path.relative_to(SOURCE)}:{node.lineno}", first.value, named))
    return uses


def values_in(sentence: str) -> set[str]:
    return {name.partition(".")[0].partition("[")[0] for _, name, _, _ in string.Formatter().parse(sentence) if name}


def test_a_measured_number_shows_its_95_percent_margin() -> None:
    shown = say("{gain:+.1f}, {share:.0%}", gain=Measured.of(2.0, 0.1), share=Measured(0.3, 0.062))
    assert str(shown) == "+2.0 ± 0.2, 30% ± 6%"
    assert f"{Measured.of(79.4, 1.3, 2.09):.1f}" == "79.4 ± 2.7"
    assert f"{Measured(5.0, 0.001):.1f}" == "5.0 ± 0.1", "no interval of zero width"
    assert f"{Measured(0.5, 0.001):.0%}" == "50% ± 1%"
    assert f"{Measured(5.0, float('nan')):.1f}" == f"{Measured(5.0, 0.0):.1f}" == "5.0"


def test_nothing_else_writes_plus_minus() -> None:
    sign = r"(±|\+/?-|&plusmn;|&#177;|\\u00b1|\\xb1|\\pm)"
    beside_a_number = re.compile(rf"\}}\s*{sign}|{sign}\s*[{{0-9]|{sign}.*standard error|standard error.*{sign}")
    files = [path for room in ("words", "cli", "web") for path in sorted((SOURCE / room).rglob("*"))]
    texts = {path: path.read_text("utf-8") for path in files if path.suffix in (".py", ".toml", ".j2", ".html", ".js")}
    assert len(texts) > 100
    found = [f"{path.name}: {line}" for path, text in texts.items() for line in text.splitlines()]
    assert not [line for line in found if beside_a_number.search(line)], "use Measured"
    assert beside_a_number.search('say("{mean:.1f} +- {error:.1f}")')


def test_sentences_name_the_values_that_their_codes_have() -> None:
    for place, code, named in uses_of_codes():
        if named is not None:
            assert values_in(sentences()[code]) <= named, f"{place}: {code} lacks a value of its sentence"


def test_every_sentence_has_a_use() -> None:
    texts = "\n".join(path.read_text("utf-8") for path in SOURCE.rglob("*.py"))
    of_files = {message.code for names in (FORMATS, PRESETS, ROLES) for message in names.values()}
    known = [code for code in sentences() if not code.startswith("on_page.")]
    unused = [code for code in known if f'"{code}"' not in texts and not code.startswith(BY_NAME + BY_ENTRY)]
    assert set(unused) <= of_files <= sentences().keys()
    by_kind = {f"{topic}.{kind}" for topic in ("problem_titles", "problem_remedies") for kind in KINDS}
    assert by_kind == {code for code in sentences() if code.startswith(("problem_titles.", "problem_remedies."))}


def test_sentences_of_pages_stand_for_others_and_name_neither_files_nor_options() -> None:
    for code, sentence in sentences().items():
        if code.startswith("on_page."):
            other = sentences()[code.removeprefix("on_page.")]
            assert values_in(sentence) <= values_in(other), code
            assert not re.search(r"--|schema file|use = |valid_days|still_open", sentence), code
    with speaking(catalogue("en", Medium.PAGE)):
        assert "“Days until a coupon expires”" in str(Message("fits.no_expiry"))
    assert "valid_days = 60" in str(Message("fits.no_expiry"))


def test_worlds_and_policies_have_their_sentences_and_no_others() -> None:
    entries = (*WORLDS.values(), *POLICIES.values())
    used = {entry.summary.code for entry in entries} | {entry.description.code for entry in WORLDS.values()}
    used |= {option.help.code for entry in entries for option in entry.options.values()}
    used |= {"world_setting.world", "policy_setting.policy"}
    assert used == {code for code in sentences() if code.startswith(BY_ENTRY)}


def test_a_message_is_data_until_somebody_reads_it() -> None:
    unknown = Message("names.unknown", {"kind": "world", "name": "x", "names": ["a", "b"]}, Severity.WARNING)
    assert str(unknown) == "There is no world called 'x'. Choose one of: a, b."
    assert text_of(unknown).severity is Severity.WARNING
    assert marked(text_of(unknown)).startswith("Warning: There is no world")


@pytest.mark.parametrize(
    ("medium", "written"),
    [(Medium.TERMINAL, "--valid-days 60"), (Medium.PYTHON, "valid_days=60"), (Medium.PAGE, "“valid days: 60”")],
)
def test_a_remedy_is_written_as_the_medium_wants_it(medium: Medium, written: str) -> None:
    with speaking(catalogue("en", medium)):
        assert str(Remedy("valid_days", 60)) == written


def test_remedies_of_a_message_are_found_wherever_they_stand() -> None:
    inner = note("names.unknown", kind="a", name="b", names=[Remedy("budget", 3)])
    assert warning("x.y", first=inner, second=Remedy("seed")).remedies == (Remedy("budget", 3), Remedy("seed"))


@pytest.mark.parametrize(
    "error",
    [
        SettingError("names.unknown", kind="k", name="n", names=["m"]),
        UnknownName("world", "brigde", ["bridge", "alike"]),
        InfeasibleAllocation("mine", "too many"),
        DataFileError(Message("outputs.in_use", {"path": "p"}, Severity.ERROR)),
    ],
)
def test_errors_travel_between_processes(error: PeerfrontError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert (str(again), again.code, vars(again).keys()) == (str(error), error.code, vars(error).keys())


def test_what_people_typed_is_spelled_out_once() -> None:
    assert str(say("{name!r} and {name}", name="a\x1bb")) == "'a\\x1bb' and a\\x1bb"


def test_sentences_are_put_together_and_counted_when_read() -> None:
    coupons = say_n("{n:,} coupon", "{n:,} coupons", 1200)
    assert str(joined([say("Give out {coupons}.", coupons=coupons), Text(""), warn("Careful.")])) == (
        "Give out 1,200 coupons. Careful."
    )


@pytest.mark.parametrize(
    ("medium", "written"),
    [
        (Medium.TERMINAL, "--map id=no --map 'coupons=c 1+c2' --coupons-each 3"),
        (Medium.PYTHON, "columns={'id': ('no',), 'coupons': ('c 1', 'c2')}, coupons_each=3"),
        (Medium.PAGE, "“id: no”, “coupons: c 1, c2”, “coupons each: 3”"),
    ],
)
def test_settings_to_be_given_together(medium: Medium, written: str) -> None:
    remedies = Remedies(
        (Remedy("map", ("id", "no")), Remedy("map", ("coupons", "c 1", "c2")), Remedy("coupons_each", 3))
    )
    with speaking(catalogue("en", medium)):
        assert str(say("{remedies}", remedies=remedies)) == written
    assert note("x.y", remedies=remedies).remedies == remedies
    assert suggested_columns(remedies) == {"id": ("no",), "coupons": ("c 1", "c2")}


def test_lists_are_quoted_one_by_one_and_lines_stand_below_each_other() -> None:
    assert str(say("{names!r} and {names}", names=["a", "b"])) == "'a', 'b' and a, b"
    assert str(say("{faults}", faults=Lines(["a", say("b")]))) == "  a\n  b"
