"""Columns that say how the data were collected: staff, devices, records, times, weights, seeds; and those like them."""

import numpy as np
import pytest
from made_columns import ordinary, study_of

from peerfront.data.columns.column_findings import role_of

MADE = ordinary(200, 3)
N = len(MADE.recruits)
RNG = np.random.default_rng(0)
DAYS = MADE.days
SIZES = RNG.integers(1, 40, N)
FEW = RNG.choice(["x", "y", "z"], N)
NUMBERS = RNG.integers(0, 3, N)
SOME = RNG.integers(1, 500, N)
ROLES = {
    "interviewer": (FEW, "interviewed"),
    "Encuestador": (FEW, "interviewed"),
    "enquêteur_id": (FEW, "interviewed"),
    "интервьюер": (FEW, "interviewed"),
    "staff": (FEW, "interviewed"),
    "deviceid": (FEW, "device"),
    "device": (FEW, "device"),
    "IMEI": (SOME, "device"),
    "record_id": (SOME, "record"),
    "meta/instanceID": (SOME, "record"),
    "_uuid": (SOME, "record"),
    "redcap_event_name": (FEW, "record"),
    "is_seed_yn": (FEW, "seeds"),
    "v1": (np.where(MADE.recruiter < 0, "first", "later"), "seeds"),
    "v2": (np.where(MADE.recruiter < 0, "", "came with a coupon"), "seeds"),
    "v3": (1_700_000_000 + 86_400 * DAYS, "time as a number"),
    "v4": (1_700_000_000_000 + 86_400_000 * DAYS + RNG.integers(0, 10_000, N), "time as a number"),
    "v5": (45_292 + DAYS, "number of days"),
    "letter date": (45_292 + RNG.integers(0, 200, N), "number of days"),
    "v5b": (19_700 + DAYS, "number of days"),
    "v4b": (np.where(DAYS % 30 == 7, 0, 1_700_000_000 + 86_400 * DAYS), "time as a number"),
    "v6": (45_292.5 + DAYS + RNG.random(N) / 3, "number of days"),
    "v7": (1000 + 10 * DAYS + RNG.integers(0, 9, N), "rises from recruiter to recruit"),
    "v8": ([f"{1 + d % 28:02d}/03/2024 14:05" for d in DAYS.tolist()], "a date"),
    "v9": ([f"2024{1 + d % 12:02d}{1 + d % 28:02d}" for d in DAYS.tolist()], "a date"),
    "date_of_birth": ([f"19{50 + d % 49}-03-0{1 + d % 9}" for d in DAYS.tolist()], "birth date"),
    "_submission_time": ([f"2024-03-{1 + d % 28:02d}T10:00:00Z" for d in DAYS.tolist()], "a date"),
    "rds_weight": (RNG.random(N), "sampling weight"),
    "weight": (np.round(3.2 / SIZES, 6), "sampling weight"),
    "v10": (np.round(17.5 / SIZES, 8), "sampling weight"),
    "Ponderación": (RNG.random(N), "sampling weight"),
    "n_recruits_total": (NUMBERS, "by its name"),
    "follow_up_visit": (FEW, "by its name"),
    "referral payment": (NUMBERS, "by its name"),
}
INNOCENT = {
    "Peso": np.round(RNG.normal(70, 10, N)),
    "body_weight_kg": RNG.integers(3, 9, N),
    "birth_weight": np.round(RNG.normal(3.2, 0.4, N), 2),
    "owns_device": FEW,
    "time_in_city": RNG.integers(0, 50, N),
    "income": RNG.integers(20_000, 60_000, N),
    "zip": RNG.integers(48_201, 48_299, N),
    "year_of_birth": RNG.integers(1950, 2006, N),
    "phone_brand": FEW,
    "age_band": RNG.choice(["18-24", "25-34", "35+"], N),
    "version": RNG.choice(["1.1", "1.2"], N),
    "score": RNG.normal(size=N),
    "expected_recruits": NUMBERS,
    "ends meet": FEW,
    "weekend": FEW,
    "nothing": [""] * N,
}


@pytest.fixture(scope="module")
def study():
    columns = {name: values for name, (values, _) in ROLES.items()} | INNOCENT
    return study_of(MADE, {"network_size": SIZES} | columns)


@pytest.mark.parametrize("name", ROLES)
def test_roles(study, name) -> None:
    assert ROLES[name][1] in str(role_of(study, name, study.people[name]))


@pytest.mark.parametrize("name", [*INNOCENT, "network_size", "gender", "age", "district", "children"])
def test_columns_about_people(study, name) -> None:
    assert role_of(study, name, study.people[name]) is None
