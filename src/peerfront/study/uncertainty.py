"""Whether people differ by more than the belief is unsure of: by how much comparisons between them may be off.

An error that all people share does not matter for who gets a coupon. With q_d(i) the chance, by draw d of the belief,
that person i uses a first coupon, the error of comparisons is the standard deviation over draws of

    log q_d(i) - mean over the people of log q_d.

A chance that is off by that share makes what a coupon of this person is worth, now and later, off by about the same
share: `gain_noise` is the share times that worth.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.covariates import Codes, Schema
from peerfront.foundation.messages import Message, Remedy, warning
from peerfront.foundation.stored import FEWEST
from peerfront.gfp.backup import Tables
from peerfront.gfp.story import Story
from peerfront.study.stories import drawn_responses_of

Array = NDArray[np.float64]
_MUCH_LESS = 0.5  # of the others' mean coupons
_CHANCE = 2.0  # standard errors that chance explains


def drawn_chances(stories: Sequence[Story], people: Codes) -> tuple[Array, Array]:
    """The chance that a first coupon is used, by each draw that a plan is made for, and the draws' weights.

    [draws, people] and [draws].
    """
    chances, weights = [], []
    for story in stories:
        own = np.stack([draw.gains(people, 1)[:, 0] for draw in drawn_responses_of(story.response)])
        chances.append(own)
        weights.append(np.full(len(own), story.weight / len(own)))
    return np.concatenate(chances), np.concatenate(weights)


def relative_errors(chances: Array, weights: Array) -> Array:
    """The standard error of each person's chance compared with the others', as a share of it, [people]."""
    logs = np.log(np.maximum(chances, 1e-9))
    compared = logs - logs.mean(axis=1, keepdims=True)
    mean = weights @ compared
    errors: Array = np.sqrt(weights @ np.square(compared - mean))
    return errors


def gain_noise(
    errors: Array, tables: Tables, worth: Array, coupons: NDArray[np.int64], kind: NDArray[np.int64] | None = None
) -> Array:
    """The standard error, in recruits, of what a coupon of each person brings compared with the others', [people].

    The coupon is the one at the margin: the last that the plan gave, or the first. `worth` [latent] is discount *
    w(budget - spend), and row kind[i] of the tables person i's; `errors` are `relative_errors` of the people.
    """
    from peerfront.gfp.lottery import uncovered_by

    kind = np.arange(tables.people) if kind is None else np.asarray(kind)
    level = np.clip(coupons - 1, 0, tables.coupons - 1)
    left = uncovered_by(tables, kind, coupons)
    brought = tables.gains[kind, level] + tables.covers[kind, level] @ (worth * left)
    noise: Array = errors * brought
    return noise


def unequal_groups(
    schema: Schema, people: Codes, coupons: NDArray[np.int64], chances: Array, weights: Array
) -> list[Message]:
    """Warn if a group gets under half of the others' coupons although chance explains why it seemed to bring less.

    Groups are the categories of every field with at least five people waiting, and five others. `chances` and `weights`
    are `drawn_chances` of the same people.
    """
    warnings = []
    for number, field in enumerate(schema.fields):
        for code, category in enumerate(field.categories):
            group = people[:, number] == code
            if group.sum() < FEWEST or (~group).sum() < FEWEST:
                continue
            own, others = float(coupons[group].mean()), float(coupons[~group].mean())
            differences = chances[:, ~group].mean(axis=1) - chances[:, group].mean(axis=1)  # [draws]
            mean = float(weights @ differences)
            error = float(np.sqrt(weights @ np.square(differences - mean)))
            lacking = (_MUCH_LESS * others - own) * int(group.sum())  # coupons that the group lacks
            if lacking >= 1.0 and mean <= _CHANCE * error + 1e-12:
                floor = Remedy("at_least", f"{field.name}={category}:{_MUCH_LESS:g}")
                group_values = {"field": field.name, "category": category, "own": own, "others": others}
                warnings.append(warning("floors.unequal", **group_values, floor=floor))
    return warnings
