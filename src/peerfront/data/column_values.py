"""A column's values for the people with usable counts: as codes, as numbers, and as groups of people."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerfront.foundation.typed_values import looks_numeric, read_numbers

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
        """People in at most so many groups: values, bands of numbers, and one for empty cells; 0, 1, ..."""
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
