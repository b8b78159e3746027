"""A made-up study to try the program on. Nobody in it exists.

It is drawn like the paper's simulated world (Section 5.1), with five named fields instead of seventeen: people recruit
as many as they can, up to three coupons, and recruits often resemble their recruiter. Each brings about one, so that
waves neither explode nor die out, and new seeds join when a wave is small: nobody who was recruited is left out, and
the file is a fair sample of its world. The last wave has taken part and has no coupons yet: these people are the
frontier.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from peerfront.foundation.checked_calls import checked
from peerfront.foundation.covariates import Codes, Field, Schema, uniform_codes
from peerfront.foundation.files import write_csv
from peerfront.foundation.randomness import Luck, fold, named_generator, named_luck
from peerfront.foundation.settings import MOST_SEED, whole_number
from peerfront.problem import BranchingWorld, Crowd
from peerfront.simulation.icpsr22140 import Inheritance, calibrated

EXAMPLE_FILES = ("frontier.csv", "study.csv")
FIELDS = (
    Field("gender", ("woman", "man", "another")),
    Field("age_group", ("18-24", "25-34", "35-44", "45 or more")),
    Field("district", ("North", "East", "South", "West")),
    Field("housing", ("own", "shared", "none")),
    Field("acquaintances", ("few", "some", "many")),
)
# Chance that a recruit inherits the category of the recruiter; otherwise it is drawn uniformly.
_INHERITANCE = {"gender": 0.5, "age_group": 0.4, "district": 0.75, "housing": 0.45, "acquaintances": 0.2}
# How many more (or fewer) recruits people of each category bring, before the mean is calibrated.
_WEIGHTS = {
    "gender": (0.2, -0.1, 0.0),
    "age_group": (0.6, 0.2, -0.2, -0.5),
    "district": (0.3, 0.0, -0.2, 0.0),
    "housing": (-0.3, 0.1, 0.6),
    "acquaintances": (-0.9, 0.0, 0.9),
}
_MEAN_RECRUITS = 0.92  # of seeds with unlimited coupons; after a few waves, with three coupons, just under 1
_COUPONS = 3  # per person
_SEEDS = 20
_SMALL_WAVE = 20  # people: new seeds join smaller waves
_NEW_SEEDS = 15
_MISSING_SHARE = 0.02  # of answers
_MOST_PEOPLE = 100_000  # waves are small, so more would take minutes
_FIRST_DAY = "2024-01-08"


@dataclass(frozen=True, eq=False)
class DemoStudy:
    """The two files of the made-up study."""

    study: pd.DataFrame
    """A coupon table: id, own.coupon, coupon.1 .. coupon.3, date, and the fields."""
    frontier: pd.DataFrame
    """id and the fields of those who wait for coupons."""

    def write(self, folder: Path) -> None:
        for name, table in zip(EXAMPLE_FILES, (self.frontier, self.study), strict=True):
            write_csv(folder / name, table.to_csv(index=False, lineterminator="\n"))


@dataclass(frozen=True, eq=False)
class _Anybody:
    """Draw people whose fields are independent and uniform."""

    schema: Schema

    def sample(self, luck: Luck) -> Codes:
        return uniform_codes(self.schema, luck.uniforms("anybody", len(self.schema.fields)))


def demo_world(mean_recruits: float = _MEAN_RECRUITS) -> BranchingWorld:
    """Return the world that the study is drawn from, or one whose seeds bring more or fewer."""
    layout = Schema(FIELDS)
    weights = np.concatenate([np.array(_WEIGHTS[field.name]) for field in FIELDS])
    reference = _Anybody(layout).sample(named_luck(("demo reference",), 20_000))
    return BranchingWorld(
        "the made-up study",
        layout,
        calibrated(layout, weights, reference, mean_recruits),
        Inheritance(layout, np.array([_INHERITANCE[field.name] for field in FIELDS])),
        _Anybody(layout),
    )


@checked
def demo_study(people: int = 500, seed: int = 0) -> DemoStudy:
    """Make up a study of about this number of people. The same seed gives the same study.

    >>> made = pf.demo_study(people=120)  # two pandas tables
    >>> list(made.study.columns)[:3], list(made.frontier.columns)[:3]
    (['id', 'own.coupon', 'coupon.1'], ['id', 'gender', 'age_group'])
    """
    n_people, seed = whole_number("people", people, 2 * _SEEDS, _MOST_PEOPLE), whole_number("seed", seed, 0, MOST_SEED)
    world, rng = demo_world(), named_generator("demo study", seed)
    rows: list[pd.DataFrame] = []
    wave = _seeds(world, seed, 0, _SEEDS)
    came_with, count, number = [""] * len(wave), 0, 0
    while True:
        ids = [f"P{count + i + 1:04d}" for i in range(len(wave))]
        count += len(wave)
        waits = count >= n_people
        rows.append(_rows(world.schema, wave, ids, came_with, number, waits, rng))
        if waits:
            break
        referrals = world.refer(wave, np.full(len(wave), _COUPONS))
        # A recruit came with one of the recruiter's coupons: the first, the second, ... as they come.
        place = np.arange(len(referrals.parent)) - np.searchsorted(referrals.parent, referrals.parent)
        came_with = [_code(ids[i], n) for i, n in zip(referrals.parent.tolist(), place.tolist(), strict=True)]
        number += 1
        wave = referrals.next_crowd
        if len(wave) < _SMALL_WAVE:
            joined = _seeds(world, seed, number, _NEW_SEEDS)
            wave = Crowd(
                np.zeros(len(wave) + len(joined), dtype=np.int64),
                np.concatenate([wave.keys, joined.keys]),
                np.concatenate([wave.covariates, joined.covariates]),
            )
            came_with += [""] * len(joined)
    study = pd.concat(rows, ignore_index=True)
    return DemoStudy(study, rows[-1][["id", *world.schema.names]].reset_index(drop=True))


def _seeds(world: BranchingWorld, seed: int, wave: int, people: int) -> Crowd:
    keys = fold(named_luck(("demo seeds", seed, wave), 1).keys, np.arange(people))
    return Crowd(np.zeros(people, dtype=np.int64), keys, world.population(Luck(keys)))


def _rows(
    schema: Schema, wave: Crowd, ids: list[str], came_with: list[str], week: int, waits: bool, rng: np.random.Generator
) -> pd.DataFrame:
    stated = np.where(rng.random(wave.covariates.shape) < _MISSING_SHARE, np.int16(-1), wave.covariates)
    days = pd.Timestamp(_FIRST_DAY) + pd.to_timedelta(7 * week + rng.integers(0, 7, size=len(ids)), unit="D")
    coupons = {f"coupon.{n + 1}": ["" if waits else _code(person, n) for person in ids] for n in range(_COUPONS)}
    tree = pd.DataFrame({"id": ids, "own.coupon": came_with, **coupons, "date": days.strftime("%Y-%m-%d")})
    return pd.concat([tree, pd.DataFrame(schema.decode(stated))], axis=1)


def _code(person: str, place: int) -> str:
    return f"C{person[1:]}{'ABC'[place]}"
