"""Per-field softmax: a network maps the recruiter to the chances of every category of every field.

Fields of a recruit are independent given the recruiter. A field known of no recruit is drawn evenly. The model needs
NumPy alone; `training.fit_softmax` fits it.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from peerfront.foundation.covariates import Codes, Schema
from peerfront.foundation.networks import FrozenNetwork
from peerfront.foundation.randomness import Luck
from peerfront.foundation.stored import Stored
from peerfront.models.offspring.inheritance import draw_fields


@dataclass(frozen=True, eq=False)
class SoftmaxOffspring:
    """The fitted generator."""

    schema: Schema
    network: FrozenNetwork  # from the recruiter's one-hot row to the logits of all categories
    name: str = "softmax"

    def probabilities(self, parents: Codes) -> list[NDArray[np.float64]]:
        """Per field the chances of each category, [children, categories]."""
        self.schema.check(parents)
        first, bias = self.network.weights[0], self.network.biases[0]
        return softmax_by_field(self.schema, self.network.after_first(self.schema.summed_rows(first, parents) + bias))

    def sample(self, parents: Codes, luck: Luck) -> Codes:
        probabilities = self.probabilities(parents)
        luck.check(len(parents))
        return draw_fields(probabilities, luck)

    def stored(self) -> Stored:
        return self.network.stored()

    @classmethod
    def restored(cls, stored: Stored, schema: Schema) -> "SoftmaxOffspring":
        return cls(schema, FrozenNetwork.restored(stored, schema.columns, schema.columns, "gelu"))


def softmax_by_field(schema: Schema, logits: NDArray[np.float32]) -> list[NDArray[np.float64]]:
    """Per field the chances of each category, [rows, categories], from logits [rows, columns]."""
    ends = zip(schema.offsets.tolist(), schema.sizes.tolist(), strict=True)
    return [softmax(logits[:, start : start + size].astype(np.float64), axis=1) for start, size in ends]
