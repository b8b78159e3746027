"""Coupon codes: every single wrong character and swap of neighbours is caught, and people may type as they like."""

import itertools
import random
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerfront.web.live.rules.codes import (
    ALPHABET,
    LENGTH,
    LONGEST_FOREIGN,
    foreign_code,
    has_code_form,
    is_prefix,
    new_code,
    new_prefix,
    read_code,
    shown_code,
)

CODES = st.integers(0, 2**32).map(lambda seed: new_code("K7", random.Random(seed).choice))


def _code_with(place: int, *characters: str) -> str | None:
    """A valid code with these characters at and after a place, if the check character is not among them."""
    body = ["K", "7", *"4M9RT2X"]
    body[place : place + len(characters)] = characters
    if len(body) > LENGTH - 1:
        return None
    prefix, rest = "".join(body[:2]), iter(body[2:])
    return new_code(prefix, lambda _: next(rest))


def _codes_ending_in(last: str, check: str) -> str:
    """A valid code whose last two characters are these."""
    for other in ALPHABET:
        rest = iter([*"M4RT9", other, last])
        code = new_code("K7", lambda _, rest=rest: next(rest))
        if code[-1] == check:
            return code
    raise AssertionError


def _codes_with(place: int, first: str, second: str) -> str:
    """A valid code with two characters at a place and the next."""
    return _codes_ending_in(first, second) if place == LENGTH - 2 else _code_with(place, first, second) or ""


def test_every_single_wrong_character_is_caught() -> None:
    for place in range(LENGTH):
        for right, wrong in itertools.permutations(ALPHABET, 2):
            code = _codes_with(place, right, "7") if place < LENGTH - 1 else _codes_ending_in("7", right)
            assert code[place] == right
            assert read_code(code) == code
            assert read_code(code[:place] + wrong + code[place + 1 :]) is None


def test_every_swap_of_neighbours_is_caught() -> None:
    for place in range(LENGTH - 1):
        for first, second in itertools.permutations(ALPHABET, 2):
            code = _codes_with(place, first, second)
            assert code[place : place + 2] == first + second
            assert read_code(code) == code
            assert read_code(code[:place] + second + first + code[place + 2 :]) is None


@given(CODES, st.integers(0, LENGTH - 1), st.characters())
def test_whatever_is_typed_in_one_place_is_the_same_character_or_caught(code, place, typed) -> None:
    """All of Unicode: look-alikes are read as what they look like, which is right or caught."""
    read = read_code(code[:place] + typed + code[place + 1 :])
    assert read in (None, code)


@given(CODES, st.integers(0, LENGTH - 1), st.sampled_from(ALPHABET))
def test_a_character_too_many_or_missing_is_caught(code, place, more) -> None:
    assert read_code(code[:place] + code[place + 1 :]) is None
    assert read_code(code[:place] + more + code[place:]) is None


@given(CODES, st.data())
def test_codes_are_read_as_people_type_them(code, data) -> None:
    twins = {"0": "oOQd0", "1": "iIlL1", "2": "zZ2", "5": "sS5", "6": "gG6", "8": "bB8", "V": "uUvV"}
    cyrillic = {"C": "\u0441", "H": "\u041d", "X": "\u0425", "3": "\u0417", "8": "\u0412", "T": "\u0422"}
    typed = []
    for character in code:
        ways = twins.get(character, character + character.lower()) + cyrillic.get(character, "")
        if character.isdigit():
            ways += chr(0x0660 + int(character)) + chr(0xFF10 + int(character))  # Arabic and full-width digits
        typed.append(data.draw(st.sampled_from(ways)))
        typed.append(data.draw(st.sampled_from(["", "", " ", "-", "\u2013", "\u00a0", "\u200f", "\t"])))
    assert read_code("".join(typed)) == code
    assert read_code(shown_code(code)) == code


def test_codes_are_shown_in_groups() -> None:
    assert shown_code("K7M4RT9XC0") == "K7M-4RT9-XC0"


def test_codes_of_another_system_are_shown_as_they_are() -> None:
    for code in ("0000000000000000012345", "0001", "AB 12", "K7M4RT9XC1", "", "x" * 40):
        assert shown_code(code) == code


@pytest.mark.parametrize(
    ("typed", "code"),
    [
        ("0000000000000000012345", "0000000000000000012345"),
        ("  007 ", "007"),
        ("ab\t\u00a0\n 12", "AB 12"),
        ("\u202eab\u200f12\u2060\ufeff", "AB12"),
        ("\uff21\uff11", "A1"),
        ("stra\u00dfe", "STRASSE"),
        ("\u0130x", "I\u0307X"),
        ("=1+1", "=1+1"),
        ("x" * LONGEST_FOREIGN, "X" * LONGEST_FOREIGN),
        ("x" * (LONGEST_FOREIGN + 1), None),
        ("x" * 10**6, None),
        ("\u200f \n", None),
        ("", None),
        ("a\ud800", None),
        ("a\ue000", None),
    ],
)
def test_codes_of_another_system_have_one_spelling(typed, code) -> None:
    assert foreign_code(typed) == code


def test_the_spelling_of_every_character_stays_when_it_is_typed_again() -> None:
    for number in range(0x110000):
        code = foreign_code(chr(number))
        if code is not None:
            assert foreign_code(code) == foreign_code(code.lower()) == code == foreign_code(f" {code}\u200e")


@given(st.text(max_size=60))
def test_the_spelling_of_every_text_stays_when_it_is_typed_again(typed) -> None:
    code = foreign_code(typed)
    if code is not None:
        assert foreign_code(code) == code == foreign_code(f"\t{code} ")
        assert 0 < len(code) <= LONGEST_FOREIGN
        assert code.encode()


def test_the_alphabet_has_neither_look_alikes_nor_vowels() -> None:
    assert len(ALPHABET) == len(set(ALPHABET)) == 23, "a prime number, on which the check character rests"
    assert not set(ALPHABET) & set("AEIOUQDLZSGB")
    assert all(unicodedata.normalize("NFKC", each) == each for each in ALPHABET)


def test_codes_of_another_study_are_told_apart_from_mistyped_ones() -> None:
    other = new_code("9X")
    assert read_code(other) == other
    assert not other.startswith("K7")
    assert new_code("K7").startswith("K7")
    mistyped_prefix = "9" + new_code("K7")[1:]
    assert read_code(mistyped_prefix) is None, "a wrong character in the prefix is mistyped, not another study"


def test_codes_are_drawn_from_all_characters() -> None:
    codes = {new_code("K7") for _ in range(2_000)}
    assert len(codes) > 1_990
    for place in range(2, LENGTH):
        assert {code[place] for code in codes} == set(ALPHABET)
    assert is_prefix(new_prefix())


@pytest.mark.parametrize(
    "typed",
    ["", " ", "K7M-4RT9-XC", "K7M-4RT9-XC01", "<b>K7</b>", "=K7M4RT9XC", "Maria Lopez", "\ud800" * 10, "K" * 10**6],
)
def test_what_is_no_code_is_mistyped(typed) -> None:
    assert read_code(typed) is None


def test_text_that_has_not_the_form_of_a_code_is_told() -> None:
    assert has_code_form("k7m-4rt9-xc1")
    assert not has_code_form("Maria Lopez")


@pytest.mark.parametrize("prefix", ["", "K", "K77", "k7", "A7"])
def test_a_bad_prefix_is_an_error(prefix) -> None:
    with pytest.raises(ValueError, match="no prefix of a study"):
        new_code(prefix)
