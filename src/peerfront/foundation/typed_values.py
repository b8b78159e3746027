"""Numbers and words as people write them, read from columns of text; what cannot be a number is none."""

import math
import re
import tomllib
import unicodedata
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Texts = NDArray[np.object_]
WORDS = tomllib.loads(Path(__file__).with_name("typed_words.toml").read_text("utf-8"))
"""Words in cells, in several languages, as `unified` writes them."""
_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_DECIMAL_COMMA = re.compile(r"[-+]?[0-9]+,[0-9]+")
_ONE_COMMA = re.compile(r"[-+]?[1-9][0-9]{0,2},[0-9]{3}")  # 1,234 is thousands, or a decimal comma
_BY_COMMAS = re.compile(r"[-+]?[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?")
_BY_DOTS = re.compile(r"[-+]?[0-9]{1,3}(?:\.[0-9]{3})+(?:,[0-9]+)?")
_BY_BLANKS = re.compile(r"[-+]?[1-9][0-9]{0,2}(?:[ '][0-9]{3})+(?:[.,][0-9]+)?")
_LONGEST_NUMBER = 400  # characters: the largest number takes 309 digits
_LONGEST_WORDS = 40
_NOT_KNOWN = frozenset(WORDS["not_known"])


def _any_of(words: Iterable[str]) -> str:
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))


_CURRENCY = re.compile(r"^(?:us\$|r\$|[$€£¥₦₹]) ?(?=[0-9])")
_UNIT = re.compile(rf"(?:(?<=[0-9]) ?| )(?:{_any_of(WORDS['units'])})\.?$")
_VAGUE = re.compile(rf"(?:(?<=[0-9]) ?| )(?:{_any_of(WORDS['vague'])})$")
_ABOUT = re.compile(rf"^(?:{_any_of(WORDS['about'])})(?=[ 0-9]) ?")
_RANGE = re.compile(r"([0-9]{1,9}) ?(?:-|/|to|or|and|a|o|y|e|ate|ou|hasta|bis|oder) ?([0-9]{1,9})")


def unified(text: str) -> str:
    """A text without case, accents and doubled blanks, in plain signs: the same for all writings of an answer."""
    if not text.isascii():
        parts = unicodedata.normalize("NFKD", plain_signs(text))
        text = unicodedata.normalize("NFC", "".join(sign for sign in parts if not "\u0300" <= sign <= "\u036f"))
        text = text.replace("\u2019", "'")
    return " ".join(text.casefold().split())


def plain_signs(text: str) -> str:
    """Write a text with the signs that programs read: digits of any script as 0 to 9, every dash as a hyphen.

    Blanks of any sort become ordinary ones, and signs that nobody sees (zero-width blanks, marks of direction) go.
    """
    return text if text.isascii() else "".join(map(_plain_sign, text)).strip()


@cache
def _plain_sign(sign: str) -> str:
    kind = unicodedata.category(sign)
    if kind == "Nd":
        return str(unicodedata.decimal(sign))
    if "\uff01" <= sign <= "\uff5e":  # full-width forms
        return _plain_sign(chr(ord(sign) - 0xFEE0))
    return {"Cf": "", "Zs": " ", "Pd": "-"}.get(kind, {"\u2212": "-", "\u066b": "."}.get(sign, sign))


def typed_number(text: str) -> float | None:
    """Read one number; None for anything but digits with sign, point and exponent, and for endless ones."""
    text = plain_signs(text).strip()
    if len(text) > _LONGEST_NUMBER or not _NUMBER.fullmatch(text):
        return None
    number = float(text)
    return number if math.isfinite(number) else None


def read_numbers(texts: pd.Series) -> NDArray[np.float64]:
    """Read numbers, also with a decimal comma, thousands, a unit or digits of another script; nan where it is none.

    Whether 1,234 is a thousand is seen from the column: it is, if every comma in it has three digits behind it.
    """
    return read_once(texts, _numbers)


def looks_numeric(texts: pd.Series) -> bool:
    """Tell whether most of the first values are numbers; cheap for long columns of text."""
    return bool(np.isfinite(_numbers(texts.iloc[:100].to_numpy(dtype=object))).mean() > 0.5)


def read_once(texts: pd.Series, read: Callable[[Texts], NDArray[np.float64]]) -> NDArray[np.float64]:
    """Apply `read` to each different text once: columns have far fewer of them than people."""
    codes, different = pd.factorize(texts.to_numpy(dtype=object))
    return read(different)[codes] if len(codes) else np.zeros(0)


def _numbers(texts: Texts) -> NDArray[np.float64]:
    numbers = [typed_number(text) for text in texts]
    others = {i: _bare(text) for i, text in enumerate(texts) if numbers[i] is None or _BY_DOTS.fullmatch(text)}
    bare = [text for text in others.values() if text]
    with_commas = [text for text in bare if _DECIMAL_COMMA.fullmatch(text)]
    commas = any(map(_is_by_commas, bare)) or all(map(_ONE_COMMA.fullmatch, with_commas))
    dots = any(map(_is_by_dots, bare))
    for i, text in others.items():
        if dots and _BY_DOTS.fullmatch(text):
            text = text.replace(".", "").replace(",", ".")
        elif commas and _BY_COMMAS.fullmatch(text):
            text = text.replace(",", "")
        elif _BY_BLANKS.fullmatch(text):
            text = re.sub("[ ']", "", text).replace(",", ".")
        elif _DECIMAL_COMMA.fullmatch(text):
            text = text.replace(",", ".")
        numbers[i] = typed_number(text)
    return np.array([math.nan if number is None else number for number in numbers], dtype=np.float64)


def _is_by_commas(text: str) -> bool:
    """Tell whether commas plainly part thousands: 1,234,567 or 1,234.5."""
    return _BY_COMMAS.fullmatch(text) is not None and (text.count(",") > 1 or "." in text)


def _is_by_dots(text: str) -> bool:
    """Tell whether dots plainly part thousands: 1.234.567 or 1.234,5."""
    return _BY_DOTS.fullmatch(text) is not None and (text.count(".") > 1 or "," in text)


def _bare(text: str) -> str:
    """A number without currency and unit: 20 of "20 años"; "" for long texts."""
    if len(text) > _LONGEST_WORDS or not any(map(str.isdecimal, text)):
        return ""
    plain = unified(text)
    return _UNIT.sub("", _CURRENCY.sub("", plain))


def rough_number(text: str) -> tuple[float, float] | None:
    """The least and most that a text such as "about 20", "20+", "twenty" or "10-15" says; None if it says no number."""
    if len(text) > _LONGEST_WORDS:
        return None
    plain = _UNIT.sub("", _VAGUE.sub("", _ABOUT.sub("", unified(text))))
    parts = _RANGE.fullmatch(plain)
    if parts:
        low, high = float(parts[1]), float(parts[2])
        return (low, high) if low < high else None
    number = WORDS["numbers"].get(plain, typed_number(plain))
    return None if number is None else (float(number), float(number))


def means_not_known(different: Iterable[str]) -> set[str]:
    """Those of a column's different texts that say "not known", such as "DK", "refused" or "no sabe".

    Beside other answers they may mean something else: DK beside SE and NO is a country, - beside + a result, as is NR
    (not reactive) beside R.
    """
    plain = {text: unified(text) for text in different if len(text) <= _LONGEST_WORDS}
    pairs = {word for word in plain.values() if len(word) == 2 and word.isalpha() and word not in _NOT_KNOWN}
    words = set(plain.values())
    meant = {word for word in words if len(word) == 2} if len(pairs - {"si", "no", "ja"}) > 1 else set()
    meant |= {"-"} if any(word.startswith("+") for word in words) else set()
    meant |= {"nr"} if not words.isdisjoint({"r", "reactive", "reactivo"}) else set()
    return {text for text, word in plain.items() if word in _NOT_KNOWN and word not in meant}


def one_slip(typed: str, meant: str) -> bool:
    """Tell whether a text becomes another one by a single slip: a letter too many, too few, wrong, or two swapped."""
    if typed == meant or abs(len(typed) - len(meant)) > 1:
        return False
    start = next((i for i, (a, b) in enumerate(zip(typed, meant, strict=False)) if a != b), min(len(typed), len(meant)))
    a, b = typed[start:], meant[start:]
    return a[1:] == b or a == b[1:] or a[1:] == b[1:] or (a[:2] == b[1::-1] and a[2:] == b[2:])
