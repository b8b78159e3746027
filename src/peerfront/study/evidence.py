"""What the data show about differences between people who wait, and what is only noise.

A response averages members, each fitted without one part of the data (a delete-a-group jackknife, as in `uncertainty`).
An error that all people share does not matter for who gets a coupon, so errors are those of comparisons: with G members
and q_g(i) the chance, by member g, that person i uses a first coupon,

    se_i^2 = (G - 1) / G * sum_g (d_gi - mean_g d_gi)^2,     d_gi = log q_g(i) - mean over the people of log q_g.

A chance that is off by the share se_i makes what a coupon of this person is worth, now and later, off by about the same
share: `gain_noise` is se_i times that worth.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.covariates import Codes, Schema
from peerfront.foundation.privacy import FEWEST
from peerfront.gfp.backup import Array, Tables
from peerfront.models.response.learned_response import LearnedResponse

_MUCH_LESS = 0.5  # of the others' mean coupons
_CHANCE = 2.0  # standard errors that chance explains


def member_chances(responses: Sequence[LearnedResponse], weights: Sequence[float], people: Codes) -> Array:
    """The chance that a first coupon is used, by each member, averaged over stories with these weights.

    [members, people]. Members with the same number have left out the same part of the data; a story with fewer of them
    than others counts in none.
    """
    chances = [
        np.stack([response.member(g).gains(people, 1)[:, 0] for g in range(len(response.rates.log_scale))])
        for response in responses
    ]
    most = max(len(each) for each in chances)
    pairs = [(each, weight) for each, weight in zip(chances, weights, strict=True) if len(each) == most]
    total = sum(weight for _, weight in pairs)
    average: Array = sum((weight / total * each for each, weight in pairs), start=np.zeros_like(pairs[0][0]))
    return average


def relative_errors(chances: Array) -> Array:
    """The standard error of each person's chance compared with the others', as a share of it, [people].

    `chances` are [members, people]. 0 with one member: nothing was held out, so nothing is known.
    """
    logs = np.log(np.maximum(chances, 1e-9))
    compared = logs - logs.mean(axis=1, keepdims=True)
    errors: Array = np.sqrt((len(chances) - 1) * compared.var(axis=0))
    return errors


def gain_noise(
    chances: Array, tables: Tables, worth: Array, coupons: NDArray[np.int64], kind: NDArray[np.int64] | None = None
) -> Array:
    """The standard error, in recruits, of what a coupon of each person brings compared with the others', [people].

    The coupon is the one at the margin: the last that the plan gave, or the first. `worth` [latent] is discount *
    w(budget - spend), and row kind[i] of the tables person i's; `chances` are `member_chances` of the people.
    """
    from peerfront.gfp.lottery import uncovered_by

    kind = np.arange(tables.people) if kind is None else np.asarray(kind)
    level = np.clip(coupons - 1, 0, tables.coupons - 1)
    left = uncovered_by(tables, kind, coupons)
    brought = tables.gains[kind, level] + tables.covers[kind, level] @ (worth * left)
    noise: Array = relative_errors(chances) * brought
    return noise


def unequal_groups(schema: Schema, people: Codes, coupons: NDArray[np.int64], chances: Array) -> list[str]:
    """Warn where a group gets under half of the others' coupons, and chance explains why it was expected to bring less.

    Groups are the categories of every field with at least five people waiting, and five others. `chances` are
    `member_chances` of the same people; with one member nothing is known about chance, and nothing is said.
    """
    members = len(chances)
    if members < 2:
        return []
    warnings = []
    for number, field in enumerate(schema.fields):
        for code, category in enumerate(field.categories):
            group = people[:, number] == code
            if group.sum() < FEWEST or (~group).sum() < FEWEST:
                continue
            own, others = float(coupons[group].mean()), float(coupons[~group].mean())
            differences = chances[:, ~group].mean(axis=1) - chances[:, group].mean(axis=1)  # [members]
            error = float(np.sqrt((members - 1) * differences.var()))
            lacking = (_MUCH_LESS * others - own) * int(group.sum())  # coupons that would make the difference
            if lacking >= 1.0 and float(differences.mean()) <= _CHANCE * error + 1e-12:
                warnings.append(
                    f"Warning: people with {field.name} {category!r} get {own:.2f} coupons each on average, the others "
                    f"{others:.2f}, and chance explains the evidence that they bring fewer. To give them half of the "
                    f"average at least, add --at-least {_quoted(f'{field.name}={category}:{_MUCH_LESS:g}')}."
                )
    return warnings


def _quoted(text: str) -> str:
    """Quote an option's value for a command line, if it needs that."""
    plain = all(sign.isalnum() or sign in "_=:.-" for sign in text)
    return text if plain else '"' + text.replace('"', '\\"') + '"'
