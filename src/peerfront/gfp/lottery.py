"""Ties are drawn by lot: who gets a coupon depends neither on the order of the file nor on noise.

**Ties.** Some coupons of a plan could as well have gone to others. Every coupon is measured at the plan's own prices,

    m_i(l) = g_i(l) + sum_j W_j u_j * log(T_ij(l - 1) / T_ij(l)),     W = discount * w(r - s),  u = prod_i T_i(k_i),

the tangent of Q at the plan (see `greedy`). On this scale a person's last coupon and another's next one can be
compared, and people whose rows are the same have the same m. The cut lies half way between the smallest m of a coupon
that was given and the largest of one that was not. A coupon whose m is within its person's noise of the cut is tied.
People are counted by class: those of a class have the same rows, up to rounding, and are treated alike in everything.

**Lots.** Tied coupons are handed out again as evenly as possible: first coupons before second ones, and where there are
too few for everybody, by lot. So at most one number of coupons is drawn for, and all who take part have the same
chance.

What is tied is judged coupon by coupon. Together they may lose more: coupons that cover the same add less and less. So
the lottery is rehearsed. If most draws would lose more than the noise of the coupons that change hands, the noise is
halved, and at last lots are drawn only among people whose rows are the same, which costs nothing.

**Blocks.** Where a further coupon is worth more than the one before it (`blocks`), handing out evenly may tear blocks
apart. If it loses among people whose rows are the same, they draw lots for the numbers that the plan gave them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.errors import SettingError
from peerfront.foundation.randomness import Luck, named_key
from peerfront.gfp.backup import Array, Tables

Numbers = NDArray[np.int64]
_SAME = 1e-9  # relative: numbers that differ by less are the same
_BELOW_ONE = 1.0 - 1e-12  # keeps logarithms finite
_PARTS_OF_NOISE = (1.0, 0.5, 0.25, 0.125, 0.0)
_REHEARSALS = 400  # draws that show what a lottery may lose
_REHEARSED_LOTS = 2_000_000  # in all of them; a large lottery is rehearsed less often
_TRIES = 20  # draws until one loses no more than the noise


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
    """Tied coupons by class: a person's first `safe` are given in any case, those after `open` are not."""

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
    """Q, up to a constant, from the number of people with at least 1, 2, ... coupons in each class."""
    return float((given * gains).sum() + worth @ -np.expm1(-np.tensordot(given, logs, 2)))


@dataclass(frozen=True, slots=True, eq=False)
class Lottery:
    """An allocation in which ties were drawn by lot."""

    coupons: Numbers  # [people]
    tied: NDArray[np.bool_]  # [people], who cannot be told apart from somebody with another number; others keep theirs
    drawn: NDArray[np.bool_]  # [people], whose number was decided by lot; the other tied people's was evened out
    probability: Array  # [people], that the lottery gives this person this number of coupons
    otherwise: Numbers  # [people], the number with the rest of the probability: one less for who won, else one more;
    # where lots are drawn for the plan's numbers, the fewest for who has the most, else the most
    exact: bool
    """Whether the probabilities are exact (winners / participants); otherwise they are shares of simulated draws."""
    lost: float
    """The plan's value minus this allocation's, at the same spend: at most the noise of the coupons that moved."""
    tied_with: Numbers  # [people], others in the same lottery; 0 for those whose number was not drawn


def draw_ties(
    tables: Tables,
    worth: Array,
    coupons: Numbers,
    noise: Array,
    ids: Sequence[object] | NDArray[np.generic],
    *,
    most_per_person: int,
    least_per_person: int = 0,
    seed: int = 0,
    kind: Numbers | None = None,
    within: Numbers | None = None,
    only_exact: bool = False,
) -> Lottery:
    """Hand out again, by lot, the coupons of a plan that are tied.

    `worth` [latent] is discount * w(budget - spend), `noise` [people] the standard error, in recruits, of each person's
    gain compared with the others'. A person's lot depends on the seed and the id alone. Row kind[i] of the tables is
    person i's (None: row i). Where `within` [people] is given, coupons stay among people with the same label, so that
    floors hold. With `only_exact` no lottery is held whose chances are known only by simulation.
    """
    kind = np.arange(tables.people) if kind is None else np.asarray(kind)
    coupons, noise = np.asarray(coupons, dtype=np.int64), np.asarray(noise, dtype=np.float64)
    _check(coupons, noise, len(kind), len(ids), least_per_person, most_per_person)
    labels = np.zeros(len(coupons), np.int64) if within is None else np.asarray(within)
    result = _unchanged(coupons)
    exact, lost = True, 0.0
    for label in np.unique(labels):
        own, others = np.flatnonzero(labels == label), np.flatnonzero(labels != label)
        uncovered = uncovered_by(tables, kind[others], result.coupons[others])
        classes = Classes.of_plan(
            tables, worth * uncovered, coupons[own], noise[own], kind[own], most_per_person, least_per_person
        )
        part = _draw(classes, [str(ids[i]) for i in own.tolist()], seed, only_exact)
        for name in ("coupons", "tied", "drawn", "probability", "otherwise", "tied_with"):
            getattr(result, name)[own] = getattr(part, name)
        exact, lost = exact and part.exact, lost + part.lost
    return replace(result, exact=exact, lost=lost)


def _draw(classes: Classes, ids: Sequence[str], seed: int, only_exact: bool) -> Lottery:
    """Draw lots among as many people as the noise ties and the value allows."""
    measures, cut = classes.measures()
    if cut is None:
        return _unchanged(classes.coupons)
    among_twins = _draw_among_twins(classes, ids, seed)
    if among_twins.lost > _SAME * max(abs(classes.value), 1.0):
        return _exchanged_among_twins(classes, ids, seed)
    for part in _PARTS_OF_NOISE if classes.noise.any() else (0.0,):
        result = _draw_together(classes, classes.slots(measures, cut, part), ids, seed)
        if result is not None and (result.exact or not only_exact):
            return result
    return among_twins


def _draw_together(classes: Classes, slots: Slots, ids: Sequence[str], seed: int) -> Lottery | None:
    """One lottery for all who are tied; None if most draws would lose more than the noise."""
    to_give = int((classes.coupons - slots.safe[classes.of]).sum())
    if to_give == 0 or to_give == int((classes.size * (slots.open - slots.safe)).sum()):
        return _unchanged(classes.coupons)
    tied = (slots.open > slots.safe)[classes.of]
    before, number, players = _given_evenly(classes, slots, to_give)
    prizes = to_give - int((before - slots.safe[classes.of]).sum())
    if not prizes:
        if not classes.allowed(before, number, np.zeros((1, len(classes.size)))).all():
            return None
        return replace(_unchanged(before), tied=tied, lost=classes.lost(before))
    named, of = [ids[player] for player in players.tolist()], classes.of[players]
    rehearsals = int(np.clip(_REHEARSED_LOTS // len(players), 20, _REHEARSALS))
    rehearsed = _winners(person_luck(named).uniforms("rehearsal", rehearsals), prizes)
    wins = _by_class(rehearsed, of, len(classes.size))
    fine = classes.allowed(before, number, wins)
    draws = _winners(person_luck(named, seed).uniforms("lot", _TRIES), prizes)
    usable = classes.allowed(before, number, _by_class(draws, of, len(classes.size)))
    if fine.mean() < 0.5 or not usable.any():
        return None
    coupons = before.copy()
    coupons[players[draws[:, usable.argmax()]]] += 1
    chance = np.full(len(classes.size), prizes / len(players))
    if not fine.all():
        chance = np.clip(wins[fine].mean(axis=0) / classes.size, 0.5 / rehearsals, 1.0 - 0.5 / rehearsals)
    drawn = np.zeros(len(coupons), dtype=bool)
    drawn[players] = True
    others = np.where(drawn, len(players) - 1, 0)
    return _drawn_lottery(classes, coupons, tied, drawn, coupons > before, chance, bool(fine.all()), others)


def _given_evenly(classes: Classes, slots: Slots, to_give: int) -> tuple[Numbers, int, Numbers]:
    """Give tied first coupons, then second ones, ... as long as there is one for everybody who is tied there.

    Returns coupons [people], the number of the coupon for which there are too few, and the people who may get it.
    """
    filled = slots.safe.copy()
    for number in range(1, classes.gains.shape[1] + 1):
        next_one = (slots.safe < number) & (number <= slots.open)
        if classes.size[next_one].sum() > to_give:
            return filled[classes.of], number, np.flatnonzero(next_one[classes.of])
        filled[next_one] = number
        to_give -= int(classes.size[next_one].sum())
    raise AssertionError("fewer coupons are tied than can be given")


def _draw_among_twins(classes: Classes, ids: Sequence[str], seed: int) -> Lottery:
    """A lottery in each class: as even as possible, and who gets one more by lot."""
    total = np.bincount(classes.of, weights=classes.coupons).astype(np.int64)
    base, prizes = np.divmod(total, classes.size)
    line = np.lexsort([person_luck(ids, seed).uniform("lot"), classes.of])
    place = np.empty(len(line), np.int64)
    place[line] = np.arange(len(line)) - (np.cumsum(classes.size) - classes.size)[classes.of[line]]
    won, drawn = place < prizes[classes.of], (prizes > 0)[classes.of]
    tied = (classes.fewest < classes.most)[classes.of]
    others = np.where(drawn, classes.size[classes.of] - 1, 0)
    return _drawn_lottery(classes, base[classes.of] + won, tied, drawn, won, prizes / classes.size, True, others)


def _exchanged_among_twins(classes: Classes, ids: Sequence[str], seed: int) -> Lottery:
    """A lottery in each class for the numbers that the plan gave."""
    by_lot = np.lexsort([person_luck(ids, seed).uniform("lot"), classes.of])
    by_number = np.lexsort([-classes.coupons, classes.of])
    coupons = np.empty_like(classes.coupons)
    coupons[by_lot] = classes.coupons[by_number]
    tied = (classes.fewest < classes.most)[classes.of]
    having = np.zeros((len(classes.size), int(coupons.max(initial=0)) + 1))
    np.add.at(having, (classes.of, coupons), 1.0)
    probability = having[classes.of, coupons] / classes.size[classes.of]
    most, fewest = classes.most[classes.of], classes.fewest[classes.of]
    others = np.where(tied, classes.size[classes.of] - 1, 0)
    otherwise = np.where(coupons == most, fewest, most)
    return Lottery(coupons, tied, tied.copy(), probability, otherwise, True, 0.0, others)


def _unchanged(coupons: Numbers) -> Lottery:
    """A lottery in which nobody takes part."""
    tied, drawn = np.zeros((2, len(coupons)), dtype=bool)
    nobody = np.zeros(len(coupons), np.int64)
    return Lottery(coupons.copy(), tied, drawn, np.ones(len(coupons)), coupons.copy(), True, 0.0, nobody)


def _drawn_lottery(
    classes: Classes,
    coupons: Numbers,
    tied: NDArray[np.bool_],
    drawn: NDArray[np.bool_],
    won: NDArray[np.bool_],
    chance: Array,
    exact: bool,
    tied_with: Numbers,
) -> Lottery:
    """The result of a lottery in which people of a class won with this chance, [classes]."""
    own = chance[classes.of]
    probability = np.where(drawn, np.where(won, own, 1.0 - own), 1.0)
    otherwise = np.where(drawn, coupons + np.where(won, -1, 1), coupons)
    return Lottery(coupons, tied, drawn, probability, otherwise, exact, classes.lost(coupons), tied_with)


def person_luck(ids: Sequence[str], *names: int) -> Luck:
    """The luck by which lots of each id are drawn: it does not change if people are added."""
    return Luck(np.array([named_key("lottery", *names, each) for each in ids], dtype=np.uint64))


def _winners(lots: Array, prizes: int) -> NDArray[np.bool_]:
    """Who has one of the smallest lots of each draw, [people, draws]."""
    won = np.zeros(lots.shape, dtype=bool)
    np.put_along_axis(won, np.argpartition(lots, prizes - 1, axis=0)[:prizes], True, axis=0)
    return won


def _by_class(won: NDArray[np.bool_], of: Numbers, classes: int) -> Array:
    """Winners of each class in each draw, [draws, classes], from who won, [people, draws], and the people's class."""
    draw, player = np.nonzero(won.T)
    number = np.bincount(draw * classes + of[player], minlength=won.shape[1] * classes)
    return number.reshape(won.shape[1], classes).astype(np.float64)


def _check(coupons: Numbers, noise: Array, rows: int, ids: int, least: int, most: int) -> None:
    if not rows == len(noise) == ids == len(coupons):
        raise SettingError("lottery.other_people", people=len(coupons), rows=rows, noises=len(noise), ids=ids)
    if not np.isfinite(noise).all() or (noise < 0.0).any():
        raise SettingError("lottery.no_noise")
    if len(coupons) and not least <= coupons.min() <= coupons.max() <= most:
        raise SettingError(
            "lottery.other_limits", fewest=int(coupons.min()), largest=int(coupons.max()), least=least, most=most
        )
