"""Made studies with columns that are known only afterwards, and with innocent columns that predict strongly.

Twenty leaks are computed from the recruits that came; twenty innocent predictors are drawn before anybody recruits, and
set the chances. Names tell nothing: whatever is found is found by content.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerfront.data.read.read_settings import ReadSettings
from peerfront.data.reading import study_from_table
from peerfront.data.study import Study

Array = NDArray[np.float64]
Counts = NDArray[np.int64]
SEEDS = 8
PER_COUPON, CAPACITY = "per_coupon", "capacity"


@dataclass(frozen=True)
class Recruitment:
    """Who recruited whom in a made study, before it becomes a file."""

    recruiter: Counts  # [people], -1 for seeds
    coupons: Counts  # [people]
    recruits: Counts  # [people]
    days: Counts  # [people]
    men: Counts  # [people], how many of the recruits are men
    first_day: Array  # [people], days until the first recruit came; nan without any
    rng: np.random.Generator


def recruitment(
    rates: Array, rng: np.random.Generator, story: str = PER_COUPON, coupons: Counts | None = None
) -> Recruitment:
    """Let people recruit until the study is full: `rates` are chances of a coupon, or mean capacities, [people]."""
    n_people = len(rates)
    given = np.full(n_people, 3) if coupons is None else coupons.copy()
    able = rng.binomial(given, np.clip(rates, 0, 1)) if story == PER_COUPON else np.minimum(given, rng.poisson(rates))
    recruiter, days = np.full(n_people, -1), np.zeros(n_people, dtype=np.int64)
    recruits = np.zeros(n_people, dtype=np.int64)
    first = np.full(n_people, np.nan)
    arrived, asked = min(SEEDS, n_people), 0
    while asked < n_people:
        if asked == arrived:  # nobody is left to recruit: another seed joins
            days[arrived] = days[arrived - 1] + 1
            arrived += 1
        come = int(able[asked])
        if arrived + come > n_people:
            break
        for _ in range(come):
            recruiter[arrived] = asked
            days[arrived] = days[asked] + 1 + rng.integers(0, 14)
            first[asked] = np.fmin(first[asked], days[arrived] - days[asked])
            arrived += 1
        recruits[asked] = come
        asked += 1
    given[asked:] = 0  # those who came last have no coupons yet
    men = rng.binomial(recruits, 0.5)
    return Recruitment(recruiter, given, recruits, days, men, first, rng)


def study_of(made: Recruitment, columns: dict[str, object]) -> Study:
    """Read the recruitment as a coupon table with some usual columns, and these."""
    n_people, rng = len(made.recruits), made.rng
    most = max(int(made.coupons.max()), 1)
    table = {"id": [f"P{i:04d}" for i in range(n_people)]}
    next_coupon = np.zeros(n_people, dtype=np.int64)
    own = []
    for recruiter in made.recruiter.tolist():
        own.append("" if recruiter < 0 else f"C{recruiter}-{next_coupon[recruiter]}")
        next_coupon[recruiter] += recruiter >= 0
    table["own.coupon"] = own
    for slot in range(most):
        table[f"coupon.{slot + 1}"] = [f"C{i}-{slot}" if slot < k else "" for i, k in enumerate(made.coupons.tolist())]
    dates = pd.Timestamp("2024-01-08") + pd.to_timedelta(made.days, unit="D")
    table["date"] = dates.strftime("%Y-%m-%d")
    table["gender"] = rng.choice(["f", "m"], n_people)
    table["age"] = rng.integers(18, 66, n_people)
    table["district"] = rng.choice(["North", "East", "South", "West"], n_people, p=[0.4, 0.3, 0.2, 0.1])
    table["children"] = rng.poisson(1.2, n_people)
    return study_from_table(pd.DataFrame(table | columns), ReadSettings(preset="none"))


def ordinary(n_people: int, seed: int, story: str = PER_COUPON) -> Recruitment:
    """Recruitment as in many studies: 35% to 40% of the coupons are used, unevenly."""
    rng = np.random.default_rng([seed, n_people])
    spread = rng.gamma(2.0, 0.5, n_people)
    return recruitment(np.clip(0.38 * spread, 0, 0.95) if story == PER_COUPON else 1.3 * spread, rng, story)


# Leaks -------------------------------------------------------------------------------------------------------------


def _typos(made: Recruitment, values: NDArray[np.object_], share: float, wrong: str) -> NDArray[np.object_]:
    return np.where(made.rng.random(len(values)) < share, wrong, values)


def _texts(values: Array | Counts) -> NDArray[np.object_]:
    return np.array([f"{value:g}" for value in values.tolist()], dtype=object)


def _flipped(made: Recruitment, truth: NDArray[np.bool_], share: float) -> NDArray[np.object_]:
    return np.where(truth ^ (made.rng.random(len(truth)) < share), "yes", "no").astype(object)


def _if_recruited(made: Recruitment, values: NDArray[np.object_]) -> NDArray[np.object_]:
    return np.where(made.recruits > 0, values, "")


def _used_flags(made: Recruitment) -> dict[str, object]:
    """Which of somebody's coupons was used, in whatever order."""
    most = int(made.recruits.max())
    order = made.rng.permuted(np.tile(np.arange(most), (len(made.recruits), 1)), axis=1)
    return {f"v{slot}": np.where(order[:, slot] < made.recruits, "yes", "no") for slot in range(most)}


def _weeks(made: Recruitment) -> dict[str, object]:
    """Recruits by week."""
    weeks = made.rng.multinomial(made.recruits, [0.4, 0.3, 0.2, 0.1])
    return {f"v{week}": weeks[:, week] for week in range(4)}


def _below(made: Recruitment) -> Counts:
    """How many people are below each in the tree: everybody counts for all above them."""
    counts = np.zeros(len(made.recruits), dtype=np.int64)
    for person in range(len(counts)):
        above = made.recruiter[person]
        while above >= 0:
            counts[above] += 1
            above = made.recruiter[above]
    return counts


def _absent(made: Recruitment) -> dict[str, object]:
    """Friends spoken to, and those of them who did not come."""
    absent = made.rng.integers(0, 4, len(made.recruits))
    return {"v": made.recruits + absent, "w": absent}


def _score(made: Recruitment, per_recruit: float, noise: float) -> Counts:
    return np.round(per_recruit * made.recruits + made.rng.normal(0, noise, len(made.recruits)) + 20).astype(np.int64)


WORDS = np.array(["none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"])
Columns = dict[str, object]
LEAKS: dict[str, Callable[[Recruitment], Columns]] = {
    "equal: recruits": lambda m: {"v": m.recruits},
    "equal: recruits, 2% typing errors": lambda m: {"v": _typos(m, _texts(m.recruits), 0.02, "7")},
    "equal: payment of 10 and 20 per recruit": lambda m: {"v": 10 + 20 * m.recruits},
    "equal: recruits in words": lambda m: {"v": WORDS[m.recruits]},
    "equal: coupons left": lambda m: {"v": m.coupons - m.recruits},
    "equal: recruited at all": lambda m: {"v": np.where(m.recruits > 0, "yes", "no")},
    "sum: men and women": lambda m: {"v": m.men, "w": m.recruits - m.men},
    "sum: spoken to, less those who did not come": _absent,
    "sum: flags of used coupons": _used_flags,
    "sum: recruits by week": _weeks,
    "near: recruited at all, 5% wrong": lambda m: {"v": _flipped(m, m.recruits > 0, 0.05)},
    "near: recruits, 10% off by one": lambda m: {
        "v": np.abs(m.recruits + np.where(m.rng.random(len(m.recruits)) < 0.1, m.rng.choice([-1, 1]), 0))
    },
    "near: payment of 20 per recruit with travel costs": lambda m: {"v": _score(m, 20, 3)},
    "near: a score that follows the recruits": lambda m: {"v": _score(m, 30, 8)},
    "near: two columns, each 5% wrong": lambda m: {
        "v": _flipped(m, m.recruits > 0, 0.05),
        "w": _flipped(m, m.recruits > 1, 0.05),
    },
    "later: follow-up answered by recruiters": lambda m: {
        "v": _if_recruited(m, m.rng.choice(["good", "bad", "mixed"], len(m.recruits)))
    },
    "later: date of a letter to recruiters": lambda m: {
        "v": _if_recruited(
            m, (pd.Timestamp("2024-06-01") + pd.to_timedelta(m.days, unit="D")).strftime("%d.%m.%Y").to_numpy()
        )
    },
    "later: days until the first recruit": lambda m: {
        "v": np.where(np.isnan(m.first_day), "", _texts(np.nan_to_num(m.first_day)))
    },
    "later: how many of the recruits are men": lambda m: {"v": m.men},
    "later: people below in the tree": lambda m: {"v": _below(m)},
}


# Innocent predictors -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Innocent:
    """What is known before, the rates it makes, what a coupon does, and how many coupons people get."""

    columns: Columns
    rates: Array  # [people]
    story: str = PER_COUPON
    coupons: Counts | None = None


def _levels(*rates: float, shares: tuple[float, ...] | None = None) -> Callable[[int, np.random.Generator], Innocent]:
    """A column whose values have these chances of a coupon."""

    def made(n_people: int, rng: np.random.Generator) -> Innocent:
        level = rng.choice(len(rates), n_people, p=shares)
        return Innocent({"v": np.array([f"a{i}" for i in range(len(rates))])[level]}, np.array(rates)[level])

    return made


def _logistic(slope: float, middle: float = -0.7) -> Callable[[int, np.random.Generator], Innocent]:
    def made(n_people: int, rng: np.random.Generator) -> Innocent:
        score = rng.normal(size=n_people)
        return Innocent({"v": np.round(50 + 10 * score)}, 1 / (1 + np.exp(-middle - slope * score)))

    return made


def _network(n_people: int, rng: np.random.Generator) -> Innocent:
    size = np.maximum(np.round(rng.lognormal(2.0, 1.0, n_people)), 1)
    return Innocent({"network_size": size}, np.minimum(0.18 * size, 6.0), CAPACITY)


def _two_columns(n_people: int, rng: np.random.Generator) -> Innocent:
    first, second = rng.integers(0, 3, (2, n_people))
    rates = 1 / (1 + np.exp(-(-3.0 + 1.5 * first + 1.5 * second)))
    return Innocent({"v": first, "w": second}, rates)


def _either(n_people: int, rng: np.random.Generator) -> Innocent:
    first, second = rng.integers(0, 2, (2, n_people))
    return Innocent({"v": first, "w": second}, np.where(first != second, 0.75, 0.08))


def _capacities(n_people: int, rng: np.random.Generator) -> Innocent:
    many = rng.random(n_people) < 0.4
    return Innocent({"v": np.where(many, "many", "few")}, np.where(many, 4.0, 0.2), CAPACITY)


def _said_before(n_people: int, rng: np.random.Generator) -> Innocent:
    said = rng.integers(0, 5, n_people)
    return Innocent({"expected_recruits": said}, 0.8 * said, CAPACITY)


def _other_coupons(n_people: int, rng: np.random.Generator) -> Innocent:
    site = rng.integers(0, 3, n_people)
    return Innocent(
        {"v": np.array(["a", "b", "c"])[site]}, np.array([0.15, 0.4, 0.7])[site], coupons=np.array([6, 3, 1])[site]
    )


def _capped(n_people: int, rng: np.random.Generator) -> Innocent:
    many = rng.random(n_people) < 0.5
    coupons = rng.integers(1, 7, n_people)
    return Innocent({"v": np.where(many, "many", "few")}, np.where(many, 2.5, 0.3), CAPACITY, coupons)


def _one_coupon(n_people: int, rng: np.random.Generator) -> Innocent:
    keen = rng.random(n_people) < 0.5
    one = np.ones(n_people, dtype=np.int64)
    return Innocent({"v": np.where(keen, "x", "y")}, np.where(keen, 0.88, 0.12), coupons=one)


def _empty_cells(n_people: int, rng: np.random.Generator) -> Innocent:
    answered = rng.random(n_people) < 0.6
    answer = rng.choice(["car", "bus", "foot"], n_people)
    return Innocent({"v": np.where(answered, answer, "")}, np.where(answered, 0.6, 0.08))


def _all_or_nothing(n_people: int, rng: np.random.Generator) -> Innocent:
    keen = rng.random(n_people) < 0.5
    mean = np.where(keen, 0.75, 0.12)
    return Innocent({"v": np.where(keen, "x", "y")}, rng.beta(0.4 * mean, 0.4 * (1 - mean)))


def _body_weight(n_people: int, rng: np.random.Generator) -> Innocent:
    weight = rng.normal(70, 12, n_people)
    return Innocent({"weight": np.round(weight, 1)}, 1 / (1 + np.exp(-(weight - 74) / 6)))


def _towns(n_people: int, rng: np.random.Generator) -> Innocent:
    chances = rng.beta(0.7, 1.2, 12)
    town = rng.integers(0, 12, n_people)
    return Innocent({"v": np.array([f"town {i}" for i in range(12)])[town]}, chances[town])


INNOCENT: dict[str, Callable[[int, np.random.Generator], Innocent]] = {
    "housing: 15% and 70% of coupons used": _levels(0.15, 0.7),
    "acquaintances: 5%, 30%, 80%": _levels(0.05, 0.3, 0.8),
    "a group that never recruits, others 35%": _levels(0.0, 0.35),
    "a group that nearly always does: 92%, others 25%": _levels(0.92, 0.25),
    "hardly any and most: 10% and 80%": _levels(0.1, 0.8),
    "a small group that is keen: 5% of people, 95%": _levels(0.3, 0.95, shares=(0.95, 0.05)),
    "six age bands: 5% to 80%": _levels(0.05, 0.15, 0.3, 0.45, 0.6, 0.8),
    "twelve towns": _towns,
    "a score of motivation": _logistic(2.0),
    "a score that is stronger still": _logistic(4.0),
    "body weight": _body_weight,
    "network size, capacities": _network,
    "two kinds of people, capacities 0.2 and 4": _capacities,
    "recruits that people expect, capacities": _said_before,
    "kinds of people, 1 to 6 coupons, capacities": _capped,
    "three sites with 6, 3 and 1 coupons": _other_coupons,
    "one coupon each: 12% and 88%": _one_coupon,
    "two columns together": _two_columns,
    "one of two, and not both": _either,
    "empty cells: 8%, others 60%": _empty_cells,
}
BORDER: dict[str, Callable[[int, np.random.Generator], Innocent]] = {
    "a group that never recruits, others 50%": _levels(0.0, 0.5),
    "hardly any and nearly all: 5% and 90%": _levels(0.05, 0.9),
    "people who use all coupons or none": _all_or_nothing,
}


def leaking(name: str, n_people: int, seed: int, story: str = PER_COUPON) -> tuple[Study, list[str]]:
    """A study with a leak, and the columns that hold it."""
    made = ordinary(n_people, seed, story)
    columns = LEAKS[name](made)
    return study_of(made, columns), list(columns)


def leaking_like(study: Study, name: str, seed: int) -> tuple[Study, list[str]]:
    """A real study with a made leak of its own recruits added."""
    rng = np.random.default_rng([seed, 2])
    recruits = study.recruits
    first = np.where(recruits > 0, rng.integers(1, 30, len(study)), np.nan)
    days = np.arange(len(study))
    made = Recruitment(study.recruiter, study.issued, recruits, days, rng.binomial(recruits, 0.5), first, rng)
    columns = {f"added {name}": np.asarray(values).astype(str) for name, values in LEAKS[name](made).items()}
    people = pd.concat([study.people, pd.DataFrame(columns, dtype=object)], axis=1)
    return replace(study, people=people), list(columns)


def innocent(name: str, n_people: int, seed: int) -> tuple[Study, list[str]]:
    """A study with an innocent strong predictor, and its columns."""
    rng = np.random.default_rng([seed, n_people, 1])
    known = (INNOCENT | BORDER)[name](n_people, rng)
    made = recruitment(known.rates, rng, known.story, known.coupons)
    return study_of(made, known.columns), list(known.columns)
