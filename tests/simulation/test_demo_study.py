"""The made-up study is a fair sample of its world: recruits agree with the truth, and waves keep their size."""

import numpy as np
import pytest

from peerfront.data.reading import study_from_table
from peerfront.simulation.demo_study import demo_study, demo_world

WORLD = demo_world()


def residuals(people: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Of people with three coupons who answered everything: recruits less expected recruits, and their variances."""
    made = demo_study(people, seed)
    study = study_from_table(made.study)
    fields = made.study[list(WORLD.schema.names)]
    holders = (study.issued == 3) & (fields.fillna("") != "").all(axis=1).to_numpy()
    rows = fields[holders].to_dict("records")
    codes = np.array([[field.code_of[row[field.name]] for field in WORLD.schema.fields] for row in rows], np.int16)
    at_least = WORLD.response.survival(codes, 3)  # [people, coupons]: chances of 1, 2, 3 recruits or more
    expected = at_least.sum(axis=1)
    return study.recruits[holders] - expected, at_least @ np.array([1, 3, 5]) - expected**2


@pytest.mark.parametrize(("people", "studies"), [(120, 60), (500, 40), (3000, 6)])
def test_recruits_agree_with_the_truth(people: int, studies: int) -> None:
    """Whenever a study ends, recruits less expected ones are a stopped martingale: 0 on average."""
    differences, variances = (
        np.concatenate(each) for each in zip(*(residuals(people, seed) for seed in range(studies)), strict=True)
    )
    assert len(differences) > 4000
    assert abs(differences.sum()) < 3 * np.sqrt(variances.sum())
    assert np.square(differences).mean() == pytest.approx(variances.mean(), rel=0.1)


@pytest.mark.parametrize(("people", "largest"), [(120, 60), (500, 120), (1000, 150), (10_000, 400)])
def test_waves_neither_explode_nor_die_out(people: int, largest: int) -> None:
    for seed in range(10):
        made = demo_study(people, seed)
        weeks = (np.array(made.study["date"], "datetime64[D]") - np.datetime64("2024-01-08")).astype(int) // 7
        waves = np.bincount(weeks)
        assert waves.min() >= 10
        assert waves.max() <= largest
        assert people <= len(made.study) < people + largest
        assert waves[-1] == len(made.frontier)


def test_without_another_wish_about_forty_wait_for_coupons() -> None:
    made = demo_study()
    assert 490 <= len(made.study) <= 550
    assert 35 <= len(made.frontier) <= 45
    assert (made.study["own.coupon"] == "").mean() < 0.15
