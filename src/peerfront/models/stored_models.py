"""Schemas, generators and planners written down as data, and made again: what saved fits and stored results share."""

from collections.abc import Mapping
from dataclasses import fields
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from peerfront.foundation.covariates import Codes, Field, Schema
from peerfront.foundation.errors import DataFileError, check_extra
from peerfront.foundation.messages import Severity, note
from peerfront.foundation.own_files import (
    CHANCE,
    COUNT,
    NUMBER,
    TEXT,
    TRUTH,
    check_shape,
    either,
    exactly,
    maybe,
    whole,
)
from peerfront.foundation.settings import whole_number
from peerfront.foundation.stored import FEWEST, Stored
from peerfront.gfp.planner import Planner
from peerfront.gfp.story import Story
from peerfront.gfp.surrogate import FrozenSurrogate, LaplaceNetwork, learned_networks
from peerfront.models.belief.belief import PARTS
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
    if kind == "diffusion":
        check_extra("torch", note("extras.diffusion"), "research")
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


_COUNTS = dict.fromkeys(("coupons", "people", "brought", "low", "high"), COUNT)
_INTERVALS = {name: [NUMBER] for name in ("expected", "low", "high")}  # of 1, 2, ... coupons
_USE = {"coupon": COUNT, "people": whole(1), "predicted": CHANCE}
_RETURNS = {
    "day": TEXT, "days": {"0.1": NUMBER, "0.5": NUMBER, "0.9": NUMBER}, "open_coupons": COUNT, "expires?": TRUTH,
    "median_interval?": (NUMBER, NUMBER), "few_returns?": TRUTH, "expected_of_open": COUNT,
}  # fmt: skip
_HORIZON = {
    **dict.fromkeys(("days", "forecasts", "held"), COUNT), "horizon": TEXT, "rival": TEXT,
    **dict.fromkeys(("factor", "ratio", "score", "rival_score", "wider"), NUMBER),
    **dict.fromkeys(("judged", "relied_on", "rival_relied_on?"), TRUTH),
}  # fmt: skip
_ANY_FIT = {
    "fields?": [TEXT],
    "messages?": [{"code": TEXT, "arguments": {}, "severity": exactly(*map(str, Severity))}],
    "offspring?": {"kind?": TEXT, "reason?": TEXT},
    "past_forecasts?": {"by_waves": TRUTH, "horizons": [_HORIZON]},
}
_OF_A_STUDY = {
    "people": COUNT, "finished_coupon_holders": COUNT, "pairs": COUNT, "still_open": COUNT, "all_used?": TRUTH,
    "learned_from?": maybe(COUNT),
    "earlier_studies?": {
        "studies": whole(1), "alike_from_earlier": maybe(CHANCE),
        "return_days": either(exactly(None), (NUMBER, NUMBER)),
        **{name: [TEXT] for name in ("shared", "own", "unlike")},
    },
    "coupon_stories": {
        "shown": (COUNT, COUNT), "usual": COUNT, "given": [(whole(1), whole(1))], "same_coupons": TRUTH,
        "pinned": exactly(None, *PARTS), "all": _INTERVALS, "evidence": [_COUNTS],
        "stories": [{"name": exactly(*PARTS), "weight": CHANCE, **_INTERVALS}],
        "misfits?": [_COUNTS | {"last_wave": TRUTH}],
    },
    "coupon_use": [
        either(
            _USE | {"observed": exactly(None), "by": exactly("hardly any", "nearly all")},
            _USE | dict.fromkeys(("observed", "low", "high"), CHANCE),
        )
    ],
    "effects": [{"field": TEXT, "chances": {str: CHANCE}}],
    "returns?": either(_RETURNS, _RETURNS | {"open_coupons": whole(0, FEWEST - 1), "expected_of_open": exactly(None)}),
    "values?": {
        str: dict.fromkeys(("plans", "error", "promised", "simulated"), NUMBER) | {"rule": maybe(NUMBER)}
    },
    "played?": {"people": COUNT, "budget": whole(1)},
}  # fmt: skip
"""Scores that `study.findings` gives a fit, as far as plans and reports read them."""


def check_scores(scores: Mapping[str, Any], place: str) -> None:
    """Refuse scores that plans and reports could not read out."""
    check_shape(scores, _ANY_FIT | _OF_A_STUDY if "people" in scores else _ANY_FIT, place)
    stories = scores.get("coupon_stories", {"stories": []})
    rows = (*stories["stories"], stories.get("all", dict.fromkeys(_INTERVALS, ())))
    if not all(len({len(row[name]) for name in _INTERVALS}) == 1 for row in rows):
        raise DataFileError("stored_model.impossible_scores", place=place)
    if not stories.get("given", [1]) or not all(effect["chances"] for effect in scores.get("effects", ())):
        raise DataFileError("stored_model.impossible_scores", place=place)
