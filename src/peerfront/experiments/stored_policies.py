"""Prepared policies as settings and arrays, and made again from them, for the store of results.

Reading makes only what is known here, from checked settings and arrays; nothing that is read can name code to run. A
policy of another class, or one that plans with models that were not fitted, is not kept: it is prepared each time.
"""

from collections.abc import Mapping
from dataclasses import asdict
from importlib import import_module
from typing import Any

import numpy as np

from peerfront.experiments.policies import Renamed
from peerfront.experiments.store import Form
from peerfront.foundation.errors import DataFileError, SettingError
from peerfront.foundation.settings import checked_discount
from peerfront.foundation.stored import Stored
from peerfront.gfp.planner import Planner
from peerfront.models.response.learned_response import LearnedResponse
from peerfront.models.stored_models import restored_schema, restored_value, stored_schema, stored_value
from peerfront.problem import Policy, Rules

_RULES: Mapping[str, Mapping[str, type]] = {
    "RandomSplit": {},
    "Constant": {"coupons": int},
    "Threshold": {"cutoff": float, "at_least": int},
    "Evenly": {"pace": float},
}
"""Simple rules and their settings, without the capacity model that some of them look at."""
_AGENTS: Mapping[str, tuple[str, Mapping[str, type]]] = {
    "BudgetAgent": ("budget_dqn", {"hidden": int, "split": str, "raw_state": bool}),
    "FactorizedAgent": ("factorized_rl", {"hidden": int, "most_activated": int, "temperature": float}),
    "SeparateHeadsAgent": ("factorized_rl", {"hidden": int, "most_activated": int, "temperature": float}),
}
"""Agents of Q-learning: their modules and settings, without schema, rules and capacity model."""
_DEEPEST = 4  # policies within policies


class _CannotBeKept(Exception):
    pass


def _stored_policy(policy: Policy) -> Stored | None:
    capacities: list[LearnedResponse] = []
    try:
        stored = _parts_of(policy, capacities)
    except (_CannotBeKept, SettingError):
        return None
    if not capacities:
        return Stored.of_parts({"schema": None}, policy=stored)
    response = capacities[0]
    return Stored.of_parts({"schema": stored_schema(response.schema)}, response=response.stored(), policy=stored)


def _restored_policy(stored: Stored) -> Policy:
    if stored.settings["schema"] is None:
        return _policy_of(stored.part("policy"), None, _DEEPEST)
    schema = restored_schema(stored.settings["schema"], stored.place)
    response = LearnedResponse.restored(stored.part("response"), schema)
    return _policy_of(stored.part("policy"), response, _DEEPEST)


POLICY: Form[Policy] = Form(_stored_policy, _restored_policy)


def _add(response: object, capacities: list[LearnedResponse]) -> None:
    """Every part of a policy must look at one and the same fitted capacity model."""
    if type(response) is not LearnedResponse or any(response is not other for other in capacities):
        raise _CannotBeKept
    capacities.append(response)


def _class_in(module: str, kind: str) -> Any:
    return getattr(import_module(f"peerfront.baselines.{module}"), kind)


def _is(policy: object, module: str, kind: str) -> bool:
    """Whether it is of this class; the module, which may load torch, is imported only where it must have been."""
    return type(policy).__name__ == kind and type(policy) is _class_in(module, kind)


def _parts_of(policy: Any, capacities: list[LearnedResponse]) -> Stored:
    """The settings and arrays of a policy, without its capacity model, which goes to the list."""
    kind = type(policy).__name__
    if kind in _RULES and _is(policy, "simple_rules", kind):
        if hasattr(policy, "response"):
            _add(policy.response, capacities)
        return Stored({"kind": kind, **{name: getattr(policy, name) for name in _RULES[kind]}}, {})
    if _is(policy, "simple_rules", "AllAtLast"):
        _add(policy.response, capacities)
        return Stored.of_parts({"kind": kind}, rule=_parts_of(policy.rule, capacities))
    if type(policy) is Renamed:
        return Stored.of_parts({"kind": kind, "name": policy.name}, policy=_parts_of(policy.policy, capacities))
    if type(policy) is Planner:
        _add(policy.story.response, capacities)
        for network in (policy.story.surrogate, policy.story.laplace):
            if (seen := getattr(network.inputs, "response", None)) is not None:
                _add(seen, capacities)
        return Stored.of_parts({"kind": kind}, planner=stored_value(policy))
    if _is(policy, "population_dp", "PopulationDP"):
        _add(policy.response, capacities)
        settings = {"kind": kind, "discount": policy.discount, "name": policy.name}
        return Stored(settings, {"values": policy.values})
    if _is(policy, "q_learning", "QPolicy"):
        return _parts_of_q_policy(policy, capacities)
    raise _CannotBeKept


def _policy_of(stored: Stored, response: LearnedResponse | None, depth: int) -> Policy:
    """The policy `_parts_of` took apart."""
    kind = stored.setting("kind", str)
    if depth == 0:
        raise DataFileError("result_store.nested_too_deeply", place=stored.place)
    if kind in ("RandomSplit", "Constant"):
        policy: Policy = _class_in("simple_rules", kind)(**_settings(stored, _RULES[kind]))
        return policy
    if kind == "Renamed":
        return Renamed(_policy_of(stored.part("policy"), response, depth - 1), stored.setting("name", str))
    if kind == "QPolicy":
        return _q_policy_of(stored, response)
    if response is None:
        raise DataFileError("result_store.no_capacity_model", place=stored.place, kind=kind)
    if kind in _RULES:
        policy = _class_in("simple_rules", kind)(response, **_settings(stored, _RULES[kind]))
    elif kind == "AllAtLast":
        policy = _class_in("simple_rules", kind)(response, _policy_of(stored.part("rule"), response, depth - 1))
    elif kind == "Planner":
        value = restored_value(stored.part("planner"), response.schema, response)
        policy = Planner.of(response, *value)
    elif kind == "PopulationDP":
        discount = checked_discount(stored.setting("discount", float))
        values = stored.array("values", (None, None))
        policy = _class_in("population_dp", kind)(response, discount, values, stored.setting("name", str))
    else:
        raise DataFileError("result_store.unknown_policy", place=stored.place, kind=kind)
    return policy


def _settings(stored: Stored, kinds: Mapping[str, type]) -> dict[str, Any]:
    return {name: stored.setting(name, kind) for name, kind in kinds.items()}


# Q-learning: an agent and the weights of its network --------------------------------------------------------------


def _parts_of_q_policy(policy: Any, capacities: list[LearnedResponse]) -> Stored:
    agent = policy.agent
    kind = type(agent).__name__
    if kind not in _AGENTS or not _is(agent, _AGENTS[kind][0], kind) or agent.rules != policy.rules:
        raise _CannotBeKept
    if hasattr(agent, "response"):
        _add(agent.response, capacities)
    settings = {
        "kind": "QPolicy",
        "name": policy.name,
        "rules": asdict(policy.rules),
        "schema": stored_schema(agent.schema),
        "agent": {"kind": kind, **{name: getattr(agent, name) for name in _AGENTS[kind][1]}},
    }
    arrays = {f"network/{name}": weights.numpy() for name, weights in policy.network.state_dict().items()}
    if policy.learning_returns is not None:
        arrays["returns"] = policy.learning_returns
    return Stored(settings, arrays)


def _q_policy_of(stored: Stored, response: LearnedResponse | None) -> Policy:
    import torch

    from peerfront.baselines.q_learning import QPolicy

    schema = restored_schema(stored.settings.get("schema"), stored.place)
    rules = Rules(**stored.setting("rules", dict))
    written = Stored(stored.setting("agent", dict), {}, f"{stored.place}, agent")
    kind = written.setting("kind", str)
    if kind not in _AGENTS:
        raise DataFileError("result_store.unknown_agent", place=written.place, kind=kind)
    module, kinds = _AGENTS[kind]
    own = {"schema": schema, "rules": rules, **_settings(written, kinds)}
    if kind == "BudgetAgent":
        if response is None or response.schema != schema:
            raise DataFileError("result_store.agent_without_model", place=stored.place)
        own["response"] = response
    agent = _class_in(module, kind)(**own)
    with torch.device("meta"):  # shapes alone: whatever sizes are written, they must be those of the arrays
        network = agent.network()
    shapes = {name: tuple(weights.shape) for name, weights in network.state_dict().items()}
    weights = stored.part_arrays("network")
    if weights.arrays.keys() != shapes.keys():
        raise DataFileError("result_store.other_layers", place=stored.place)
    loaded = {name: torch.tensor(weights.array(name, shape, np.float32)) for name, shape in shapes.items()}
    network.load_state_dict(loaded, assign=True)
    returns = stored.array("returns", (None,), finite=False) if "returns" in stored.arrays else None
    return QPolicy(agent, network.eval(), rules, stored.setting("name", str), returns)
