"""What is believed about coupons: draws from one posterior, tables for planners, and recruits for simulations.

A draw says what share of people is limited, how much more coupons motivate, how many come with the most coupons, what
people's answers add to their zeal, and how waves drift (`coupon_family`, `belief_fit`). What follows for decisions is
the average over draws. Three parts of a belief have names, because people ask "and if": `capacity` (people have a
limited number to bring, so that one coupon does almost as well as three), `per_coupon` (each coupon is used on its own)
and `motivate` (more coupons motivate, so that three are needed).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from peerfront.foundation.binomials import thinned_counts
from peerfront.foundation.covariates import Codes, Schema, kinds_of
from peerfront.foundation.errors import DataFileError
from peerfront.foundation.randomness import Luck
from peerfront.foundation.stored import Stored
from peerfront.models.belief.coupon_family import FURTHEST, expected, moved, tilt, transport

Array = NDArray[np.float64]
Numbers = NDArray[np.int64]
PARTS = ("capacity", "per_coupon", "motivate")
"""Names of the parts of a belief."""
_MOTIVATES = 0.3  # spur above which more coupons motivate: with one of three, 70% of what comes of all
_PLANNED = 8  # draws that stand for a part in plans
_DECIMALS = 3  # of stored draws: more could reveal single people
_ARRAYS = ("limited", "spur", "levels", "effects", "drift", "spread")


@dataclass(frozen=True)
class Misfit:
    """People with one number of coupons who brought somebody more or less often than a belief explains."""

    coupons: int
    last_wave: bool
    """Whether only people of the last wave are meant."""
    people: int
    brought: int
    """How many of them brought somebody."""
    low: int
    high: int
    """How many were expected: the 80% band."""
    chance: float
    """Of a number at least as unlikely."""

    @classmethod
    def of(cls, coupons: int, last_wave: bool, people: int, brought: int, would: Array | Numbers) -> "Misfit":
        """Compare with how many would bring somebody in studies drawn from the belief."""
        low, high = np.quantile(would, [0.1, 0.9]).round().astype(int).tolist()
        chance = 2.0 * min(float((would <= brought).mean()), float((would >= brought).mean()))
        return cls(coupons, last_wave, people, brought, low, high, chance)


@dataclass(frozen=True, eq=False)
class Belief:
    """Draws of what coupons do, each as likely."""

    schema: Schema
    most: int
    """The most coupons that data show."""
    limited: Array  # [draws], share of people who use the first coupons first
    spur: Array  # [draws], how much more coupons motivate
    levels: Array  # [draws, most], c: how likely 1, 2, ... recruits with the most coupons are
    effects: Array  # [draws, columns], what each answer adds to the zeal
    drift: Array  # [draws], what each wave adds
    spread: Array  # [draws], standard deviation of a wave's luck
    fields: tuple[str, ...] = ()
    """The fields that zeal depends on."""
    waves: int = 1
    """Waves that the drift was learned from; 1: none."""
    effective: float = 1.0
    """How good the draws are: the share of them that exact ones would be worth."""
    gains: Mapping[str, float] = field(default_factory=dict)
    """Log Bayes factor of each field against "everybody alike"; not stored."""
    misfits: tuple[Misfit, ...] = ()
    """What the counts that it was learned from contradict; not stored."""

    def __len__(self) -> int:
        return len(self.levels)

    @cached_property
    def part_of(self) -> NDArray[np.object_]:
        """The name of each draw's part, [draws]."""
        return np.where(self.spur > _MOTIVATES, "motivate", np.where(self.limited >= 0.5, "capacity", "per_coupon"))

    @cached_property
    def weights(self) -> dict[str, float]:
        """The shares of the parts that are left, the largest first."""
        shares = {name: float((self.part_of == name).mean()) for name in PARTS}
        return {name: share for name, share in sorted(shares.items(), key=lambda pair: -pair[1]) if share > 0.0}

    def part(self, which: str | Sequence[int] | Numbers) -> "Belief":
        """The draws of a part, or those of these numbers."""
        own = np.flatnonzero(self.part_of == which) if isinstance(which, str) else np.asarray(which)
        return replace(self, **{name: getattr(self, name)[own] for name in _ARRAYS})

    def same_draws(self, other: "Belief") -> bool:
        """Whether both believe the same."""
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in _ARRAYS)

    def of_most(self, covariates: Codes, zeal: Array | float = 0.0) -> Array:
        """f by each draw: chances of 0 .. most recruits with the most coupons, [draws, people, most + 1].

        `zeal` is added to everybody's, [draws].
        """
        own = self.effects @ self.schema.one_hot(covariates).astype(np.float64).T + np.reshape(zeal, (-1, 1))
        scores = own[:, :, None] * tilt(self.most)
        scores[:, :, 1:] += self.levels[:, None, :]
        f: Array = np.exp(scores - logsumexp(scores, axis=2, keepdims=True))
        return f

    @cached_property
    def response(self) -> "BeliefResponse":
        """What coupons do in the next wave, by all draws."""
        return BeliefResponse(self)

    def would_bring(
        self, covariates: Codes, coupons: int, exposure: Array | None, rng: np.random.Generator, *, lucky: bool = False
    ) -> Numbers:
        """People of these who would bring somebody in the next wave with this number of coupons, by each draw, [draws].

        `exposure` [people] is the chance that a recruit who will come has come; `lucky`: with the luck of a wave.
        """
        numbers = []
        for draw in range(len(self)):
            zeal = float(self.spread[draw] * rng.standard_normal()) if lucky else 0.0
            chances = BeliefResponse(self.part([draw]), zeal).counts(covariates, coupons)
            if exposure is not None:
                chances = thinned_counts(chances, exposure)
            numbers.append(int((rng.random(len(chances)) < 1.0 - chances[:, 0]).sum()))
        return np.array(numbers)

    def to_plan_with(self, number: int = _PLANNED) -> "BeliefResponse":
        """The response by a few draws that stand for all: of parts with as many draws, those next to their middles.

        Parts are halves of halves, each time by what differs most: recruits of somebody of whom nothing is known with
        one coupon, or with the most.
        """
        nobody = np.full((1, len(self.schema.fields)), -1, dtype=np.int16)
        recruits = self.response.by_draw(nobody, max(self.most, 2))[:, 0, [0, -1]]
        points = np.log(np.maximum(recruits, 1e-9))
        parts = [np.arange(len(self))]
        while 2 * len(parts) <= number and min(len(part) for part in parts) > 1:
            halves = []
            for part in parts:
                along = int(points[part].var(axis=0).argmax())
                order = part[np.argsort(points[part, along], kind="stable")]
                halves += [order[: len(order) // 2], order[len(order) // 2 :]]
            parts = halves
        middle = [int(part[np.square(points[part] - points[part].mean(axis=0)).sum(axis=1).argmin()]) for part in parts]
        return BeliefResponse(self.part(middle))

    def rounded(self) -> "Belief":
        """The same draws with few decimals, as they are stored."""
        return replace(self, **{name: np.round(getattr(self, name), _DECIMALS) for name in _ARRAYS})

    def stored(self) -> Stored:
        arrays = {name: np.asarray(getattr(self, name), dtype=np.float64) for name in _ARRAYS}
        settings = {
            "most": self.most,
            "fields": list(self.fields),
            "waves": self.waves,
            "effective": round(self.effective, 3),
        }
        return Stored.of_parts(settings, draws=Stored({}, arrays))

    @classmethod
    def restored(cls, stored: Stored, schema: Schema) -> "Belief":
        most, kept = stored.setting("most", int), stored.part("draws")
        fields = stored.texts("fields")
        levels = kept.array("levels", (None, most))
        draws = len(levels)
        shapes = {"effects": (draws, schema.columns)}
        arrays = {name: kept.array(name, shapes.get(name, (draws,))) for name in _ARRAYS if name != "levels"}
        possible = (
            draws > 0
            and most >= 1
            and set(fields) <= set(schema.names)
            and bool(((arrays["limited"] >= 0.0) & (arrays["limited"] <= 1.0)).all())
            and bool((arrays["spur"] >= 0.0).all() and (arrays["spread"] >= 0.0).all())
        )
        if not possible:
            raise DataFileError("stored_model.impossible_belief", place=stored.place)
        return cls(
            schema, most, arrays["limited"], arrays["spur"], levels, arrays["effects"], arrays["drift"],
            arrays["spread"], fields, stored.setting("waves", int), stored.setting("effective", float),
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class BeliefResponse:
    """The response of people of whom only the belief is known: a `ResponseModel`, in the next wave.

    Its tables average over the draws. Where more coupons motivate, gains may rise (`gfp.blocks`).
    """

    belief: Belief
    zeal: float = 0.0
    """Added to everybody's."""

    @property
    def schema(self) -> Schema:
        return self.belief.schema

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields that people's zeal depends on."""
        return self.belief.fields

    @property
    def columns_used(self) -> tuple[int, ...]:
        """The same, as columns of the codes."""
        return tuple(self.schema.names.index(name) for name in self.fields)

    @property
    def most_shown(self) -> int:
        """The most coupons that data show."""
        return self.belief.most

    @cached_property
    def _shapes(self) -> list[tuple[float, float]]:
        return list(zip(self.belief.limited.tolist(), self.belief.spur.tolist(), strict=True))

    def _of_kinds(self, covariates: Codes) -> tuple[Array, Numbers]:
        """f by each draw of people who differ in what counts, [draws, kinds, most + 1], and the kind of each person."""
        self.schema.check(covariates)
        shown = np.full_like(covariates, -1)
        shown[:, self.columns_used] = covariates[:, self.columns_used]
        kinds = kinds_of(shown)
        return self.belief.of_most(kinds.rows, self.belief.drift + self.zeal), kinds.kind

    def by_draw(self, covariates: Codes, max_coupons: int) -> Array:
        """Expected recruits with 1 .. max_coupons coupons, [draws, people, max_coupons]."""
        f, kind = self._of_kinds(covariates)
        return self._recruits(f, max_coupons)[:, kind]

    def _recruits(self, f: Array, max_coupons: int) -> Array:
        maps = [expected(max_coupons, self.belief.most, *shape)[1:] for shape in self._shapes]
        return np.einsum("dpm,dkm->dpk", f, np.stack(maps))

    def expected_recruits(self, covariates: Codes, max_coupons: int) -> Array:
        """Expected recruits with 1 .. max_coupons coupons, [people, max_coupons]."""
        f, kind = self._of_kinds(covariates)
        mean: Array = self._recruits(f, max_coupons).mean(axis=0)[kind]
        return mean

    def gains(self, covariates: Codes, max_coupons: int) -> Array:
        added = np.diff(self.expected_recruits(covariates, max_coupons), axis=1, prepend=0.0)
        return np.maximum(added, 0.0)

    def transform(self, covariates: Codes, uncovered: Array, max_coupons: int) -> Array:
        """T(k) = E[alpha^N(k)] for k = 0 .. max_coupons, [people, max_coupons + 1, latent]."""
        powers = uncovered[:, None, :] ** np.arange(max_coupons + 1)[:, None]  # [people, y, latent]
        f, kind = self._of_kinds(covariates)
        total = np.ones((len(covariates), max_coupons + 1, uncovered.shape[1]))
        for coupons in range(1, max_coupons + 1):
            counts = self._counts(f, coupons)[kind]
            total[:, coupons] = np.einsum("py,pyl->pl", counts, powers[:, : coupons + 1])
        return total

    def covers(self, covariates: Codes, uncovered: Array, max_coupons: int) -> Array:
        table = self.transform(covariates, uncovered, max_coupons)
        shares = np.clip(1.0 - table[:, 1:] / np.maximum(table[:, :-1], 1e-300), 0.0, 1.0)
        return np.ascontiguousarray(shares)

    def _counts(self, f: Array, coupons: int) -> Array:
        maps = np.stack([transport(coupons, self.belief.most, *shape) for shape in self._shapes])  # [draws, y, Y]
        counts: Array = np.einsum("dpm,dym->py", f, maps) / len(f)
        return counts

    def counts(self, covariates: Codes, coupons: int) -> Array:
        f, kind = self._of_kinds(covariates)
        return self._counts(f, coupons)[kind]

    def sample(self, covariates: Codes, coupons: Numbers | int, luck: Luck) -> Numbers:
        draw = (luck.uniform("draw of the belief") * len(self.belief)).astype(np.int64)
        zeal = self.belief.drift[draw] + self.zeal
        return sampled(self.belief, draw, zeal, covariates, coupons, luck)

    def brings(self, covariates: Codes, max_coupons: int, luck: Luck) -> NDArray[np.bool_]:
        """Whether the l-th coupon of each person would add a recruit, [people, max_coupons]."""
        draw = (luck.uniform("draw of the belief") * len(self.belief)).astype(np.int64)
        each = _by_coupon(self.belief, draw, self.belief.drift[draw] + self.zeal, covariates, max_coupons, luck)
        beyond = np.repeat(each[:, -1:], max_coupons + 1 - each.shape[1], axis=1)
        coupons = np.arange(max_coupons + 1)
        wishes = luck.uniform("wish")[:, None] < moved(coupons, self.belief.most, self.belief.spur[draw][:, None])
        recruits = np.where(wishes & (coupons > 0), np.concatenate([each, beyond], axis=1), 0)
        return np.diff(recruits, axis=1) > 0


def sampled(
    belief: Belief, draw: Numbers, zeal: Array, covariates: Codes, coupons: Numbers | int, luck: Luck
) -> Numbers:
    """Recruits of people, [people], each by the draw and with the zeal of their own, by inversion of their own luck.

    More coupons never bring fewer people.
    """
    given = np.broadcast_to(np.asarray(coupons, dtype=np.int64), len(covariates))
    each = _by_coupon(belief, draw, zeal, covariates, int(given.max(initial=0)), luck)
    recruits = np.take_along_axis(each, np.minimum(given, each.shape[1] - 1)[:, None], axis=1)[:, 0]
    wishes = luck.uniform("wish") < moved(given, belief.most, belief.spur[draw])
    return np.where(wishes & (given > 0), recruits, 0)


def _by_coupon(belief: Belief, draw: Numbers, zeal: Array, covariates: Codes, coupons: int, luck: Luck) -> Numbers:
    """Recruits with 0, 1, ... coupons of people who wish to bring any, [people, coupons + 1 or fewer]."""
    luck.check(len(covariates))
    most, levels = belief.most, min(coupons, FURTHEST * belief.most)
    if belief.fields:
        kinds = kinds_of(covariates)
        zeal = zeal + (belief.effects @ belief.schema.one_hot(kinds.rows).astype(np.float64).T)[draw, kinds.kind]
    scores = zeal[:, None] * tilt(most)
    scores[:, 1:] += belief.levels[draw]
    chances = np.exp(scores - scores.max(axis=1, keepdims=True))
    at_least = np.cumsum(chances[:, :0:-1], axis=1)[:, ::-1]  # of 1 .. most, before division by the sum
    total = at_least[:, :1] + chances[:, :1]
    used = ((1.0 - luck.uniform("recruits with the most coupons"))[:, None] * total < at_least).sum(axis=1)  # Y
    limited = luck.uniform("limited") < belief.limited[draw]
    each = luck.uniforms("coupons used", levels)
    recruits = np.zeros((len(zeal), levels + 1), dtype=np.int64)
    for coupon in range(levels):
        before = recruits[:, coupon]
        if coupon < most:
            chance = np.where(limited, used > coupon, (used - before) / (most - coupon))
        else:
            chance = np.where(limited, 0.5 * (before == coupon), (used + 0.5) / (most + 1.0))
        recruits[:, coupon + 1] = before + (each[:, coupon] < chance)
    return recruits
