"""Codes and names that are written differently and mean the same: what is read as one at once, and what is near.

`folded` drops what nobody means: blanks, case, the script of digits, signs that nobody sees, `coupon` or `#` before a
code and a remark in brackets behind it. Two codes that are the same without it are the same code if nobody holds
another such code. Everything else is a guess that is offered, never made: lost zeros and hyphens, O for 0 and l for 1,
look-alikes of other scripts, initials, words in another order, and one typing error.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence

from peerfront.data.read.listing import plain
from peerfront.foundation.typed_values import one_slip, plain_signs

_BEFORE = re.compile(
    r"(?:coupons?|cup[oó]n(?:es)?|vouchers?|code|c[oó]digo|number|num|nr|no|n[°º])[\s.:#]+(?=\S*\d)|#\s*(?=\S)",
    re.IGNORECASE,
)
_REMARK = re.compile(r"(?<=\S)\s*\([^()]*\)$")
_POINT_ZERO = re.compile(r"(?<=\d)\.0$")
_LOOK_ALIKE = str.maketrans(
    "oil|"
    "\u0430\u0432\u0435\u043a\u043c\u043d\u043e\u0440\u0441\u0442\u0443\u0445\u0456\u0455\u0458"  # Cyrillic
    "\u03b1\u03b2\u03b5\u03b6\u03b7\u03b9\u03ba\u03bc\u03bd\u03bf\u03c1\u03c4\u03c5\u03c7",  # Greek
    "0111abekmh0pctyx1sjabezh1kmn0ptyx",
)
_SHORTEST = 4  # characters of codes and names in which one typing error can be told
_LONGEST = 60
_COLUMN, _SHARE = 3, 0.9  # codes that show what was done to a column, and their share


def folded(code: str) -> str:
    """A code without what nobody means."""
    text = _REMARK.sub("", _BEFORE.sub("", plain_signs(code).strip(), count=1))
    return _POINT_ZERO.sub("", re.sub(r"\s", "", text).casefold())


def folded_name(name: str) -> str:
    """A name or id without blanks, case, accents and full stops."""
    return re.sub(r"\.(?!\d)", "", plain(folded(name)))


def copied(code: str) -> str:
    """What survives the copying of a code: no leading zeros, hyphens and other signs."""
    return re.sub(r"(?<!\d)0+(?=\d)", "", re.sub(r"[\W_]", "", folded(code))).lstrip("0")


def look_alike(code: str) -> str:
    """A code in which signs that look alike are the same: O and 0, l, I and 1, and letters of other scripts."""
    return copied(folded(code).translate(_LOOK_ALIKE))


def _words(name: str) -> list[str]:
    return re.findall(r"\w+", plain(plain_signs(name)).casefold())


def same_codes(wanted: Iterable[str], among: Iterable[str], fold: Callable[[str], str] = folded) -> dict[str, str]:
    """How the codes are written among those known, for codes that only differ in what nobody means.

    Lost zeros and hyphens are read at once, too, if a program took them from all of the column: from every code, or
    nearly, that is not known.
    """
    known = set(among)
    rest = [code for code in dict.fromkeys(wanted) if code and code not in known]
    if not rest:
        return {}
    of = _alone(known, fold)
    same = {code: of[fold(code)] for code in rest if fold(code) in of}
    rest = [code for code in rest if code not in same]
    of = _alone(known, copied) if rest else {}
    lost = {code: of[copied(code)] for code in rest if copied(code) in of}
    if len(lost) >= _COLUMN and len(lost) >= _SHARE * len(rest):
        same |= lost
    return same


def _alone(known: Iterable[str], fold: Callable[[str], str]) -> dict[str, str]:
    """The codes by their folded form, where no two have the same."""
    by_form: dict[str, set[str]] = defaultdict(set)
    for code in known:
        by_form[fold(code)].add(code)
    return {form: next(iter(codes)) for form, codes in by_form.items() if form and len(codes) == 1}


_Sort = tuple[Callable[[str], str], Callable[[str, str], bool]]  # forms that must be equal, and a check
_CODES: tuple[_Sort, ...] = tuple((fold, lambda *_: True) for fold in (folded, copied, look_alike))


def near_codes(wanted: Iterable[str], among: Iterable[str], *, slips: bool = True) -> dict[str, list[str]]:
    """For each wanted code the known ones that are nearest; codes without any are left out."""
    return _near(wanted, among, _CODES, look_alike if slips else None)


def near_names(wanted: Iterable[str], among: Iterable[str]) -> dict[str, list[str]]:
    """For each wanted name or id the known ones that are nearest."""
    of_names: tuple[_Sort, ...] = (
        (folded_name, lambda *_: True),
        (lambda name: folded_name(name.rpartition("(")[2].rstrip(" )")), lambda *_: True),  # Maria (P12)
        (lambda name: " ".join(sorted(_words(name))), lambda *_: True),
        (lambda name: " ".join(word[0] for word in _words(name)), _abbreviates),
        (lambda name: (_words(name) or [""])[0], lambda a, b: min(len(_words(a)), len(_words(b))) == 1),
    )
    return _near(wanted, among, (*_CODES, *of_names), folded_name)


def _near(
    wanted: Iterable[str], among: Iterable[str], sorts: Sequence[_Sort], typed: Callable[[str], str] | None
) -> dict[str, list[str]]:
    sought = [code for code in dict.fromkeys(wanted) if code and len(code) <= _LONGEST]
    if not sought:
        return {}  # as in most files; to fold all known codes takes long
    known = [code for code in dict.fromkeys(among) if code and len(code) <= _LONGEST]
    forms: list[dict[str, list[str]]] = [defaultdict(list) for _ in sorts]
    typos: dict[str, list[str]] = defaultdict(list)
    for code in known:
        for (fold, _), by_form in zip(sorts, forms, strict=True):
            by_form[fold(code)].append(code)
        for form in _one_less(typed(code)) if typed is not None else ():
            typos[form].append(code)
    near: dict[str, list[str]] = {}
    for code in sought:
        tiers = []
        for (fold, fits), by_form in zip(sorts, forms, strict=True):
            tiers.append([each for each in by_form.get(fold(code), ()) if fold(code) and fits(code, each)])
        if typed is not None and len(typed(code)) >= _SHORTEST:
            likely = dict.fromkeys(each for form in _one_less(typed(code)) for each in typos.get(form, ()))
            tiers.append([each for each in likely if one_slip(typed(code), typed(each))])
        if any(tiers):
            near[code] = next(tier for tier in tiers if tier)
    return near


def _one_less(text: str) -> Iterator[str]:
    """The text, and the text without one of its signs."""
    yield text
    yield from {text[:n] + text[n + 1 :] for n in range(len(text))}


def _abbreviates(first: str, second: str) -> bool:
    """Tell whether one name is the other with words shortened: Luis D. and Luis Díaz."""
    a, b = _words(first), _words(second)
    if len(a) != len(b) or len(a) < 2 or any(word.isdigit() for word in a + b):
        return False
    return all(x.startswith(y) or y.startswith(x) for x, y in zip(a, b, strict=True))
