"""Which coupons of a plan are tied: they could as well have gone to others, as far as anybody can tell.

Every coupon is measured at the plan's own prices,

    m_i(l) = g_i(l) + sum_j W_j u_j * log(T_ij(l - 1) / T_ij(l)),     W = discount * w(r - s),  u = prod_i T_i(k_i),

the tangent of Q at the plan (see `greedy`). On this scale a person's last coupon and another's next one can be
compared, and people whose rows are the same have the same m. The cut lies half way between the smallest m of a coupon
that was given and the largest of one that was not. A coupon whose m is within its person's noise of the cut is tied.

People are counted by class: those of a class have the same rows, up to rounding, and are treated alike in everything.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peerfront.gfp.backup import Array, Tables

Numbers = NDArray[np.int64]
_SAME = 1e-9  # relative: numbers that differ by less are the same
_BELOW_ONE = 1.0 - 1e-12  # keeps logarithms finite


def twin_classes(tables: Tables) -> Numbers:
    """The class of each row, [rows]: rows that are the same up to rounding share one."""
    rows = np.concatenate([tables.gains, tables.covers.reshape(tables.people, -1)], axis=1)
    direction = 0.5 + np.modf(np.arange(1, rows.shape[1] + 1) * 0.6180339887498949)[0]
    line = np.argsort(rows @ direction, kind="stable")  # rows that are the same stand side by side
    one, other = np.abs(rows[line[1:]]), np.abs(rows[line[:-1]])
    new = np.ones(len(rows), dtype=bool)
    new[1:] = (np.abs(one - other) > _SAME * np.maximum(one, other) + 1e-15).any(axis=1)
    classes = np.empty(len(rows), np.int64)
    classes[line] = np.cumsum(new) - 1
    return classes


def uncovered_by(tables: Tables, kind: Numbers, coupons: Numbers) -> Array:
    """What people with these rows and coupons leave uncovered together, [latent]."""
    number = _with_at_least(kind, coupons, tables.people, tables.coupons)
    left: Array = np.exp(np.tensordot(number, np.log1p(-np.minimum(tables.covers, _BELOW_ONE)), 2))
    return left


def measured(tables: Tables, worth: Array, left: Array) -> Array:
    """m of every coupon, [people, coupons], where `left` [latent] is uncovered; it never rises along a row."""
    logs = -np.log1p(-np.minimum(tables.covers, _BELOW_ONE))
    measures: Array = np.minimum.accumulate(tables.gains + logs @ (worth * left), axis=1)
    return measures


@dataclass(frozen=True, slots=True, eq=False)
class Slots:
    """The tied coupons by class: those after the first `safe`, up to the number `open`.

    The first `safe` are given in any case, and those after `open` are not.
    """

    safe: Numbers  # [classes]
    open: Numbers  # [classes]


@dataclass(frozen=True, slots=True, eq=False)
class Classes:
    """People by class, what their coupons bring, and what a plan gave them."""

    of: Numbers  # [people], the class of each
    size: Numbers  # [classes]
    gains: Array  # [classes, levels]
    logs: Array  # [classes, levels, latent], log(T(l - 1) / T(l)), at least 0
    worth: Array  # [latent]
    noise: Array  # [classes], the largest of their people's
    coupons: Numbers  # [people], the plan's
    given: Array  # [classes, levels], people to whom the plan gave at least 1, 2, ... coupons
    fewest: Numbers  # [classes], of the plan's coupons of one person
    most: Numbers  # [classes]
    least: int
    value: float
    """Q of the plan, up to a constant."""

    @classmethod
    def of_plan(
        cls, tables: Tables, worth: Array, coupons: Numbers, noise: Array, kind: Numbers, most: int, least: int
    ) -> "Classes":
        """Count the people of a plan; person i has row kind[i] of the tables."""
        levels = min(most, max(tables.coupons, int(coupons.max())))
        used = min(levels, tables.coupons)  # coupons beyond the tables bring nothing
        rows, kind = np.unique(kind, return_inverse=True)
        classes = twin_classes(tables.take(rows))
        _, first = np.unique(classes, return_index=True)
        of, number = classes[kind], len(first)
        gains, logs = np.zeros((number, levels)), np.zeros((number, levels, tables.latent))
        gains[:, :used] = tables.gains[rows[first], :used]
        logs[:, :used] = -np.log1p(-np.minimum(tables.covers[rows[first], :used], _BELOW_ONE))
        loudest, highest, lowest = np.zeros(number), np.zeros(number, np.int64), np.full(number, levels)
        np.maximum.at(loudest, of, noise)
        np.maximum.at(highest, of, coupons)
        np.minimum.at(lowest, of, coupons)
        given = _with_at_least(of, coupons, number, levels)
        value = _value(given, gains, logs, worth)
        size = np.bincount(of, minlength=number)
        return cls(of, size, gains, logs, worth, loudest, coupons, given, lowest, highest, least, value)

    def measures(self) -> tuple[Array, float | None]:
        """m [classes, levels], and the cut; None if nobody's coupon could go to somebody else."""
        left = np.exp(-np.tensordot(self.given, self.logs, 2))
        measures = np.minimum.accumulate(self.gains + self.logs @ (self.worth * left), axis=1)
        losing, gaining = np.flatnonzero(self.most > self.least), np.flatnonzero(self.fewest < measures.shape[1])
        if not len(losing) or not len(gaining):
            return measures, None
        low = measures[losing, self.most[losing] - 1].min()
        high = measures[gaining, self.fewest[gaining]].max()
        return measures, float(low + high) / 2

    def slots(self, measures: Array, cut: float, part: float) -> Slots:
        """The coupons within a part of the noise of the cut. Where numbers differ inside a class, they are tied too."""
        reach = (part * self.noise + _SAME * abs(cut))[:, None]
        safe = np.clip((measures > cut + reach).sum(axis=1), self.least, self.fewest)
        useful = (measures >= cut - reach) & (measures > 0.0)
        return Slots(safe, np.maximum(useful.sum(axis=1), self.most))

    def lost(self, coupons: Numbers) -> float:
        """The plan's value minus that of another allocation of as many coupons."""
        given = _with_at_least(self.of, coupons, *self.gains.shape)
        same = (given == self.given).all()
        return 0.0 if same else self.value - _value(given, self.gains, self.logs, self.worth)

    def allowed(self, coupons: Numbers, number: int, winners: Array) -> NDArray[np.bool_]:
        """Whether draws lose no more than the noise of the coupons that go from one class to another, [draws].

        In each draw, `winners` [draws, classes] get their coupon of this number on top of `coupons` [people].
        """
        given, level = _with_at_least(self.of, coupons, *self.gains.shape), number - 1
        now = (given * self.gains).sum() + winners @ self.gains[:, level]
        covered = np.tensordot(given, self.logs, 2) + winners @ self.logs[:, level]  # [draws, latent]
        value = now - np.expm1(-covered) @ self.worth
        moved = np.abs(given - self.given)
        moved[:, level] = 0.0
        noise = moved.sum(axis=1) @ self.noise
        noise = noise + np.abs(given[:, level] + winners - self.given[:, level]) @ self.noise
        allowed: NDArray[np.bool_] = self.value - value <= noise + _SAME * max(abs(self.value), 1.0)
        return allowed


def _with_at_least(group: Numbers, coupons: Numbers, groups: int, levels: int) -> Array:
    """People of each group who have at least 1, 2, ... coupons, [groups, levels]."""
    number = np.empty((groups, levels))
    for level in range(levels):
        number[:, level] = np.bincount(group[coupons > level], minlength=groups)
    return number


def _value(given: Array, gains: Array, logs: Array, worth: Array) -> float:
    """Q, up to a constant, of so many people with at least 1, 2, ... coupons in each class."""
    return float((given * gains).sum() + worth @ -np.expm1(-np.tensordot(given, logs, 2)))
