"""Schemas, generators and planners written down as data, and made again: what saved fits and stored results share."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from peerfront.allocation.planner import Planner
from peerfront.foundation.covariates import Field, Schema
from peerfront.foundation.errors import DataFileError
from peerfront.foundation.settings import whole_number
from peerfront.foundation.stored import Stored
from peerfront.models.capacity import LearnedCapacity
from peerfront.value.surrogate import FrozenSurrogate, LaplaceNetwork, learned_networks

if TYPE_CHECKING:
    from peerfront.models.offspring.diffusion import DiffusionOffspring
    from peerfront.models.offspring.inheritance import InheritanceTable
    from peerfront.models.offspring.masked import MaskedDiffusion
    from peerfront.models.offspring.softmax import SoftmaxOffspring

    Generator = InheritanceTable | SoftmaxOffspring | MaskedDiffusion | DiffusionOffspring

GENERATORS = {
    "inheritance": "InheritanceTable",
    "softmax": "SoftmaxOffspring",
    "masked": "MaskedDiffusion",
    "diffusion": "DiffusionOffspring",
}
"""Classes of generators that can be saved, by kind: each in the module of `models.offspring` named for it."""
_MOST_CATEGORIES = 32_767  # codes of categories are 16-bit integers


# Schemas ---------------------------------------------------------------------------------------------------------


def stored_schema(schema: Schema) -> list[dict[str, Any]]:
    """The fields and their categories, in order, as JSON holds them."""
    return [{"name": each.name, "categories": list(each.categories)} for each in schema.fields]


def restored_schema(fields: Any, place: str) -> Schema:
    """The schema `stored_schema` wrote."""
    if type(fields) is not list:
        raise DataFileError(f"In {place}, 'schema' is {_short(fields)}; expected a list of fields. Make it again.")
    return Schema(tuple(_restored_field(each, place) for each in fields))


def _restored_field(field: Any, place: str) -> Field:
    if type(field) is not dict or field.keys() != {"name", "categories"}:
        raise DataFileError(f"In {place}, a field is {_short(field)}; expected its name and categories. Make it again.")
    name, categories = field["name"], field["categories"]
    if type(name) is not str or type(categories) is not list or not all(type(each) is str for each in categories):
        raise DataFileError(f"In {place}, a field is {_short(field)}; expected texts. Make it again.")
    if len(categories) > _MOST_CATEGORIES:
        raise DataFileError(
            f"In {place}, the field {_short(name)} has {len(categories):,} categories; at most {_MOST_CATEGORIES:,} "
            "can be told apart. Make it again."
        )
    return Field(name, tuple(categories))


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:80]}..."


# Generators ------------------------------------------------------------------------------------------------------


def generator_class(kind: str) -> "type[Generator]":
    """Import only what is used: a plan with an inheritance table needs no network."""
    if kind not in GENERATORS:
        raise DataFileError(f"The generator {kind!r} is not known; known are {', '.join(sorted(GENERATORS))}.")
    made: type[Generator] = getattr(import_module(f"peerfront.models.offspring.{kind}"), GENERATORS[kind])
    return made


def kind_of(offspring: object) -> str | None:
    """The kind of a generator; None for one that cannot be saved."""
    for kind, name in GENERATORS.items():
        if type(offspring).__name__ == name and type(offspring) is generator_class(kind):
            return kind
    return None


# Planners --------------------------------------------------------------------------------------------------------


def stored_planner(planner: Planner) -> Stored:
    """The value, the embeddings and how to use them; the capacity model is stored on its own."""
    settings = {"discount": planner.discount, "least_per_person": planner.least_per_person, "name": planner.name}
    surrogate, laplace = learned_networks(planner)
    return Stored.of_parts(settings, surrogate=surrogate.stored(), laplace=laplace.stored())


def restored_planner(stored: Stored, schema: Schema, capacity: LearnedCapacity) -> Planner:
    """The planner `stored_planner` wrote, with this capacity model."""
    surrogate = FrozenSurrogate.restored(stored.part("surrogate"), schema, capacity)
    laplace = LaplaceNetwork.restored(stored.part("laplace"), schema, capacity, surrogate.latent)
    least = whole_number("least per person", stored.setting("least_per_person", int), 0)
    discount, name = stored.setting("discount", float), stored.setting("name", str)
    return Planner(capacity, surrogate, laplace, discount, least, name)
