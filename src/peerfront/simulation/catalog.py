"""The worlds by name, for the command line and for comparisons. A world's module is loaded when the world is made."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from peerfront.foundation.errors import SettingError, UnknownName
from peerfront.foundation.messages import Message, note
from peerfront.foundation.settings import Option, Spec
from peerfront.problem import World


@dataclass(frozen=True)
class WorldEntry:
    """How a named world is described and made; `make` takes the draw and the settings given after the colon."""

    summary: Message | str
    description: Message | str
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
        raise UnknownName(note("world_setting.world"), spec.name, WORLDS)
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
        from peerfront.simulation.society import read_society

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

    story = CouponStory(**{name: settings[name] for name in _STORY if name in settings})
    return {name: value for name, value in settings.items() if name not in _STORY} | {"story": story}


_STORY = {
    "response": Option(str, note("world_setting.response")),
    "match": Option(int, note("world_setting.match")),
    "chance": Option(float, note("world_setting.chance")),
    "spread": Option(float, note("world_setting.spread")),
}
_SIGMA = Option(float, note("world_setting.sigma"))

WORLDS: dict[str, WorldEntry] = {
    "icpsr22140": WorldEntry(
        summary=note("world_summary.icpsr22140"),
        description=note("world_description.icpsr22140"),
        make=_icpsr22140,
        options={
            "sigma": _SIGMA,
            "mean_capacity": Option(float, note("world_setting.mean_capacity")),
            "pool": Option(int, note("world_setting.pool")),
            **_STORY,
        },
        has_draws=True,
    ),
    "published": WorldEntry(
        summary=note("world_summary.published"),
        description=note("world_description.published"),
        make=_published,
        options={},
        has_draws=False,
    ),
    "boom_bust": WorldEntry(
        summary=note("world_summary.boom_bust"),
        description=note("world_description.boom_bust"),
        make=_boom_bust,
        options={"fidelity": Option(float, note("world_setting.fidelity")), **_STORY},
        has_draws=False,
        asks_recruits=True,
    ),
    "bridge": WorldEntry(
        summary=note("world_summary.bridge"),
        description=note("world_description.bridge"),
        make=_bridge,
        options=_STORY,
        has_draws=False,
        asks_recruits=True,
    ),
    "alike": WorldEntry(
        summary=note("world_summary.alike"),
        description=note("world_description.alike"),
        make=_alike,
        options={
            "rate": Option(float, note("world_setting.rate")),
            "size": Option(float, note("world_setting.size")),
            **_STORY,
        },
        has_draws=False,
    ),
    "network": WorldEntry(
        summary=note("world_summary.network"),
        description=note("world_description.network"),
        make=_network,
        options={
            "nodes": Option(str, note("world_setting.nodes"), is_file=True),
            "edges": Option(str, note("world_setting.edges"), is_file=True),
            "exclude": Option(tuple, note("world_setting.exclude")),
            "people": Option(int, note("world_setting.people")),
            "sigma": _SIGMA,
            "willingness": Option(float, note("world_setting.willingness")),
            **_STORY,
        },
        has_draws=True,
        asks_recruits=True,
    ),
    "outcome_network": WorldEntry(
        summary=note("world_summary.outcome_network"),
        description=note("world_description.outcome_network"),
        make=_outcome_network,
        options={
            "people": Option(int, note("world_setting.outcome_network_people")),
            "prevalence": Option(float, note("world_setting.prevalence")),
            "homophily": Option(float, note("world_setting.homophily")),
            "activity": Option(float, note("world_setting.activity")),
            "mean_degree": Option(float, note("world_setting.mean_degree")),
            "degree_spread": Option(float, note("world_setting.degree_spread")),
            "agreement": Option(float, note("world_setting.agreement")),
            "group_homophily": Option(float, note("world_setting.group_homophily")),
            "sigma": _SIGMA,
            "willingness": Option(float, note("world_setting.willingness")),
            **_STORY,
        },
        has_draws=True,
        asks_recruits=True,
    ),
    "study": WorldEntry(
        summary=note("world_summary.study"),
        description=note("world_description.study"),
        make=_study,
        options={
            "file": Option(str, note("world_setting.file"), is_file=True),
            "schema": Option(str, note("world_setting.schema"), is_file=True),
            "sigma": Option(float, note("world_setting.study_sigma")),
            "mean_capacity": Option(float, note("world_setting.study_mean_capacity")),
            "calibrate": Option(str, note("world_setting.calibrate")),
            "otherwise": Option(str, note("world_setting.otherwise")),
            **_STORY,
        },
        has_draws=True,
        asks_recruits=True,
    ),
}
