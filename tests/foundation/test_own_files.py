"""Files of the program's own: what was written is read, everything else is refused with what was found."""

import contextlib
import json
import math
import os
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from changed_files import OTHERS, SPOILS, spoil
from peerfront.foundation.errors import DamagedFile
from peerfront.foundation.own_files import (
    ANYTHING,
    CHANCE,
    COUNT,
    NUMBER,
    TEXT,
    TRUTH,
    check_shape,
    day,
    either,
    exactly,
    maybe,
    own_bytes,
    own_json,
    sha256_of,
    whole,
)

SHAPE = {
    "name": TEXT, "day": day("2026-03-01"), "left": whole(0, 12), "share": CHANCE, "done": TRUTH, "by?": maybe(TEXT),
    "pair": (COUNT, NUMBER), "people": [{"id": TEXT}], "chances": {str: CHANCE}, "kind": exactly("a", "b"),
    "either": either(exactly(None), {"n": COUNT}),
}  # fmt: skip
VALUE = {
    "name": "ä", "day": "2026-03-02", "left": 12, "share": 0.5, "done": True, "by": None, "pair": [3, -0.5],
    "people": [{"id": "A"}, {"id": "B"}], "chances": {"North": 1, "South": 0.0}, "kind": "b", "either": {"n": 0},
    "unknown": [1, None],
}  # fmt: skip


@pytest.mark.parametrize("how", SPOILS)
def test_what_is_no_file_is_refused(tmp_path, how) -> None:
    file = tmp_path / "settings.json"
    file.write_text(json.dumps(VALUE))
    assert own_json(file, SHAPE) == VALUE
    spoil(file, how)
    with pytest.raises(DamagedFile, match=r"settings.json cannot be used: it .* restore it from a copy"):
        own_json(file, SHAPE)


def test_sockets_and_devices_are_refused(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)  # the path of a socket is short
    with socket.socket(socket.AF_UNIX) as own:
        own.bind("log")
        with pytest.raises(DamagedFile, match="it is a socket"):
            own_bytes(tmp_path / "log")
    (tmp_path / "device").symlink_to(os.devnull)
    with pytest.raises(DamagedFile, match="it is a device"):
        own_bytes(tmp_path / "device")


def test_a_digest_tells_whether_a_file_was_changed(tmp_path) -> None:
    file = tmp_path / "people.csv"
    file.write_bytes(b"id\nA\n")
    digest = sha256_of(b"id\nA\n")
    assert own_bytes(file, sha256=digest) == b"id\nA\n"
    file.write_bytes(b"id\nB\n")
    with pytest.raises(DamagedFile, match="it was changed .its checksum is .*, the log says"):
        own_bytes(file, sha256=digest)


@pytest.mark.parametrize("text", ["", " ", "{", "\xff", "[" * 100_000, '{"a": ' + "9" * 5000 + "}", "null", "[]", "3"])
def test_what_is_no_table_is_refused(tmp_path, text) -> None:
    (tmp_path / "x.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(DamagedFile):
        own_json(tmp_path / "x.json", {})


def test_values_of_another_kind_are_named() -> None:
    check_shape(VALUE, SHAPE, "x")
    for change, found in (
        ({"left": 13}, "left is 13; expected a whole number of at least 0 and at most 12"),
        ({"left": True}, "left is True"),
        ({"day": "2026-03-01"}, "day is '2026-03-01'; expected a day after 2026-03-01"),
        ({"pair": [1]}, r"pair is \[1\]; expected a list"),
        ({"pair": [1, math.nan]}, r"pair\[1\] is nan; expected a number"),
        ({"people": [{"id": 1}]}, r"people\[0\].id is 1; expected a text"),
        ({"people": [{}]}, r"people\[0\].id is missing"),
        ({"chances": {"North": 1.5}}, "chances.North is 1.5"),
        ({"kind": "c"}, "kind is 'c'; expected one of 'a', 'b'"),
        ({"either": {"n": -1}}, "expected values that belong together"),
        ({"name": "\ud800"}, "name is .*; expected a text"),
    ):
        with pytest.raises(DamagedFile, match=found):
            check_shape(VALUE | change, SHAPE, "x")


@given(st.recursive(st.sampled_from(OTHERS), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_any_value_is_right_or_refused(value) -> None:
    check_shape(value, ANYTHING, "x")
    for shape in (SHAPE, [SHAPE], {str: SHAPE}, (COUNT, SHAPE), either(SHAPE, COUNT)):
        with contextlib.suppress(DamagedFile):
            check_shape(value, shape, "x")
