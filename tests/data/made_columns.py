"""Made studies with columns that are known only afterwards, and with innocent columns that predict strongly.

Twenty leaks are computed from the recruits that came; twenty innocent predictors are drawn before anybody recruits, and
set the chances. Twenty-four kinds of columns name one person or one spot, and as many only look like them. Names tell
nothing unless they stand in quotes: whatever is found is found by content.
"""

import hashlib
from base64 import b64encode
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


def study_of(made: Recruitment, columns: dict[str, object], *, numbered: bool = False) -> Study:
    """Read the recruitment as a coupon table with some usual columns, and these; `numbered` people are 1, 2, 3."""
    n_people, rng = len(made.recruits), made.rng
    most = max(int(made.coupons.max()), 1)
    table = {"id": [_id(i, numbered=numbered) for i in range(n_people)]}
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
    return study_from_table(pd.DataFrame(table | columns), ReadSettings(preset="none", read_anyway=True))


def _id(person: int, *, numbered: bool) -> str:
    return str(person + 1) if numbered else f"P{person:04d}"


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


# Columns that name one person or one spot, and those that only look like them -----------------------------------------


@dataclass(frozen=True)
class People:
    """Whom columns describe: the recruitment, and how ids are written."""

    made: Recruitment
    numbered: bool

    @property
    def n(self) -> int:
        return len(self.made.recruits)

    @property
    def rng(self) -> np.random.Generator:
        return self.made.rng

    def id_of(self, person: int) -> str:
        return _id(person, numbered=self.numbered)

    def friends(self) -> list[int]:
        """One other person for everybody."""
        return [(i + 1 + int(self.rng.integers(self.n - 1))) % self.n for i in range(self.n)]

    def words(self, *words: str) -> list[str]:
        return self.rng.choice(words, self.n).tolist()

    def whole(self, low: int, high: int) -> Counts:
        return self.rng.integers(low, high, self.n)


def _digest(text: object) -> str:
    return hashlib.md5(str(text).encode(), usedforsecurity=False).hexdigest()


def _uuid(text: object) -> str:
    digest = _digest(text)
    return "-".join((digest[:8], digest[8:12], digest[12:16], digest[16:20], digest[20:]))


def _some(people: People, share: float, values: list[str]) -> list[str]:
    kept = people.rng.random(people.n) < share
    return [value if keep else "" for value, keep in zip(values, kept.tolist(), strict=True)]


def _degrees(people: People, middle: float) -> list[str]:
    return [f"{middle + step:.6f}" for step in people.rng.normal(0, 0.04, people.n).tolist()]


def _sentences(people: People) -> list[str]:
    who, what = (
        people.words("she", "he", "a cousin", "the neighbour"),
        people.words("came late", "moved to town", "asked"),
    )
    return [f"{a} {b} on day {n}" for a, b, n in zip(who, what, people.whole(1, 300).tolist(), strict=True)]


FIRST_NAMES = (
    "Ana",
    "Luis",
    "Rosa",
    "Juan",
    "Eva",
    "Omar",
    "Inés",
    "Pablo",
    "Marta",
    "Hugo",
    "Lía",
    "Iván",
    "Sol",
    "Noé",
)
IDENTITIES: dict[str, Callable[[People], Columns]] = {
    "a second id: running numbers": lambda p: {"v": 5000 + p.rng.permutation(p.n)},
    "the id again": lambda p: {"v": [p.id_of(i) for i in range(p.n)]},
    "national ids of 8 digits": lambda p: {"v": p.whole(10_000_001, 99_999_999)},
    "codes such as KX-4821": lambda p: {
        "v": [f"{a}-{b}" for a, b in zip(p.words("KX", "RT"), p.whole(1000, 9999), strict=True)]
    },
    "hashes in hex": lambda p: {"v": [_digest(i) for i in range(p.n)]},
    "short hashes of friends": lambda p: {"v": [_digest(f)[:10] for f in p.friends()]},
    "UUIDs": lambda p: {"v": [_uuid(i) for i in range(p.n)]},
    "tokens in base64": lambda p: {"v": [b64encode(_digest(i).encode()[:21]).decode() for i in range(p.n)]},
    "friends' ids, a third of them not in the study": lambda p: {
        "v": [p.id_of(f if f % 3 else f + 5000) if not p.numbered else p.id_of(f) for f in p.friends()]
    },
    "several friends' ids in a cell": lambda p: {
        "v": ["; ".join(map(p.id_of, each)) for each in zip(p.friends(), p.friends(), p.friends(), strict=True)]
    },
    "the recruiter's id": lambda p: {"v": ["" if r < 0 else p.id_of(r) for r in p.made.recruiter.tolist()]},
    "'recruiter_name'": lambda p: {
        "recruiter_name": ["" if r < 0 else FIRST_NAMES[r % 14] for r in p.made.recruiter.tolist()]
    },
    "phone numbers": lambda p: {"v": [f"+256 7{n:08d}" for n in p.whole(0, 99_999_999).tolist()]},
    "phone numbers, digits only": lambda p: {"v": [f"07{n:08d}" for n in p.whole(0, 99_999_999).tolist()]},
    "e-mail addresses, of half of them": lambda p: {"v": _some(p, 0.5, [f"u{i}@mail.org" for i in range(p.n)])},
    "'nombre': 14 first names": lambda p: {"nombre": p.words(*FIRST_NAMES)},
    "sentences, of one in twelve": lambda p: {"v": _some(p, 0.08, _sentences(p))},
    "'notes': mostly ok": lambda p: {
        "notes": [a or b for a, b in zip(_some(p, 0.1, _sentences(p)), ["ok"] * p.n, strict=True)]
    },
    "positions in one cell": lambda p: {
        "v": [f"{a} {b} 1180.0 5.0" for a, b in zip(_degrees(p, 0.31), _degrees(p, 32.58), strict=True)]
    },
    "two columns of degrees": lambda p: {"v": _degrees(p, -12.05), "w": _degrees(p, -77.04)},
    "'dirección': 60 streets": lambda p: {"dirección": [f"Calle {n}" for n in p.whole(1, 60).tolist()]},
    "'village': hardly any shared": lambda p: {"village": [f"V{n}" for n in p.whole(1, p.n)]},
    "seconds since 1970": lambda p: {"v": 1_704_700_000 + 86_400 * p.made.days + p.whole(0, 40_000)},
    "seconds since 1970, with zeros": lambda p: {
        "v": np.where(p.rng.random(p.n) < 0.05, 0, 1_704_700_000 + 86_400 * p.whole(0, 90))
    },
}
LOOKALIKES: dict[str, Callable[[People], Columns]] = {
    "age": lambda p: {"v": p.whole(18, 66)},
    "age in months": lambda p: {"v": p.whole(216, 800)},
    "year of birth": lambda p: {"v": p.whole(1950, 2006)},
    "years of schooling": lambda p: {"v": p.whole(0, 18)},
    "number of children": lambda p: {"v": p.rng.poisson(1.5, p.n)},
    "network size": lambda p: {"v": np.round(p.rng.lognormal(2.5, 1, p.n)).astype(int)},
    "a score of 0 to 100": lambda p: {"v": p.whole(0, 101)},
    "income in hundreds": lambda p: {"v": 100 * np.round(p.rng.lognormal(3, 0.7, p.n)).astype(int)},
    "income in a large currency": lambda p: {"v": 50_000 * p.whole(10, 200)},
    "'income': to the unit": lambda p: {"income": p.whole(20_000, 60_000)},
    "minutes to the site, in fives": lambda p: {"v": 5 * p.whole(1, 40)},
    "body mass index": lambda p: {"v": np.round(p.rng.normal(24, 4, p.n), 1)},
    "body weight in grams": lambda p: {"v": 100 * p.whole(450, 1100)},
    "two scores, 16 digits": lambda p: {"v": p.rng.normal(size=p.n), "w": p.rng.normal(size=p.n)},
    "two indices, 3 digits": lambda p: {"v": np.round(p.rng.random(p.n), 3), "w": np.round(p.rng.random(p.n), 3)},
    "district of four": lambda p: {"district": p.words("North", "East", "South", "West")},
    "town of twelve": lambda p: {"town": p.words(*(f"Town {i}" for i in range(12)))},
    "occupation of seven": lambda p: {"v": p.words("farm", "shop", "none", "nurse", "driver", "cook", "tailor")},
    "answers in sentences": lambda p: {
        "v": p.words("I know nobody at all", "I know one or two people", "I know more than ten people", "I do not know")
    },
    "blood group": lambda p: {"v": p.words("A+", "A-", "B+", "B-", "0+", "0-", "AB+", "AB-")},
    "'phone_brand'": lambda p: {"phone_brand": p.words("Nokia", "Samsung", "Tecno", "none")},
    "'relationship_to_recruiter'": lambda p: {
        "relationship_to_recruiter": p.words("friend", "kin", "work", "partner", "other")
    },
    "'notes_taken': yes or no": lambda p: {"notes_taken": p.words("yes", "no")},
    "'years_in_city'": lambda p: {"years_in_city": p.whole(0, 50)},
}


def identifying(name: str, n_people: int, seed: int) -> tuple[Study, list[str]]:
    """A study with a column that names somebody, or only looks so; in every other draw ids are 1, 2, 3."""
    people = People(ordinary(n_people, seed), numbered=bool(seed % 2))
    columns = (IDENTITIES | LOOKALIKES)[name](people)
    return study_of(people.made, columns, numbered=people.numbered), list(columns)


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
