"""Recruiter-recruit pairs: what every generator is fitted to, and judged on by its samples alone."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.covariates import Codes, Schema
from peerfront.foundation.errors import SettingError
from peerfront.foundation.messages import Message, note
from peerfront.foundation.randomness import named_generator, named_luck
from peerfront.foundation.settings import seed_number, whole_number
from peerfront.foundation.settings import share as checked_share
from peerfront.problem import History, OffspringModel

_WELL_KNOWN = 20  # pairs of each kind of recruiter, on average: enough to learn each kind on its own


@dataclass(frozen=True, eq=False)
class Pairs:
    """Recruiter-recruit pairs of one schema; at least one."""

    schema: Schema
    parents: Codes  # [pairs, fields]
    children: Codes  # [pairs, fields]

    def __post_init__(self) -> None:
        for codes in (self.parents, self.children):
            self.schema.check(codes)
        if len(self.parents) != len(self.children):
            raise SettingError("pairs.do_not_match", recruiters=len(self.parents), recruits=len(self.children))
        if not len(self.parents):
            raise SettingError("pairs.none")

    @classmethod
    def of(cls, history: History) -> "Pairs":
        pairs = cls(history.schema, history.parents, history.children)
        if not pairs.known_fields.any():
            raise SettingError("pairs.nothing_known")
        return pairs

    @property
    def known_fields(self) -> NDArray[np.bool_]:
        """Fields known of at least one recruit, [fields]; generators draw the others evenly."""
        known: NDArray[np.bool_] = np.any(self.children >= 0, axis=0)
        return known

    def __len__(self) -> int:
        return len(self.parents)

    def subset(self, rows: NDArray[np.integer] | NDArray[np.bool_]) -> "Pairs":
        return Pairs(self.schema, self.parents[rows], self.children[rows])

    def split(self, share: float, seed: int) -> tuple["Pairs", "Pairs"]:
        """(training, held out), by whole recruiters: all pairs of people with the same covariates are on one side.

        Otherwise a network that memorises recruiters would look good on their other recruits. At least one kind of
        recruiter is on each side; with only one kind everything is on both. Where each kind has 20 pairs and more on
        average, memorising is right, and a kind that is held out would never be learned: there single pairs are drawn.
        """
        share, seed = checked_share("held out", share), seed_number("seed", seed)
        kinds, kind = np.unique(self.parents, axis=0, return_inverse=True)
        rng = named_generator("pairs", seed)
        if len(self) >= _WELL_KNOWN * len(kinds):
            drawn = rng.random(len(self)) < share
            drawn[:2] = (True, False)  # something on both sides
            return self.subset(~drawn), self.subset(drawn)
        if len(kinds) < 2:
            return self, self
        held = min(max(1, round(share * len(kinds))), len(kinds) - 1)
        out = np.isin(kind.reshape(-1), rng.permutation(len(kinds))[:held])
        return self.subset(~out), self.subset(out)


# Judging by samples ------------------------------------------------------------------------------------------------

SAMPLES = 100


def check_schema(model: object, schema: Schema) -> None:
    """Refuse to judge a model that names its schema on data of another one."""
    own = getattr(model, "schema", schema)
    if own != schema:
        raise SettingError("diagnostics.other_schema", model=_described(own), data=_described(schema))


def _described(schema: Schema) -> list[Message]:
    fields = [note("diagnostics.field", name=field.name, n=len(field)) for field in schema.fields]
    return [*fields[:4], note("diagnostics.more_fields", n=len(fields) - 4)] if len(fields) > 4 else fields


def sampled_children(model: OffspringModel, parents: Codes, samples: int, seed: int = 0) -> Codes:
    """`samples` recruits of each parent, [parents, samples, fields]."""
    samples = whole_number("samples", samples, 1)
    luck = named_luck(("judge offspring", seed_number("seed", seed)), len(parents) * samples)
    children = model.sample(np.repeat(parents, samples, axis=0), luck)
    return children.reshape(len(parents), samples, parents.shape[1])


def sampled_log_scores(
    model: OffspringModel, judged: Pairs, *, samples: int = SAMPLES, seed: int = 0
) -> NDArray[np.float64]:
    """Log of the share of samples with the true category, [pairs, fields]; unknown categories score 0.

    Half a sample is spread over the categories of the field: a category never drawn is unlikely, not impossible.
    """
    check_schema(model, judged.schema)
    children = sampled_children(model, judged.parents, samples, seed)
    hits = (children == judged.children[:, None, :]).sum(axis=1)
    chances = (hits + 0.5 / judged.schema.sizes) / (samples + 0.5)
    scores: NDArray[np.float64] = np.where(judged.children >= 0, np.log(chances), 0.0)
    return scores
