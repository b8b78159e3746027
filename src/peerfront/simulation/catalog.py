"""The worlds by name, for the command line and for comparisons. A world's module is loaded when the world is made."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from peerfront.foundation import own_parts
from peerfront.foundation.checked_calls import checked
from peerfront.foundation.errors import PeerfrontError, SettingError
from peerfront.foundation.messages import Message, note
from peerfront.foundation.settings import Option, Spec, readable
from peerfront.problem import World

_OF_A_WORLD = ("schema", "response", "offspring", "population", "seeds", "refer", "__hash__")
"""A name may be missing; `@dataclass(eq=False)` keeps the hash."""


@dataclass(frozen=True)
class WorldEntry:
    """How a named world is made; `make` takes the draw, if there are draws, and the settings given after the colon."""

    name: str
    make: Callable[..., World]
    options: Mapping[str, Option]
    has_draws: bool = False
    """Whether the draw matters; if not, every draw is the same world with other luck."""
    asks_recruits: bool = False
    """Whether a history to learn from must follow recruits too, because first recruits do not stand for them."""
    about: Message | None = None
    """What it is, for worlds that are not of this package."""

    @property
    def summary(self) -> Message:
        return self.about or note(f"world_summary.{self.name}")

    @property
    def description(self) -> Message:
        return self.about or note(f"world_description.{self.name}")


@checked
def make_world(spec: Spec | str, draw: int = 0) -> World:
    """Make a simulated world by name, with its settings after a colon; `peerfront worlds` lists them.

    Worlds with draws are another world for each `draw`; the others ignore it.

    >>> import peerfront as pf
    >>> world = pf.make_world("icpsr22140:sigma=0.2", draw=3)
    >>> world.schema.columns
    72
    """
    spec = Spec.parse(spec) if isinstance(spec, str) else spec
    return made_world(world_entry(spec.name), spec, draw)


def made_world(entry: WorldEntry, spec: Spec, draw: int) -> World:
    """The world of an entry, with the settings of a specification."""
    settings = _with_story(entry, spec.read_options(entry.options))
    try:
        world = entry.make(draw, **settings) if entry.has_draws else entry.make(**settings)
    except PeerfrontError:
        raise
    except (Exception, SystemExit) as problem:
        if entry in _ENTRIES:
            raise
        raise SettingError("own_parts.no_world_made", name=entry.name, problem=own_parts.place_of(problem)) from problem
    if lacks := lacking(world):
        raise SettingError("own_parts.made_no_world", name=entry.name, value=readable(world), names=lacks)
    return world


def world_entry(name: str) -> WorldEntry:
    """The entry of a name, here or in another package."""
    return own_parts.entry_named(name, WORLDS, GROUP, own_world, note("world_setting.world"))


def own_world(thing: Any) -> WorldEntry:
    """The entry of somebody's own world: an object, or a function or class that makes one, for each draw if it asks."""
    if isinstance(thing, WorldEntry):
        return thing
    name, sentence = own_parts.name_of(thing), note("own_parts.about", about=own_parts.about(thing))
    if not (lacks := lacking(thing)):
        return WorldEntry(name, partial(own_parts.given, thing), {}, about=sentence)
    if not callable(thing):
        raise SettingError("own_parts.no_world", value=readable(thing), names=lacks)
    return WorldEntry(name, thing, {}, has_draws=own_parts.wants(thing, "draw"), about=sentence)


def lacking(thing: Any) -> list[str]:
    """What a world has and this does not; a class is none, only what it makes."""
    return [name for name in _OF_A_WORLD if isinstance(thing, type) or getattr(thing, name, None) is None]


def _with_story(entry: WorldEntry, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings with those that say what a coupon does taken together, as one `CouponStory`."""
    if not _STORY.keys() <= entry.options.keys():
        return dict(settings)
    from peerfront.simulation.coupon_stories import CouponStory

    story = CouponStory(**{name: settings[name] for name in _STORY if name in settings})
    return {name: value for name, value in settings.items() if name not in _STORY} | {"story": story}


def _icpsr22140(draw: int, **settings: Any) -> World:
    from peerfront.simulation.icpsr22140 import Icpsr22140Settings, icpsr22140

    return icpsr22140(Icpsr22140Settings(draw=draw, **settings))


def _published() -> World:
    from peerfront.simulation.icpsr22140 import published

    return published()


def _typed(name: str, **settings: Any) -> World:
    from peerfront.simulation import typed

    world: World = getattr(typed, name)(**settings)
    return world


def _network(
    draw: int,
    nodes: str | None = None,
    edges: str | None = None,
    exclude: tuple[str, ...] = (),
    people: int | None = None,
    **settings: Any,
) -> World:
    from peerfront.simulation.network import network_world
    from peerfront.simulation.society import read_society, synthetic_society

    if (nodes is None) != (edges is None):
        raise SettingError("network_world.needs_both_files")
    if nodes is not None and edges is not None:
        if people is not None:
            raise SettingError("network_world.people_with_file")
        return network_world(read_society(Path(nodes), Path(edges), exclude), draw=draw, **settings)
    if exclude:
        raise SettingError("network_world.exclude_without_file")
    society = synthetic_society(draw=draw) if people is None else synthetic_society(people, draw=draw)
    return network_world(society, draw=draw, **settings)


def _outcome_network(draw: int, **settings: Any) -> World:
    from peerfront.simulation.network import network_world
    from peerfront.simulation.outcome_network import OutcomeNetworkSettings, outcome_network

    recruiting = {name: settings.pop(name) for name in ("sigma", "willingness", "story") if name in settings}
    society = outcome_network(OutcomeNetworkSettings(draw=draw, **settings))
    return replace(network_world(society, draw=draw, **recruiting), name="outcome_network")


def _study(draw: int, **settings: Any) -> World:
    # Files of studies are read by `data`, which the rooms of this layer do not know. By name, so that none imports it.
    world: World = import_module("peerfront.experiments.study_world").study_world(draw, **settings)
    return world


_FILES = ("nodes", "edges", "file", "schema")


def _settings(sentence: str = "{}", **kinds: Any) -> dict[str, Option]:
    """Settings by their kinds; `world_setting.NAME` says what each means, or the code that `sentence` makes of it."""
    return {
        name: Option(kind, note(f"world_setting.{sentence.format(name)}"), is_file=name in _FILES)
        for name, kind in kinds.items()
    }


_STORY = _settings(response=str, match=int, chance=float, spread=float)
_ENTRIES = (
    WorldEntry(
        "icpsr22140", _icpsr22140, _settings(sigma=float, mean_capacity=float, pool=int) | _STORY, has_draws=True
    ),
    WorldEntry("published", _published, {}),
    WorldEntry("boom_bust", partial(_typed, "boom_bust"), _settings(fidelity=float) | _STORY, asks_recruits=True),
    WorldEntry("bridge", partial(_typed, "bridge"), _STORY, asks_recruits=True),
    WorldEntry("alike", partial(_typed, "alike"), _settings(rate=float, size=float) | _STORY),
    WorldEntry(
        "network",
        _network,
        _settings(nodes=str, edges=str, exclude=tuple, people=int, sigma=float, willingness=float) | _STORY,
        has_draws=True,
        asks_recruits=True,
    ),
    WorldEntry(
        "outcome_network",
        _outcome_network,
        _settings("outcome_network_{}", people=int)
        | _settings(prevalence=float, homophily=float, activity=float, mean_degree=float, degree_spread=float)
        | _settings(agreement=float, group_homophily=float, sigma=float, willingness=float)
        | _STORY,
        has_draws=True,
        asks_recruits=True,
    ),
    WorldEntry(
        "study",
        _study,
        _settings(file=str, schema=str)
        | _settings("study_{}", sigma=float, mean_capacity=float)
        | _settings(calibrate=str, otherwise=str)
        | _STORY,
        has_draws=True,
        asks_recruits=True,
    ),
)
GROUP = "peerfront.worlds"
"""Entry points under which other packages offer worlds."""
WORLDS: dict[str, WorldEntry] = {entry.name: entry for entry in _ENTRIES}
