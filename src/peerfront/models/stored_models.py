"""Schemas, generators and planners written down as data, and made again: what saved fits and stored results share."""

from collections.abc import Mapping
from dataclasses import fields
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from peerfront.foundation.covariates import Codes, Field, Schema
from peerfront.foundation.errors import DataFileError
from peerfront.foundation.messages import Severity
from peerfront.foundation.settings import whole_number
from peerfront.foundation.stored import Stored
from peerfront.gfp.planner import Planner
from peerfront.gfp.story import Story
from peerfront.gfp.surrogate import FrozenSurrogate, LaplaceNetwork, learned_networks
from peerfront.problem import ResponseModel, Rules

if TYPE_CHECKING:
    from peerfront.models.offspring.category_networks import MaskedDiffusion, SoftmaxOffspring
    from peerfront.models.offspring.diffusion import DiffusionOffspring
    from peerfront.models.offspring.inheritance_tables import InheritanceTable

    Generator = InheritanceTable | SoftmaxOffspring | MaskedDiffusion | DiffusionOffspring

GENERATORS = {
    "inheritance": ("inheritance_tables", "InheritanceTable"),
    "softmax": ("category_networks", "SoftmaxOffspring"),
    "masked": ("category_networks", "MaskedDiffusion"),
    "diffusion": ("diffusion", "DiffusionOffspring"),
}
"""Module of `models.offspring` and class of each kind of generator that can be saved."""
_LARGEST_RULE, _MOST_ROUNDS = 10**9, 100_000  # far beyond any study, and small enough to count with
_PROBED = 1000  # people at whom restored models are tried
_MOST_CATEGORIES = 32_767  # codes of categories are 16-bit integers


# Schemas ---------------------------------------------------------------------------------------------------------


def stored_schema(schema: Schema) -> list[dict[str, Any]]:
    """The fields and their categories, in order, as JSON holds them."""
    return [{"name": each.name, "categories": list(each.categories)} for each in schema.fields]


def restored_schema(fields: Any, place: str) -> Schema:
    """The schema `stored_schema` wrote."""
    if type(fields) is not list:
        raise DataFileError("stored_model.no_schema", place=place, value=_short(fields))
    return Schema(tuple(_restored_field(each, place) for each in fields))


def _restored_field(field: Any, place: str) -> Field:
    if type(field) is not dict or field.keys() != {"name", "categories"}:
        raise DataFileError("stored_model.no_field", place=place, field=_short(field))
    name, categories = field["name"], field["categories"]
    if type(name) is not str or type(categories) is not list or not all(type(each) is str for each in categories):
        raise DataFileError("stored_model.field_not_of_texts", place=place, field=_short(field))
    if len(categories) > _MOST_CATEGORIES:
        raise DataFileError(
            "stored_model.too_many_categories",
            place=place,
            field=_short(name),
            categories=len(categories),
            most=_MOST_CATEGORIES,
        )
    return Field(name, tuple(categories))


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:80]}..."


# Generators ------------------------------------------------------------------------------------------------------


def generator_class(kind: str) -> "type[Generator]":
    """The class of a kind of generator; imported when it is used, as a plan with a table needs no network."""
    if kind not in GENERATORS:
        raise DataFileError("stored_model.unknown_generator", kind=kind, names=sorted(GENERATORS))
    module, name = GENERATORS[kind]
    generator: type[Generator] = getattr(import_module(f"peerfront.models.offspring.{module}"), name)
    return generator


def kind_of(offspring: object) -> str | None:
    """The kind of a generator; None for one that cannot be saved."""
    for kind, (_, name) in GENERATORS.items():
        if type(offspring).__name__ == name and type(offspring) is generator_class(kind):
            return kind
    return None


# Planners --------------------------------------------------------------------------------------------------------


def stored_value(planner: Planner) -> Stored:
    """The value and the embeddings that all stories of a planner share, and how to use them."""
    surrogate, laplace = learned_networks(planner.stories[0])
    settings = {"discount": planner.discount, "least_per_person": planner.least_per_person, "name": planner.name}
    return Stored.of_parts(settings, surrogate=surrogate.stored(), laplace=laplace.stored())


def restored_value(
    stored: Stored, schema: Schema, response: ResponseModel
) -> tuple[FrozenSurrogate, LaplaceNetwork, float, int, str]:
    """What `stored_value` wrote: value, embeddings, discount, least coupons per person, and name.

    `response` is what the networks are shown of people.
    """
    surrogate = FrozenSurrogate.restored(stored.part("surrogate"), schema, response)
    laplace = LaplaceNetwork.restored(stored.part("laplace"), schema, response, surrogate.latent)
    least = whole_number("least per person", stored.setting("least_per_person", int), 0)
    return surrogate, laplace, stored.setting("discount", float), least, stored.setting("name", str)


# What models do --------------------------------------------------------------------------------------------------


def check_behaviour(schema: Schema, planner: Planner, place: str) -> None:
    """Try restored models at people of every category: numbers of the right shape can still be no model.

    Coupons bring something between nobody and as many people as there are coupons; people cover something between
    nothing and a finite amount, and a recruit leaves a share of it uncovered.
    """
    people = np.full((schema.columns + 1, len(schema.fields)), -1, dtype=np.int16)  # the first is quite unknown
    for field, (start, size) in enumerate(zip(schema.offsets.tolist(), schema.sizes.tolist(), strict=True)):
        people[start + 1 : start + 1 + size, field] = np.arange(size)
    people = people[:: max(1, len(people) // _PROBED)]
    for story in planner.stories:
        _check_story(story, people, place)


def _check_story(story: Story, people: Codes, place: str) -> None:
    surrogate, laplace = learned_networks(story)
    with np.errstate(all="ignore"):
        gains = story.response.gains(people, 8)
        covered = surrogate.coverage(surrogate.inputs.rows(people))
        uncovered = laplace.uncovered(laplace.inputs.rows(people))
        recruits, most = np.cumsum(gains, axis=1), np.arange(1, gains.shape[1] + 1) + 1e-9
        possible = {
            "stored_model.impossible_chances": ((gains >= 0) & (recruits <= most)).all(),
            "stored_model.impossible_coverage": ((covered >= 0) & np.isfinite(covered)).all(),
            "stored_model.impossible_shares": ((uncovered > 0) & (uncovered <= 1)).all(),
        }
    for code, fine in possible.items():
        if not fine:
            raise DataFileError(code, place=place)


# Rules and scores ------------------------------------------------------------------------------------------------


def restored_rules(written: Stored) -> Rules:
    """The rules of a study, written as a table of whole numbers."""
    rules = written.setting("rules", dict)
    if rules.keys() != {field.name for field in fields(Rules)}:
        raise DataFileError("stored_model.no_rules", place=written.place, rules=_short(sorted(rules)))
    for name, value in rules.items():
        most = _MOST_ROUNDS if name == "rounds" else _LARGEST_RULE
        if value is not None and (type(value) is not int or value > most):
            raise DataFileError(
                "stored_model.impossible_rule", place=written.place, name=name, value=_short(value), most=most
            )
    return Rules(**rules)


def _is_message(stored: Any) -> bool:
    """Whether this is a message as `words.stored_text` stores it."""
    if type(stored) is not dict or {*stored} != {"code", "arguments", "severity"}:
        return False
    return type(stored["code"]) is str and type(stored["arguments"]) is dict and stored["severity"] in (*Severity,)


def check_scores(scores: Mapping[str, Any], place: str) -> None:
    """Refuse scores that plans and reports could not read out."""
    messages, fields = scores.get("messages", []), scores.get("fields", [])
    readable = type(messages) is list and all(map(_is_message, messages))
    named = type(fields) is list and all(type(name) is str for name in fields)
    if not readable or not named or type(scores.get("offspring", {})) is not dict:
        raise DataFileError("stored_model.impossible_scores", place=place)
