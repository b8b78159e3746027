"""Random numbers of coupons for everybody: each allowed number has at least a given chance, and all chances are known.

With a floor p and K allowed numbers, a share K p of the people get a number drawn evenly, the others their planned one.
Tickets are made by systematic sampling, so that of n people p n get each number, up to rounding, and the coupons needed
hardly depend on luck; then tickets are shuffled. Everybody has chance p of each number by ticket, exactly, and
1 - K p of the planned one.

A planner that knows this sees other tables: with k planned, a person leaves (1 - K p) T(k) + p sum_v T(v) uncovered on
average, and brings (1 - K p) G(k) more than what the random numbers bring.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.errors import SettingError
from peerfront.gfp.backup import Array, Tables
from peerfront.gfp.strata_plan import RandomPart

Numbers = NDArray[np.int64]
_DIGITS = 9  # masses of tickets are rounded to so many, so that 0.1 * 30 is 3
PLANNED = -1
"""The ticket of those who get their planned number."""


@dataclass(frozen=True)
class RandomFloor:
    """The chance of each number from `least` to `most`, at least."""

    chance: float
    least: int
    most: int

    def __post_init__(self) -> None:
        if not 0.0 <= self.chance * self.n_numbers <= 1.0 + 1e-9:
            raise SettingError(
                f"A chance of {self.chance:g} for each of the {self.n_numbers} numbers from {self.least} to "
                f"{self.most} adds up to more than 1; at most {1.0 / self.n_numbers:.3g} is possible. Lower "
                "--randomise, or allow fewer coupons for one person (--max-per-person)."
            )

    @property
    def n_numbers(self) -> int:
        return self.most - self.least + 1

    @property
    def kept(self) -> float:
        """The chance that somebody gets their planned number in any case."""
        return max(1.0 - self.chance * self.n_numbers, 0.0)

    def tickets(self, people: int, start: float) -> Numbers:
        """How many people get each number by ticket, and how many their planned one, [numbers + 1]; 0 <= start < 1."""
        counts: Numbers = np.diff(np.ceil(self._ends(people) - start)).astype(np.int64)
        return counts

    def worst_cases(self, people: int) -> RandomPart:
        """What tickets may take, for every start that makes a difference."""
        starts = np.unique(np.append(np.round(self._ends(people) % 1.0, _DIGITS) % 1.0, 0.0))
        middles = (starts + np.append(starts[1:], 1.0)) / 2.0
        counts = np.unique(np.array([self.tickets(people, start) for start in middles]), axis=0)
        return RandomPart(counts[:, :-1] @ np.arange(self.least, self.most + 1), counts[:, -1].copy())

    def drawn(self, order: Array, start: float) -> Numbers:
        """Everybody's ticket: a number, or PLANNED; `order` [people] are uniforms that shuffle."""
        numbers = np.append(np.arange(self.least, self.most + 1), PLANNED)
        tickets = np.empty(len(order), np.int64)
        tickets[np.argsort(order, kind="stable")] = np.repeat(numbers, self.tickets(len(order), start))
        return tickets

    def expected_spend(self, planned: Numbers, people: int) -> Array:
        """Coupons that go out on average where so many are planned, [spends]."""
        at_random = self.chance * people * float(np.arange(self.least, self.most + 1).sum())
        return np.asarray(self.kept * planned + at_random, dtype=np.float64)

    def mixed(self, tables: Tables) -> tuple[Tables, Array, float]:
        """Tables of the planned coupons, what the random numbers leave uncovered [latent], and what they bring."""
        levels = np.minimum(np.arange(self.least, self.most + 1), tables.coupons)
        transform = tables.transform()  # [people, coupons + 1, latent]
        random = self.chance * transform[:, levels].sum(axis=1, keepdims=True)
        mixture = np.maximum(self.kept * transform + random, 1e-300)
        covers = np.clip(1.0 - mixture[:, 1:] / mixture[:, :-1], 0.0, 1.0)
        left: Array = np.exp(np.log(mixture[:, 0]).sum(axis=0))
        brought = np.concatenate([np.zeros((tables.people, 1)), np.cumsum(tables.gains, axis=1)], axis=1)
        value = self.chance * float(brought[:, levels].sum())
        return Tables(np.ascontiguousarray(self.kept * tables.gains), np.ascontiguousarray(covers)), left, value

    def _ends(self, people: int) -> Array:
        """Where the tickets of each number end on a line as long as the people are many, [numbers + 2]."""
        shares = np.append(np.arange(self.n_numbers + 1) * self.chance, 1.0)
        return np.asarray(np.round(np.minimum(shares, 1.0) * people, _DIGITS))
