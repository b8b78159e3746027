"""What a column says by itself: the words of its name, and its values as codes, numbers and groups of people.

Names are compared by whole words (`group_a/HIV-Result2` says group, a, hiv, result), so that `race` is found in
`Race.WBO.` and not in `embrace`.
"""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerfront.foundation.typed_values import looks_numeric, read_numbers

# Names ------------------------------------------------------------------------------------------------------------


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


# Values -----------------------------------------------------------------------------------------------------------


Codes = NDArray[np.int64]
Numbers = NDArray[np.float64]
FEWEST_IN_GROUP = 5
"""People: rarer values share a group."""
_PER_GROUP = 8  # people that each group has on average, at least


@dataclass(frozen=True, eq=False)
class ColumnValues:
    """A column's values for the people with usable counts."""

    values: pd.Series

    @cached_property
    def codes(self) -> Codes:
        return np.asarray(pd.factorize(self.values.to_numpy(dtype=object))[0], dtype=np.int64)

    @property
    def varies(self) -> bool:
        return bool((self.codes != 0).any())

    @cached_property
    def filled(self) -> NDArray[np.bool_]:
        return np.asarray((self.values != "").to_numpy())

    @cached_property
    def numbers(self) -> Numbers | None:
        """The column as numbers, with 0 for nothing; two answers are 0 and 1; None if it holds neither."""
        texts = self.values[self.filled]
        if len(texts) and looks_numeric(texts):
            numbers = read_numbers(texts)
            if np.isfinite(numbers).all():
                placed = np.zeros(len(self.values))
                placed[self.filled] = numbers
                return placed
        if texts.nunique() <= 2 - (not self.filled.all()):
            return np.asarray(self.codes != self.codes[0], dtype=np.float64)
        if texts.nunique() == 2:  # yes, no and nothing: nothing is as good as no
            yes = max(texts.unique(), key=lambda text: text.strip().lower() in ("1", "yes", "y", "true", "si", "oui"))
            return np.asarray(self.values == yes, dtype=np.float64)
        return None

    def groups(self, most: int) -> Codes:
        """Parts people into at most `most` groups: values, bands of numbers, and one for empty cells; 0, 1, ..."""
        counts = np.bincount(self.codes)
        numbers = self.numbers
        most = max(min(most, len(self.codes) // _PER_GROUP), 2)
        if len(counts) > most and numbers is not None:
            bands = np.unique(np.quantile(numbers[self.filled], np.arange(1, most) / most))
            # Values of many people make bands of their own: a quantile is where the band after it begins, too.
            codes = np.searchsorted(bands, numbers, side="left") + np.searchsorted(bands, numbers, side="right")
            codes = np.where(self.filled, codes + 1, 0)
        else:
            common = np.argsort(-counts, kind="stable")[: most - 1]
            kept = np.full(len(counts), most)
            kept[common] = np.arange(len(common))
            codes = kept[self.codes]
        codes = np.unique(codes, return_inverse=True)[1]
        few = np.bincount(codes)[codes] < FEWEST_IN_GROUP
        return np.asarray(np.unique(np.where(few, -1, codes), return_inverse=True)[1], dtype=np.int64)
