"""Twenty made leaks and twenty innocent strong predictors; what the reasons say; small and odd studies."""

import numpy as np
import pandas as pd
import pytest
from made_columns import BORDER, CAPACITY, INNOCENT, LEAKS, PER_COUPON, innocent, leaking, ordinary, study_of

from peerfront.data.columns.column_findings import Against, column_findings
from peerfront.data.columns.leaks import find_leaks
from peerfront.data.reading import study_from_table

PEOPLE = 300
HARD = {"near: recruited at all, 5% wrong": 3, "later: how many of the recruits are men": 5}
"""Strong predictors can look like these; caught in so many of eight draws (docs/results/columns.md)."""


def test_there_are_twenty_of_each() -> None:
    assert len(LEAKS) == len(INNOCENT) == 20


@pytest.mark.parametrize("story", [PER_COUPON, CAPACITY])
@pytest.mark.parametrize("name", [name for name in LEAKS if name not in HARD])
def test_leaks_are_caught(name, story) -> None:
    study, columns = leaking(name, PEOPLE, 1, story)
    found = column_findings(study)
    assert set(found) == {*columns, "date"}
    exact = name.startswith(("equal", "sum")) and "typing" not in name
    assert not exact or all(found[column].against is Against.OUTCOME for column in columns)


@pytest.mark.parametrize("name", INNOCENT)
def test_innocent_predictors_stay(name) -> None:
    study, _ = innocent(name, PEOPLE, 2)
    assert set(column_findings(study)) == {"date"}


@pytest.mark.parametrize("name", HARD)
def test_the_harder_ones_in_several_draws(name) -> None:
    draws = [leaking(name, PEOPLE, draw, (PER_COUPON, CAPACITY)[draw % 2])[0] for draw in range(8)]
    assert sum("v" in column_findings(study) for study in draws) >= HARD[name]


def test_all_or_nothing_is_no_leak() -> None:
    study, _ = innocent("people who use all coupons or none", PEOPLE, 1)
    assert "people who use all coupons or none" in BORDER
    assert set(column_findings(study)) == {"date"}


@pytest.mark.parametrize("name", [name for name in LEAKS if name.startswith(("equal", "sum"))])
def test_exact_leaks_in_a_small_study(name) -> None:
    study, columns = leaking(name, 50, 4)
    assert set(columns) <= set(column_findings(study))


@pytest.mark.parametrize("draw", range(4))
def test_noise_in_a_small_study(draw) -> None:
    """Forty columns that mean nothing, and forty people."""
    made = ordinary(40, draw)
    study = study_of(made, {f"q{i}": made.rng.integers(0, 2 + i % 4, 40) for i in range(40)})
    assert set(column_findings(study)) == {"date"}


def test_reasons() -> None:
    made = ordinary(PEOPLE, 0)
    flags = LEAKS["sum: flags of used coupons"](made)
    columns = {
        "pay": 20 * made.recruits,
        "men": made.men,
        "women": made.recruits - made.men,
        "answered": np.where(made.recruits > 0, made.rng.choice(["a", "b"], PEOPLE), ""),
        **flags,
    }
    leaks = find_leaks(study_of(made, columns))
    assert str(leaks["pay"].reason) == "tells the number of recruits, which is known only afterwards"
    assert str(leaks["men"].reason).startswith("adds up with 'women' to the number of recruits")
    assert leaks["men"].reason.arguments["others"] == ["women"]
    assert str(leaks["answered"].reason).startswith("tells by its empty cells whether somebody recruited")
    assert str(leaks["v0"].reason).startswith("adds up with 'v1', 'v2' to the number of recruits")
    assert all(leak.certain for leak in leaks.values())


def test_times_cast_no_suspicion_on_others() -> None:
    """Late interviews bring nobody because the study ended; a column beside them stays."""
    made = ordinary(PEOPLE, 0)
    late = np.where(made.days > np.quantile(made.days, 0.5), 1, 0)
    study = study_of(made, {"start": 1_700_000_000 + 86_400 * made.days, "half": late})
    assert set(column_findings(study)) == {"date", "start"}


def test_a_chain_in_which_everybody_brings_one() -> None:
    people = 100
    table = pd.DataFrame(
        {
            "id": [f"p{i}" for i in range(people)],
            "recruiter": ["", *(f"p{i}" for i in range(people - 1))],
            "coupons_issued": [2] * people,
            "sex": ["f", "m"] * 50,
            "few": [0] * 97 + [1, 2, 3],
        }
    )
    assert find_leaks(study_from_table(table)) == {}


def test_nobody_with_usable_counts() -> None:
    table = pd.DataFrame({"id": ["a", "b"], "recruiter": ["", "a"], "coupons_issued": [1, 0], "sex": ["f", "m"]})
    assert find_leaks(study_from_table(table)) == {}
