"""Prepared policies as settings and arrays, and made again from them, for the store of results.

Reading makes only what is known here, from checked settings and arrays; nothing that is read can name code to run. A
policy of another class, or one that plans with models that were not fitted, is not kept: it is prepared each time.
What cannot be read is an error of any kind, and the store takes it as missing.
"""

from collections.abc import Mapping
from dataclasses import asdict, fields
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from peerfront.experiments.store import Form
from peerfront.foundation.covariates import Schema
from peerfront.foundation.errors import SettingError, check_extra
from peerfront.foundation.messages import note
from peerfront.foundation.settings import checked_discount
from peerfront.foundation.stored import Stored
from peerfront.gfp.planner import Planner
from peerfront.models.response.learned_response import LearnedResponse
from peerfront.models.stored_models import restored_schema, restored_value, stored_schema, stored_value
from peerfront.problem import Policy, Rules

_MODULES: Mapping[str, str] = {
    **dict.fromkeys(("RandomSplit", "Constant", "Threshold", "Evenly", "AllAtLast"), "baselines.simple_rules"),
    "PopulationDP": "baselines.population_dp",
    "Renamed": "experiments.policies",
    "QPolicy": "baselines.q_learning",
    "BudgetAgent": "baselines.budget_dqn",
    "FactorizedAgent": "baselines.factorized_rl",
    "SeparateHeadsAgent": "baselines.factorized_rl",
}
"""Classes of policies and agents that are kept, and where they stand; some of these modules load torch."""
_PLAIN = (int, float, str, bool)  # kinds of settings
_WITHIN = ("policy", "rule", "agent")  # fields that hold a policy or an agent
_ARRAYS = {"values": (None, None), "learning_returns": (None,)}  # fields that hold an array, and its shape
_DEEPEST = 4  # policies within policies


class _CannotBeKept(Exception):
    pass


def _stored_policy(policy: Policy) -> Stored | None:
    capacities: list[LearnedResponse] = []
    try:
        stored = _taken_apart(policy, capacities)
    except (_CannotBeKept, SettingError):
        return None
    if not capacities:
        return Stored.of_parts({"schema": None}, policy=stored)
    response = capacities[0]
    return Stored.of_parts({"schema": stored_schema(response.schema)}, response=response.stored(), policy=stored)


def _restored_policy(stored: Stored) -> Policy:
    response = None
    if stored.settings["schema"] is not None:
        schema = restored_schema(stored.settings["schema"], stored.place)
        response = LearnedResponse.restored(stored.part("response"), schema)
    policy: Policy = _put_together(stored.part("policy"), response, _DEEPEST, agent=False)
    return policy


POLICY: Form[Policy] = Form(_stored_policy, _restored_policy)


def _class_of(kind: str) -> Any:
    return getattr(import_module(f"peerfront.{_MODULES[kind]}"), kind)


def _taken_apart(thing: Any, capacities: list[LearnedResponse]) -> Stored:
    """The settings and arrays of a policy or an agent, without its capacity model, which goes to the list."""
    kind = type(thing).__name__
    if type(thing) is Planner:
        _add(thing.story.response, capacities)
        for network in (thing.story.surrogate, thing.story.laplace):
            if (seen := getattr(network.inputs, "response", None)) is not None:
                _add(seen, capacities)
        return Stored.of_parts({"kind": kind}, planner=stored_value(thing))
    if kind not in _MODULES or type(thing) is not _class_of(kind):
        raise _CannotBeKept
    settings: dict[str, Any] = {"kind": kind}
    arrays: dict[str, NDArray[Any]] = {}
    parts: dict[str, Stored] = {}
    for field in fields(thing):
        name, value = field.name, getattr(thing, field.name)
        if name == "response":
            _add(value, capacities)
        elif name == "network":
            arrays |= {f"network/{layer}": weights.numpy() for layer, weights in value.state_dict().items()}
        elif name in _WITHIN:
            parts[name] = _taken_apart(value, capacities)
        elif isinstance(value, Schema):
            settings[name] = stored_schema(value)
        elif isinstance(value, Rules):
            settings[name] = asdict(value)
        elif name not in _ARRAYS:
            settings[name] = value
        elif value is not None:
            arrays[name] = value
    stored = Stored.of_parts(settings, **parts)
    return Stored(stored.settings, {**stored.arrays, **arrays})


def _add(response: object, capacities: list[LearnedResponse]) -> None:
    """Every part of a policy must look at one and the same fitted capacity model."""
    if type(response) is not LearnedResponse or any(response is not other for other in capacities):
        raise _CannotBeKept
    capacities.append(response)


def _put_together(stored: Stored, response: LearnedResponse | None, depth: int, *, agent: bool) -> Any:
    """The policy or agent that `_taken_apart` took apart."""
    kind = stored.setting("kind", str)
    if depth == 0 or kind.endswith("Agent") != agent:
        raise ValueError(f"{kind} cannot stand here")
    if kind == "Planner":
        own = _needed(response)
        return Planner.of(own, *restored_value(stored.part("planner"), own.schema, own))
    values: dict[str, Any] = {}
    for field in fields(_class_of(kind)):
        name = field.name
        if name == "response":
            values[name] = _needed(response)
        elif name == "network":
            values[name] = _network(values["agent"], stored.part_arrays(name))
        elif name in _WITHIN:
            values[name] = _put_together(stored.part(name), response, depth - 1, agent=name == "agent")
        elif name in stored.arrays:
            values[name] = stored.array(name, _ARRAYS[name], finite=name == "values")
        elif field.type is Schema:
            values[name] = restored_schema(stored.settings.get(name), stored.place)
        elif field.type is Rules:
            values[name] = Rules(**stored.setting(name, dict))
        elif field.type in _PLAIN:
            values[name] = stored.setting(name, field.type)
    if "discount" in values:
        checked_discount(values["discount"])
    if "schema" in values and "response" in values and values["schema"] != values["response"].schema:
        raise ValueError("the agent and its capacity model know different fields")
    return _class_of(kind)(**values)


def _needed(response: LearnedResponse | None) -> LearnedResponse:
    if response is None:
        raise ValueError("there is no capacity model")
    return response


def _network(agent: Any, weights: Stored) -> Any:
    """The network of an agent of Q-learning, with these weights."""
    check_extra("torch", note("extras.agents"), "research")
    import torch

    with torch.device("meta"):  # shapes alone: whatever sizes are written, they must be those of the arrays
        network = agent.network()
    shapes = {name: tuple(layer.shape) for name, layer in network.state_dict().items()}
    if weights.arrays.keys() != shapes.keys():
        raise ValueError("the network has other layers")
    loaded = {name: torch.tensor(weights.array(name, shape, np.float32)) for name, shape in shapes.items()}
    network.load_state_dict(loaded, assign=True)
    return network.eval()
