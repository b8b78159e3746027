"""The worlds by name, for the command line and for comparisons. A world's module is loaded when the world is made."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from peerfront.foundation.errors import SettingError, UnknownName
from peerfront.foundation.specs import Option, Spec
from peerfront.problem import World


@dataclass(frozen=True)
class WorldEntry:
    """How a named world is described and made; `make` takes the draw and the settings given after the colon."""

    summary: str
    description: str
    make: Callable[..., World]
    options: Mapping[str, Option]
    has_draws: bool
    """Whether the draw matters; if not, every draw is the same world with other luck."""
    asks_recruits: bool = False
    """Whether a history to learn from must follow recruits too, because first recruits do not stand for them."""


def make_world(spec: Spec | str, draw: int = 0) -> World:
    """Make a simulated world by name, with its settings after a colon; `peerfront worlds` lists them.

    Worlds with draws are another world for each `draw`; the others ignore it.

    >>> import peerfront as pf
    >>> world = pf.make_world("icpsr22140:sigma=0.2", draw=3)
    >>> world.schema.columns
    72
    """
    spec = Spec.parse(spec) if isinstance(spec, str) else spec
    entry = world_entry(spec)
    options = spec.read_options(entry.options)
    return entry.make(draw, **options) if entry.has_draws else entry.make(**options)


def world_entry(spec: Spec) -> WorldEntry:
    """The entry of a specification's name; an unknown one is an error with a suggestion."""
    if spec.name not in WORLDS:
        raise UnknownName("world", spec.name, WORLDS)
    return WORLDS[spec.name]


def _icpsr22140(draw: int, **settings: Any) -> World:
    from peerfront.simulation.icpsr22140 import Icpsr22140Settings, icpsr22140

    return icpsr22140(Icpsr22140Settings(draw=draw, **_with_story(settings)))


def _published() -> World:
    from peerfront.simulation.icpsr22140 import published

    return published()


def _boom_bust(**settings: Any) -> World:
    from peerfront.simulation.typed import boom_bust

    return boom_bust(**_with_story(settings))


def _bridge(**settings: Any) -> World:
    from peerfront.simulation.typed import bridge

    return bridge(**_with_story(settings))


def _alike(**settings: Any) -> World:
    from peerfront.simulation.typed import alike

    return alike(**_with_story(settings))


def _network(
    draw: int,
    nodes: str | None = None,
    edges: str | None = None,
    exclude: tuple[str, ...] = (),
    people: int | None = None,
    **settings: Any,
) -> World:
    from peerfront.simulation.network import network_world
    from peerfront.simulation.society import synthetic_society

    settings = _with_story(settings)
    if (nodes is None) != (edges is None):
        raise SettingError("network_world.needs_both_files")
    if nodes is not None and edges is not None:
        from peerfront.simulation.network_files import read_society

        if people is not None:
            raise SettingError("network_world.people_with_file")
        return network_world(read_society(Path(nodes), Path(edges), exclude), draw=draw, **settings)
    if exclude:
        raise SettingError("network_world.exclude_without_file")
    society = synthetic_society(draw=draw) if people is None else synthetic_society(people, draw=draw)
    return network_world(society, draw=draw, **settings)


def _outcome_network(draw: int, **settings: Any) -> World:
    import dataclasses

    from peerfront.simulation.network import network_world
    from peerfront.simulation.outcome_network import OutcomeNetworkSettings, outcome_network

    settings = _with_story(settings)
    recruiting = {name: settings.pop(name) for name in ("sigma", "willingness", "story") if name in settings}
    society = outcome_network(OutcomeNetworkSettings(draw=draw, **settings))
    return dataclasses.replace(network_world(society, draw=draw, **recruiting), name="outcome_network")


def _study(draw: int, **settings: Any) -> World:
    # Files of studies are read by `data`, which the rooms of this layer do not know. By name, so that none imports it.
    world: World = import_module("peerfront.experiments.study_world").study_world(draw, **_with_story(settings))
    return world


def _with_story(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings with those that say what a coupon does taken together, as one `CouponStory`."""
    from peerfront.simulation.coupon_stories import CouponStory

    told = {name: settings[name] for name in _STORY if name in settings}
    return {name: value for name, value in settings.items() if name not in _STORY} | {"story": CouponStory(**told)}


_STORY = {
    "response": Option(
        str, "what a coupon does: capacity (default: the paper's), per_coupon (each on its own) or both"
    ),
    "match": Option(int, "per_coupon: coupons that bring as many as in the capacity story (default 3)"),
    "chance": Option(
        float, "both: chance of a coupon somebody has use for (default .7); per_coupon: everybody's chance"
    ),
    "spread": Option(float, "per_coupon, both: how much chances differ among people alike, 0 (default) to below 1"),
}
_SIGMA = Option(float, "heterogeneity of capacities (default 1; .2 gives a 5-10x spread)")

WORLDS: dict[str, WorldEntry] = {
    "icpsr22140": WorldEntry(
        summary="the paper's world as described: 17 fields, Poisson-softplus capacities, inheritance by field",
        description=(
            "Covariates and inheritance probabilities of the paper's appendix (ICPSR 22140): 17 categorical fields, "
            "72 one-hot columns. Capacity is Poisson with rate kappa * softplus(w . x), calibrated to a mean of 2.5. "
            "First recruits come from a pool of 300. Each draw is another w and another pool."
        ),
        make=_icpsr22140,
        options={
            "sigma": _SIGMA,
            "mean_capacity": Option(float, "mean rate over uniformly random people (default 2.5)"),
            "pool": Option(int, "people from whom first frontiers are drawn (default 300)"),
            **_STORY,
        },
        has_draws=True,
    ),
    "published": WorldEntry(
        summary="the world behind the paper's Table 1: uniform inheritance of .7, one fixed draw",
        description=(
            "As icpsr22140, with every field inherited with probability .7 and the one draw of weights and pool with "
            "which the published table can be found again (docs/explanation/deviations.md, 2)."
        ),
        make=_published,
        options={},
        has_draws=False,
    ),
    "boom_bust": WorldEntry(
        summary="those who bring the most bring dead ends: A -> C, B -> B",
        description=(
            "Types A (rate 5, recruits are C), B (rate 2, recruits are B) and C (rate .01). A recruit follows the rule "
            "with probability .85, else its type is uniform. First recruits: .45 A, .45 B, .10 C."
        ),
        make=_boom_bust,
        options={"fidelity": Option(float, "probability that a recruit follows the rule (default .85)"), **_STORY},
        has_draws=False,
        asks_recruits=True,
    ),
    "bridge": WorldEntry(
        summary="people with little immediate yield open the community that matters",
        description=(
            "Types Local (rate 4, recruits are Dead), Bridge (rate .8, recruits are Hub), Hub (rate 3, recruits .6 "
            "Hub, .4 Dead) and Dead (rate .02). First recruits: .5 Local, .4 Bridge, .1 Dead."
        ),
        make=_bridge,
        options=_STORY,
        has_draws=False,
        asks_recruits=True,
    ),
    "alike": WorldEntry(
        summary="everybody is alike: what is left to decide is how many coupons to give out when",
        description=(
            "One type. Capacity is Poisson with the rate given, or negative binomial with a size (variance rate + "
            "rate^2 / size)."
        ),
        make=_alike,
        options={
            "rate": Option(float, "mean capacity (default 2.5)"),
            "size": Option(float, "of a negative binomial capacity (default: Poisson)"),
            **_STORY,
        },
        has_draws=False,
    ),
    "network": WorldEntry(
        summary="recruitment without replacement over a finite network (built in, or from two CSV files)",
        description=(
            "Everybody can be recruited once. A person brings as many as willingness (softplus Poisson, mean 2.5), "
            "coupons and still-unrecruited acquaintances allow, picked uniformly. Built in: 1,000 people with "
            "homophily in four attributes; or nodes=FILE,edges=FILE. Each draw is another willingness (and built-in "
            "population)."
        ),
        make=_network,
        options={
            "nodes": Option(str, "CSV with a column id and categorical columns", is_file=True),
            "edges": Option(str, "CSV with the columns source and target", is_file=True),
            "exclude": Option(tuple, "node columns to leave out, joined with +"),
            "people": Option(int, "size of the built-in population (default 1000)"),
            "sigma": _SIGMA,
            "willingness": Option(float, "mean number of people somebody is willing to bring (default 2.5)"),
            **_STORY,
        },
        has_draws=True,
        asks_recruits=True,
    ),
    "outcome_network": WorldEntry(
        summary="a network in which an outcome is known for everybody: what estimates can be checked against",
        description=(
            "As network, with people who have an outcome (yes or no) and belong to one of two groups. Settings say how "
            "common the outcome is, how much people with it keep to themselves, how many more people they know, and "
            "how closely the group goes with it. Each draw is another network and another willingness."
        ),
        make=_outcome_network,
        options={
            "people": Option(int, "size of the population (default 1000)"),
            "prevalence": Option(float, "share of people with the outcome (default .2)"),
            "homophily": Option(
                float, "ties between people with and without it that chance would give, for each there is (default 1.5)"
            ),
            "activity": Option(float, "acquaintances of people with the outcome, for each of the others' (default 1)"),
            "mean_degree": Option(float, "mean number of acquaintances (default 10)"),
            "degree_spread": Option(float, "coefficient of variation of expected degrees (default .5)"),
            "agreement": Option(float, "chance to be in the group that goes with the outcome (default .75)"),
            "group_homophily": Option(float, "log odds of a tie within a group (default 1)"),
            "sigma": _SIGMA,
            "willingness": Option(float, "mean number of people somebody is willing to bring (default 2.5)"),
            **_STORY,
        },
        has_draws=True,
        asks_recruits=True,
    ),
    "study": WorldEntry(
        summary="a world like a study of your own (a study's file; without one, the made-up study)",
        description=(
            "The paper's recipe with a study's data: its fields, its people as first recruits, inheritance "
            "probabilities from its recruiter-recruit pairs (p = (match - 1/c) / (1 - 1/c), c categories). "
            "Capacity is Poisson with rate kappa * softplus(w . x), kappa fitted to the study's recruits. Each draw is "
            "another w."
        ),
        make=_study,
        options={
            "file": Option(str, "the study's file, as `peerfront check` reads it", is_file=True),
            "schema": Option(str, "its schema file, as `check --out` writes it (default: guessed)", is_file=True),
            "sigma": Option(float, "heterogeneity of capacities (default 1; 0 for everybody alike)"),
            "mean_capacity": Option(float, "mean rate of people with usable counts (default: from their counts)"),
            "calibrate": Option(str, "what capacities keep of the counts: recruits (default) or the censored mean"),
            "otherwise": Option(str, "fields that are not inherited are drawn uniform (default) or like recruits"),
            **_STORY,
        },
        has_draws=True,
        asks_recruits=True,
    ),
}
