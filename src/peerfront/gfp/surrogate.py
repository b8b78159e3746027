"""What a frontier is worth, and how much of that one recruit leaves uncovered (Section 3.2), to plan with.

**The value.** The latent-coverage surrogate of Equations 3 and 4,

    V(r, F) = sum_j w_j(r) * (1 - exp(-sum_{x in F} h_j(x))),     h = softplus(net) >= 0,     w(r) = r * softmax(g(r)),

so 0 <= V <= r. A person covers latent coordinate j by h_j; what is covered already is worth nothing more.

**Deadlines.** The paper's value does not depend on how many rounds are left. With `SurrogateSettings.deadline` it does:

    w(r, 0) = 0,     w(r, t) = r * (the first d of softmax(g(r, t)), which has d + 1),     t = 1 .. T rounds left.

Nothing can come after the last round, and the coordinate left out takes what the time does not suffice to use. With t
rounds left the backup needs w(r - s, t - 1), a table of the same kind, so that Propositions 1 to 3 hold as they stand.

**The embeddings.** The conditional Laplace embedding of Equation 5,

    alpha_j(x) = E[exp(-h_j(y))],  y ~ G(. | x),      in (0, 1],

is the share of coordinate j that one recruit of x leaves uncovered. A network gives it: planning samples nothing.

`training` fits both networks.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.covariates import Codes, Schema
from peerfront.foundation.errors import DataFileError, SettingError
from peerfront.foundation.networks import FrozenNetwork, Rows
from peerfront.foundation.settings import (
    at_least,
    check_fields,
    number_pair,
    one_of,
    one_or_more,
    optional,
    proportion,
    step_size,
    truth,
)
from peerfront.foundation.stored import Stored, unless_default
from peerfront.gfp.story import Story
from peerfront.problem import ResponseModel

Array = NDArray[np.float64]
_CAPACITY_LEVELS = 32  # coupons over which a capacity is described to the networks
_SMALLEST_EMBEDDING = 1e-12

SEES = ("nothing", "covariates", "capacity")
"""What the networks may see of a person, each with what comes before it."""


@dataclass(frozen=True, eq=False)
class PersonInputs:
    """What the networks see of a person: the one-hot covariates and, if given, what the response model says of them.

    The paper's networks see covariates alone and have to learn again which of them bring many; the response model
    already knows. Where it uses only some fields (`LearnedResponse.fields`), the others are hidden: people whom the
    data do not tell apart look alike. Networks that are blind see a frontier's size only.
    """

    schema: Schema
    response: ResponseModel | None = None
    blind: bool = False

    @classmethod
    def seeing(cls, sees: str, schema: Schema, response: ResponseModel) -> "PersonInputs":
        """Inputs of networks that see one of `SEES`."""
        one_of("thing that networks see", sees, SEES)
        return cls(schema, response if sees == "capacity" else None, blind=sees == "nothing")

    @property
    def sees(self) -> str:
        if self.blind:
            return "nothing"
        return "covariates" if self.response is None else "capacity"

    @property
    def width(self) -> int:
        return {"nothing": 1, "covariates": self.schema.columns, "capacity": self.schema.columns + 6}[self.sees]

    def rows(self, covariates: Codes) -> Rows:
        """[people, width]."""
        if self.blind:
            return np.ones((len(covariates), 1), dtype=np.float32)
        if self.response is None:
            return self.schema.one_hot(covariates)
        used = getattr(self.response, "fields", None)
        if used is not None and len(used) < len(self.schema.fields):
            visible = np.array([name in used for name in self.schema.names])
            covariates = np.where(visible, covariates, np.int16(-1))
        one_hot = self.schema.one_hot(covariates)
        gains = self.response.gains(covariates, _CAPACITY_LEVELS)
        mean = gains.sum(axis=1)
        described = np.stack(
            [np.log(mean + 0.05), mean / 4.0, gains[:, 0], gains[:, 1], gains[:, 3], gains[:, 7]], axis=1
        )
        return np.concatenate([one_hot, described.astype(np.float32)], axis=1)


@dataclass(frozen=True)
class SurrogateSettings:
    """The shape of the surrogate and where it starts."""

    latent: int = 8
    """Coordinates d."""
    hidden: int = 64
    """Width of both networks: h has two hidden layers, g has one."""
    scaled_budget: bool = True
    """Give g the share r / B (and its root) instead of the raw number r."""
    first_bias: tuple[float, float] | None = (-3.5, -0.5)
    """Biases of h before the softplus are spread over this range, so that coverage starts between almost nothing and
    order one; None leaves torch's start, where ten people cover everything."""
    deadline: bool = False
    """Whether the weights depend on how many rounds are left; for studies of few rounds. The paper's do not."""

    @classmethod
    def paper(cls) -> "SurrogateSettings":
        """d = 32, hidden 64, everything else as torch and the text leave it."""
        return cls(latent=32, scaled_budget=False, first_bias=None)

    def __post_init__(self) -> None:
        check_fields(
            self,
            latent=one_or_more,
            hidden=one_or_more,
            scaled_budget=truth,
            first_bias=optional(number_pair),
            deadline=truth,
        )


@dataclass(frozen=True, eq=False)
class FrozenSurrogate:
    """The value surrogate as arrays: h as a network's matrices, w as a table."""

    inputs: PersonInputs
    coverage_network: FrozenNetwork
    weights: Array  # [budget + 1, latent], w(r); or [rounds + 1, budget + 1, latent], w(r, t)
    stretch: float = 1.0  # how many people count as one (`learning.stretched`)

    @property
    def budget(self) -> int:
        return self.weights.shape[-2] - 1

    @property
    def latent(self) -> int:
        return self.weights.shape[-1]

    @property
    def rounds(self) -> int | None:
        """The most rounds left that the value tells apart; None if it does not depend on them."""
        return None if self.weights.ndim == 2 else len(self.weights) - 1

    def tables(self) -> Array:
        """The weights as [tables, budget + 1, latent]; `table_with` says which one a state needs."""
        return self.weights[None] if self.weights.ndim == 2 else self.weights

    def table_with(self, rounds_left: NDArray[np.int64]) -> NDArray[np.int64]:
        """Which of `tables` values states with these rounds left; more than were learned count as the most."""
        return np.zeros_like(rounds_left) if self.rounds is None else np.clip(rounds_left, 0, self.rounds)

    def weights_with(self, rounds_left: int) -> Array:
        """w(., t), [budget + 1, latent]."""
        table: Array = self.tables()[self.table_with(np.array(rounds_left))]
        return table

    def coverage(self, rows: Rows) -> Array:
        """h of people described by `inputs.rows`, [people, latent]."""
        return np.logaddexp(0.0, self.coverage_network(rows).astype(np.float64)) / self.stretch

    def values(
        self,
        budgets: NDArray[np.int64],
        rows: Rows,
        first: NDArray[np.int64],
        rounds_left: NDArray[np.int64] | None = None,
    ) -> Array:
        """V of states whose people are rows first[f] .. first[f + 1] - 1, [states]."""
        self.check_budget(int(budgets.max(initial=0)))
        if self.rounds is not None and rounds_left is None:
            raise SettingError("learned_value.rounds_left_missing")
        which = self.table_with(np.zeros_like(budgets) if rounds_left is None else rounds_left)
        totals = np.concatenate([np.zeros((1, self.latent)), np.cumsum(self.coverage(rows), axis=0)])
        covered = np.maximum(totals[first[1:]] - totals[first[:-1]], 0.0)
        values: Array = (self.tables()[which, budgets] * -np.expm1(-covered)).sum(axis=1)
        return values

    def stored(self) -> Stored:
        settings = {"sees": self.inputs.sees, **unless_default("stretch", self.stretch, 1.0)}
        tables = Stored({}, {"tables": self.weights})
        return Stored.of_parts(settings, coverage=self.coverage_network.stored(), weights=tables)

    @classmethod
    def restored(cls, stored: Stored, schema: Schema, response: ResponseModel) -> "FrozenSurrogate":
        inputs = PersonInputs.seeing(stored.setting("sees", str), schema, response)
        tables = stored.part("weights")
        table = tables.arrays.get("tables")
        dimensions = 3 if table is not None and table.ndim == 3 else 2
        weights = tables.array("tables", (None,) * dimensions)
        _check_weights(weights, tables.place)
        network = FrozenNetwork.restored(stored.part("coverage"), inputs.width, weights.shape[-1])
        return cls(inputs, network, weights, stored.number("stretch", 1.0, 1.0))

    def check_budget(self, budget: int) -> None:
        if budget > self.budget:
            raise SettingError("learned_value.budget_too_large", largest=self.budget, budget=budget)


def _check_weights(weights: Array, place: str) -> None:
    """Refuse weights that do not make a value between 0 and r, and 0 after the last round."""
    budgets = np.arange(weights.shape[-2])
    wrong = (weights < 0.0).any() or (weights.sum(axis=-1) > budgets * (1.0 + 1e-5)).any()
    if not weights.size or wrong or (weights.ndim == 3 and weights[0].any()):
        raise DataFileError("learned_value.bad_weights", place=place)


@dataclass(frozen=True)
class LaplaceSettings:
    """How embeddings are sampled and amortised."""

    parents: int = 1024
    """People whose recruits are sampled."""
    children: int = 64
    """Recruits of each."""
    hidden: int = 64
    """Width of the two hidden layers."""
    steps: int = 600
    """Gradient steps of the first fit."""
    refresh_steps: int = 200
    """Gradient steps after each change of h; 0 never refreshes (the paper)."""
    new_parents: bool = False
    """Draw new parents and recruits for each refresh, instead of keeping the first ones."""
    target_share: float | None = None
    """Keep a second network for the targets, with this share of the steps; None: one network serves both."""
    recruits: int = 0
    """Recruits drawn from the offspring model who are added to the population from which parents are drawn."""
    batch: int = 128
    learning_rate: float = 2e-3

    @classmethod
    def paper(cls) -> "LaplaceSettings":
        """256 parents, 64 recruits each, 200 steps, fitted once before value training begins."""
        return cls(parents=256, steps=200, refresh_steps=0, learning_rate=1e-3)

    @classmethod
    def published(cls) -> "LaplaceSettings":
        """As the published table was made: two networks, trained on with new parents at each synchronisation."""
        return replace(cls.paper(), refresh_steps=200, new_parents=True, target_share=0.5, recruits=4096)

    def __post_init__(self) -> None:
        check_fields(
            self,
            parents=one_or_more,
            children=one_or_more,
            hidden=one_or_more,
            steps=one_or_more,
            refresh_steps=at_least(0),
            new_parents=truth,
            target_share=optional(proportion),
            recruits=at_least(0),
            batch=one_or_more,
            learning_rate=step_size,
        )


@dataclass(frozen=True, eq=False)
class LaplaceNetwork:
    """The network that gives the embeddings (L_eta of the paper), as arrays."""

    inputs: PersonInputs
    network: FrozenNetwork
    stretch: float = 1.0  # as in `FrozenSurrogate`

    def uncovered(self, rows: Rows) -> Array:
        """alpha of people described by `inputs.rows`, [people, latent]."""
        scores = self.network(rows).astype(np.float64)
        uncovered = np.clip(1.0 / (1.0 + np.exp(-scores)), _SMALLEST_EMBEDDING, 1.0)
        return uncovered if self.stretch == 1.0 else uncovered ** (1.0 / self.stretch)

    def stored(self) -> Stored:
        settings = {"sees": self.inputs.sees, **unless_default("stretch", self.stretch, 1.0)}
        return Stored.of_parts(settings, network=self.network.stored())

    @classmethod
    def restored(cls, stored: Stored, schema: Schema, response: ResponseModel, latent: int) -> "LaplaceNetwork":
        inputs = PersonInputs.seeing(stored.setting("sees", str), schema, response)
        restored = FrozenNetwork.restored(stored.part("network"), inputs.width, latent)
        return cls(inputs, restored, stored.number("stretch", 1.0, 1.0))


def with_response(story: Story, response: ResponseModel) -> Story:
    """The same value for people who respond in a slightly different way; networks that look at the response see it."""
    surrogate, laplace = learned_networks(story)
    seen = [
        part.inputs if part.inputs.response is None else replace(part.inputs, response=response)
        for part in (surrogate, laplace)
    ]
    return replace(
        story,
        response=response,
        surrogate=replace(surrogate, inputs=seen[0]),
        laplace=replace(laplace, inputs=seen[1]),
    )


def learned_networks(story: Story) -> tuple[FrozenSurrogate, LaplaceNetwork]:
    """The two networks of a planner's story; one whose value was not learned is refused."""
    surrogate, laplace = story.surrogate, story.laplace
    if not isinstance(surrogate, FrozenSurrogate) or not isinstance(laplace, LaplaceNetwork):
        raise SettingError("learned_value.not_learned")
    return surrogate, laplace
