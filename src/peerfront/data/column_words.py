"""The words of a column's name: `group_a/HIV-Result2` says group, a, hiv, result.

Names are compared by whole words, so that `race` is found in `Race.WBO.` and not in `embrace`.
"""

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

_LOW, _HIGH = "[a-z\u0430-\u044f]", "[A-Z\u0410-\u042f]"  # Latin and Cyrillic
_CASES = re.compile(rf"(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])|(?<={_LOW})(?={_HIGH})|(?<={_HIGH})(?={_HIGH}{_LOW})")
_AFTER_CAPITALS = re.compile(rf"(?<={_HIGH}{_HIGH})(?={_LOW})")  # HIVresult is HIV and result, HIVResult too
_LONGEST = 200  # characters of a name that are looked at
Phrase = tuple[str, ...]
"""Words that must all stand in a name, in whatever order."""


@lru_cache(maxsize=10_000)
def words_of(name: str) -> tuple[str, ...]:
    """Return the words of a name: lower case, without accents, split at signs, digits and capital letters.

    >>> words_of("Orientación_sexual"), words_of("isSeed"), words_of("race___1")
    (('orientacion', 'sexual'), ('is', 'seed'), ('race', '1'))
    """
    parted = _CASES.sub(" ", plain(name[:_LONGEST]))
    return tuple(word.lower() for word in re.split(r"[\W_]+", parted) if word)


def plain(text: str) -> str:
    """Remove accents; ß becomes ss."""
    parts = unicodedata.normalize("NFKD", text.replace("ß", "ss"))
    return "".join(c for c in parts if not unicodedata.combining(c) or c == "\u0306").replace("\u0306", "")


def phrases(*texts: str) -> tuple[Phrase, ...]:
    """Write phrases as text: `phrases("hiv", "test result")`."""
    return tuple(words_of(text) for text in texts)


def says(name: str, listed: Iterable[Phrase]) -> bool:
    """Tell whether all words of one of the phrases stand in the name, or the name is one of them written together."""
    words = words_of(name)
    spoken, joined = {*words, *words_of(_AFTER_CAPITALS.sub(" ", name[:_LONGEST]))}, "".join(words)
    return any(spoken.issuperset(phrase) or joined == "".join(phrase) for phrase in listed)


def is_called(name: str, listed: Iterable[Phrase]) -> bool:
    """Tell whether the name is one of the phrases and nothing else."""
    joined = "".join(words_of(name))
    return any(joined == "".join(phrase) for phrase in listed)
