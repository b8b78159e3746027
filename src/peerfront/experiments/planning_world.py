"""The planning world: what policies may know before they are tested in the true one (Section 5.3).

`oracle` lends them the true models. `learned` and `learned-paper` show them a simulated history of the world, with the
paper's sizes, and fit models to it: the best we know, or the paper's own settings. `learned:offspring=softmax` names
the generator of recruits, `learned:capacity=paper` the fit of capacities; `diffusion-paper-tables` are inheritance
tables of what the paper's diffusion draws, hundreds of times faster. First recruits always come from the true
world, and recruits of a slow generator are drawn only once.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TypeVar

import numpy as np

from peerfront.experiments.store import Form, Store
from peerfront.foundation.covariates import Codes, Schema
from peerfront.foundation.messages import note
from peerfront.foundation.own_parts import name_of
from peerfront.foundation.randomness import Keys, Luck, fold, named_generator, named_luck
from peerfront.foundation.settings import Option, Spec, one_of
from peerfront.foundation.stored import Stored
from peerfront.models.response.learned_response import LearnedResponse
from peerfront.models.stored_models import generator_class, kind_of, restored_schema, stored_schema
from peerfront.problem import BranchingWorld, FirstRecruits, History, OffspringModel, ResponseModel, World

MODELS = ("oracle", "learned", "learned-paper")
_OPTIONS = {
    "capacity": Option(str, ""),
    "offspring": Option(str, ""),
}
_CAPACITY = ("default", "paper")
TABLES_OF_DIFFUSION = "diffusion-paper-tables"
_OFFSPRING = ("auto", "inheritance", "softmax", "masked", "diffusion", "diffusion-paper", TABLES_OF_DIFFUSION)
_TABULATED = 8192  # recruits of the paper's diffusion from which its tables are made
_PRICED = 16_384  # recruits from which tables of prices are made where a generator has no tables


def check_models(models: str) -> tuple[str, str] | None:
    """How capacity and offspring models are to be fitted; None where the true ones are used."""
    spec = Spec.parse(models)
    one_of(note("kinds.models"), spec.name, MODELS)
    options = spec.read_options(_OPTIONS if spec.name == "learned" else {})
    paper = spec.name == "learned-paper"
    response = one_of(
        note("kinds.fit_of_capacities"), options.get("capacity", "paper" if paper else "default"), _CAPACITY
    )
    offspring = options.get("offspring", "diffusion-paper" if paper else "auto")
    one_of(note("kinds.generator_of_recruits"), offspring, _OFFSPRING)
    return None if spec.name == "oracle" else (response, offspring)


@dataclass(frozen=True, eq=False)
class _FittedWhenNeeded:
    """An offspring model that is fitted when the first recruits are drawn; some policies never draw any."""

    history: Callable[[], History]
    kind: str
    seed: int
    keeping: "_Keeping"

    @cached_property
    def model(self) -> OffspringModel:
        model = self.keeping.found_or_made("offspring", self._fitted, OFFSPRING)
        slow = self.kind.startswith("diffusion") and self.kind != TABLES_OF_DIFFUSION
        return RememberedOffspring(model) if slow else model

    def _fitted(self) -> OffspringModel:
        from peerfront.models.offspring.generator_choice import fit_offspring

        if self.kind == TABLES_OF_DIFFUSION:
            return _tabulated(fit_offspring(self.history(), "diffusion-paper", seed=self.seed).model, self.history())
        return fit_offspring(self.history(), self.kind, seed=self.seed).model

    def sample(self, parents: Codes, luck: Luck) -> Codes:
        return self.model.sample(parents, luck)


def _tabulated(model: OffspringModel, history: History) -> OffspringModel:
    """Tables of what a slow generator draws for parents like those of the history."""
    parents = np.resize(history.parents, (_TABULATED, history.parents.shape[1]))
    return _tables_of(model, history.schema, parents, named_luck(("tables of a generator",), _TABULATED))


def inherited_by_field(world: World, seed: int) -> OffspringModel:
    """The offspring model of a world with a table for each field; made from samples where the model has none."""
    from peerfront.bounds.price_index import InheritsByField

    offspring: OffspringModel = getattr(world.offspring, "model", world.offspring)  # fitted when it is needed
    if isinstance(offspring, InheritsByField):
        return offspring
    rng = named_generator("parents of price tables", seed)
    parents = np.stack([rng.integers(0, size, _PRICED) for size in world.schema.sizes], axis=1).astype(np.int16)
    return _tables_of(offspring, world.schema, parents, named_luck(("recruits of price tables", seed), _PRICED))


def _tables_of(model: OffspringModel, schema: Schema, parents: Codes, luck: Luck) -> OffspringModel:
    """Inheritance tables, field by field, of what a generator draws: its errors stay, its seconds do not."""
    from peerfront.models.offspring.inheritance_tables import fit_inheritance
    from peerfront.models.offspring.pairs import Pairs

    return fit_inheritance(Pairs(schema, parents, model.sample(parents, luck)))


_MAX_REMEMBERED = 1_000_000  # people; some 250 bytes each


class RememberedOffspring:
    """The same recruits as the model's, each drawn once.

    Policies, discounts and training runs meet many of the same people (a person is a key and a recruiter), and the
    paper's diffusion model takes a millisecond to draw one.
    """

    def __init__(self, model: OffspringModel) -> None:
        self.model = model
        self._drawn: dict[int, bytes] = {}

    def sample(self, parents: Codes, luck: Luck) -> Codes:
        people = _recruit_names(parents, luck.keys).tolist()
        new = {person: place for place, person in enumerate(people) if person not in self._drawn}
        if len(self._drawn) + len(new) > _MAX_REMEMBERED:
            self._drawn.clear()
            new = {person: place for place, person in enumerate(people)}
        if new:
            places = np.fromiter(new.values(), dtype=np.int64)
            children = self.model.sample(parents[places], Luck(luck.keys[places]))
            self._drawn |= {person: child.tobytes() for person, child in zip(new, children, strict=True)}
        recruits = np.frombuffer(b"".join(self._drawn[person] for person in people), dtype=np.int16)
        return recruits.reshape(parents.shape).copy()


def _recruit_names(parents: Codes, keys: Keys) -> Keys:
    """One number for each recruit: its key, with its recruiter's categories folded in field by field."""
    names = keys
    for field in parents.T:
        names = fold(names, field)
    return names


T = TypeVar("T")


@dataclass(frozen=True)
class _Keeping:
    """Where the fitted models of a world are kept, if anywhere, and the text that names the world there."""

    store: Store | None
    identity: str

    def found_or_made(self, part: str, make: Callable[[], T], form: Form[T]) -> T:
        return make() if self.store is None else self.store.find_or_make(part, {"of": self.identity}, make, form)


@lru_cache(maxsize=2)
def planning_world(
    world: World, models: str, seed: int, asks_recruits: bool = False, store: Store | None = None, identity: str = ""
) -> World:
    """The world a policy is prepared in. Kept for the other policies and discounts a worker plays there.

    `asks_recruits`: the history follows whole recruitments instead of asking first recruits once each (the paper).
    Fitted models are read from the store, if there is one, or made and kept there; `identity` names the world.
    """
    fits = check_models(models)
    if fits is None:
        return world
    response_fit, generator = fits

    @lru_cache(maxsize=1)
    def history() -> History:
        from peerfront.simulation.simulated_history import followed_history, simulate_history

        return followed_history(world, seed=seed) if asks_recruits else simulate_history(world, seed=seed)

    def fitted() -> ResponseModel:
        from peerfront.models.response.response_fit import ResponseSettings, fit_response

        # Simulated worlds have effects of every field, and comparisons are to be the same as ever: all fields are used.
        settings = ResponseSettings.paper() if response_fit == "paper" else ResponseSettings(drop_fields=False)
        return fit_response(history(), settings)

    keeping = _Keeping(store, identity)
    offspring = _FittedWhenNeeded(history, generator, seed, keeping)
    response = keeping.found_or_made("capacity", fitted, CAPACITY)
    return BranchingWorld(f"{name_of(world)}, {models}", world.schema, response, offspring, FirstRecruits(world))


# Fitted models as data, for the store of results -----------------------------------------------------------------


def _stored_capacity(response: ResponseModel) -> Stored | None:
    if type(response) is not LearnedResponse:
        return None
    return Stored.of_parts({"schema": stored_schema(response.schema)}, model=response.stored())


def _restored_capacity(stored: Stored) -> ResponseModel:
    schema = restored_schema(stored.settings.get("schema"), stored.place)
    return LearnedResponse.restored(stored.part("model"), schema)


def _stored_offspring(offspring: OffspringModel) -> Stored | None:
    kind = kind_of(offspring)
    if kind is None:
        return None
    settings = {"kind": kind, "schema": stored_schema(offspring.schema)}  # type: ignore[attr-defined] # these have one
    return Stored.of_parts(settings, model=offspring.stored())  # type: ignore[attr-defined]


def _restored_offspring(stored: Stored) -> OffspringModel:
    schema = restored_schema(stored.settings.get("schema"), stored.place)
    return generator_class(stored.setting("kind", str)).restored(stored.part("model"), schema)


CAPACITY: Form[ResponseModel] = Form(_stored_capacity, _restored_capacity)
OFFSPRING: Form[OffspringModel] = Form(_stored_offspring, _restored_offspring)
