"""What is believed about coupons before any data, as it stands here or in a file that anybody can change."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.errors import DataFileError, SettingError, UnknownName
from peerfront.foundation.files import file_bytes
from peerfront.foundation.messages import note
from peerfront.foundation.settings import Name, NumberRule, Rule, between, proportion, share, up_to
from peerfront.foundation.typed_values import typed_number
from peerfront.models.belief.belief import Belief

Array = NDArray[np.float64]
Points = tuple[tuple[float, float], ...]
"""Values with weights that sum to 1."""
_STUDIES_DIFFER = 0.5  # standard deviation of levels between studies, where it is not seen
_MOST_POINTS = 10  # of a shape: the grid has as many points as the product of three
_LARGEST_FILE = 10_000  # bytes
_WEIGHT = between(0, 1_000)


def weighed(rule: NumberRule) -> Rule:
    """Rule: values that the other rule allows, with weights: pairs, or a table. Weights are made to sum to 1."""

    def check(name: Name, given: Any) -> Points:
        pairs = tuple(given.items() if isinstance(given, Mapping) else given if isinstance(given, list | tuple) else ())
        if not 1 <= len(pairs) <= _MOST_POINTS or not all(isinstance(p, list | tuple) and len(p) == 2 for p in pairs):
            raise SettingError("prior_belief.no_points", name=name, most=_MOST_POINTS, value=repr(given)[:80])
        points: dict[float, float] = {}
        for at, weight in pairs:
            if isinstance(weight, Mapping):  # 0.25 = 0.1 is 25 in the table 0
                raise SettingError("prior_belief.no_quotes", name=name, at=f"{at}.{next(iter(weight), 0)}")
            number = typed_number(at) if isinstance(at, str) else at
            value = rule(name, at if number is None else number)
            its_weight = _WEIGHT(note("prior_belief.weight", name=name, at=value), weight)
            points[value] = points.get(value, 0.0) + its_weight
        total = sum(points.values())
        if total == 0.0:
            raise SettingError("prior_belief.no_weight", name=name)
        scale = 1.0 if np.isclose(total, 1.0, rtol=1e-9) else total
        return tuple((value, weight / scale) for value, weight in points.items() if weight > 0.0)

    return check


_DEVIATION = up_to(100)
_KEYS: dict[str, Rule] = {
    "limited": weighed(proportion),
    "spur": weighed(between(0, 10)),
    "spread": weighed(up_to(10)),
    "level": _DEVIATION,
    "answer": _DEVIATION,
    "drift": _DEVIATION,
    "slowing": between(-1, 1),
    "favour": _DEVIATION,
    "answers_matter": share,
}
"""What a file may say, and what is allowed."""


@dataclass(frozen=True)
class Prior:
    """What is believed before any data. Shapes have weights; everything else is normal, around 0 but for the drift."""

    limited: Points = ((0.0, 0.3), (0.25, 0.1), (0.5, 0.2), (0.75, 0.1), (1.0, 0.3))
    """Share of people who use the first coupons first, with weights; the coupons of others are used on their own."""
    spur: Points = ((0.0, 0.4), *((spur, 0.12) for spur in (0.2, 0.4, 0.6, 0.8, 1.2)))
    """How much more coupons motivate: with k of K something comes of them with (k / K)^spur."""
    spread: Points = ((0.05, 0.4), (0.15, 0.3), (0.3, 0.2), (0.5, 0.1))
    """Standard deviation of a wave's zeal around the drift, with weights."""
    level: float = 2.0
    """Of each c: how much more likely one recruit more is, on the log scale."""
    answer: float = 0.5
    """Of what one answer adds to the zeal."""
    drift: float = 0.1
    """Of what one wave more adds to the zeal."""
    slowing: float = 0.05
    """Mean of the drift with the sign turned: how much less zeal is expected of each wave than of the one before."""
    favour: float = 0.25
    """Of the zeal of people to whom staff gave one coupon more than planned, or than usual."""
    answers_matter: float = 0.1
    """Chance that a column of answers matters at all."""
    likely: tuple[str, ...] = ()
    """Columns that mattered in earlier studies: an even chance that they matter in this one."""
    earlier_levels: tuple[tuple[float, float], ...] = ()
    """Mean and standard deviation of each c by earlier studies with as many coupons; none otherwise."""

    def __post_init__(self) -> None:
        for name, rule in _KEYS.items():
            object.__setattr__(self, name, rule(name, getattr(self, name)))

    def table(self) -> dict[str, Any]:
        """What a file may say, as JSON can hold it; `prior_belief` reads it."""
        values = {name: getattr(self, name) for name in _KEYS}
        return {name: list(map(list, value)) if isinstance(value, tuple) else value for name, value in values.items()}

    @classmethod
    def knowing(cls, part: str) -> "Prior":
        """The prior of somebody who knows what a coupon does: one of `belief.PARTS` without motivation."""
        return cls(limited=((1.0 if part == "capacity" else 0.0, 1.0),), spur=((0.0, 1.0),))

    def given(self, earlier: Sequence[Belief], most: int) -> "Prior":
        """The prior of a study after earlier ones: half what it was, half what they believe now.

        Levels come from studies with as many coupons. Studies differ, and so a level is known no better than by the
        differences between studies, of which `_STUDIES_DIFFER` are seen before there are several; and where the study's
        own counts reject them, they do not count (`views`).
        """

        def shared(points: Points, name: str) -> Points:
            return tuple(
                (at, own + float(np.mean([np.isclose(getattr(each, name), at).mean() for each in earlier])))
                for at, own in points
            )

        alike = [each for each in earlier if each.most == most]
        levels: tuple[tuple[float, float], ...] = ()
        if alike:
            means = np.stack([each.levels.mean(axis=0) for each in alike])
            within = np.mean([each.levels.var(axis=0) for each in alike], axis=0)
            apart = (_STUDIES_DIFFER**2 + ((means - means.mean(axis=0)) ** 2).sum(axis=0)) / len(alike)
            spread = np.sqrt(within / len(alike) + apart * (1.0 + 1.0 / len(alike)))
            levels = tuple(zip(means.mean(axis=0).tolist(), spread.tolist(), strict=True))
        likely = tuple(dict.fromkeys(name for each in earlier for name in each.fields))
        return replace(
            self, limited=shared(self.limited, "limited"), spur=shared(self.spur, "spur"),
            spread=shared(self.spread, "spread"), likely=likely, earlier_levels=levels,
        )  # fmt: skip

    def views(self, most: int) -> "tuple[Prior, ...]":
        """The prior with and without levels of earlier studies, each as likely: those of others may be far off."""
        return (self, replace(self, earlier_levels=())) if len(self.earlier_levels) == most else (self,)

    def levels(self, most: int) -> tuple[Array, Array]:
        """Means and standard deviations of c, [most] each."""
        if len(self.earlier_levels) == most:
            means, deviations = np.array(self.earlier_levels).T
            return means, deviations
        return np.zeros(most), np.full(most, self.level)

    def log_odds(self, column: str) -> float:
        """Of a column: the log odds that it matters."""
        chance = 0.5 if column in self.likely else self.answers_matter
        return float(np.log(chance / (1.0 - chance)))


def prior_belief(name: Name, value: Any) -> Prior | None:
    """Rule: a prior, a table of what it says, or the path of a TOML file with one; None for the usual one.

    >>> _ = Path("prior.toml").write_text("drift = 0.2\n[limited]\n0 = 1\n1 = 3\n")
    >>> from peerfront.models.belief.prior import prior_belief
    >>> prior_belief("prior_belief", "prior.toml").limited
    ((0.0, 0.25), (1.0, 0.75))
    """
    if value is None or isinstance(value, Prior):
        return value
    if isinstance(value, Mapping):
        for key in value:
            if key not in _KEYS:
                raise UnknownName(note("prior_belief.key"), str(key), _KEYS)
        return Prior(**value)
    if not isinstance(value, str | Path):
        raise SettingError("settings.wrong", name=name, allowed=note("prior_belief.file"), value=repr(value)[:80])
    path = Path(value)
    content = file_bytes(path)
    if len(content) > _LARGEST_FILE:
        raise DataFileError("prior_belief.too_large", path=path, most=_LARGEST_FILE)
    try:
        return prior_belief(name, tomllib.loads(content.decode("utf-8-sig")))
    except (ValueError, RecursionError) as problem:  # ValueError: incorrect TOML, or not UTF-8
        raise DataFileError("prior_belief.bad_toml", path=path, problem=str(problem)) from None
    except (SettingError, UnknownName) as problem:
        raise DataFileError("schema_file.fault_in", place=path, fault=problem.message) from None
