"""Studies that say little: what cannot be known is said, and a plan still comes."""

from datetime import date, timedelta

import numpy as np
import pandas as pd
import pytest
from small_study import QUICK

from peerfront.data.columns.schema_guess import guess_schema
from peerfront.data.reading import study_from_table
from peerfront.foundation.errors import DataFileError
from peerfront.models.belief.prior import Prior
from peerfront.study.fit_settings import FitSettings
from peerfront.study.fitting import fit_study
from peerfront.study.model import Model
from peerfront.study.week import WeekRequest, run_week

FIRST = date(2026, 3, 2)


def study_of(
    people: int, chance: float, coupons: tuple[int, ...] = (3,), seeds: int = 5, days: int = 3
) -> pd.DataFrame:
    """People in the order in which they came; each coupon is used with this chance, within `days` to `days` + 4."""
    rng = np.random.default_rng(1)
    came: list[tuple[str, date]] = [("", FIRST)] * seeds
    rows: list[list[object]] = []
    while len(rows) < min(len(came), people):
        recruiter, day = came[len(rows)]
        given = coupons[len(rows) % len(coupons)]
        name = f"p{len(rows)}"
        rows.append([name, recruiter, given, day.isoformat(), rng.choice(["f", "m"])])
        used = min(int((rng.random(given) < chance).sum()), people - len(came))
        came += [(name, day + timedelta(days=days + int(rng.integers(5)))) for _ in range(used)]
    return pd.DataFrame(rows, columns=["id", "recruiter", "coupons_issued", "date", "sex"])


def fitted(table: pd.DataFrame, **settings) -> Model:
    study = study_from_table(table)
    asked = FitSettings(budget=20, rounds=3, learning=QUICK, **settings)
    return Model(fit_study(study, guess_schema(study).schema, asked))


def all_used() -> pd.DataFrame:
    table = study_of(60, 1.0)
    return table.assign(coupons_issued=table["id"].map(table["recruiter"].value_counts()).fillna(0).astype(int))


CASES = {
    "one number": (study_of(80, 0.45), {}, {"evidence.fewer_coupons"}),
    "all used": (all_used(), {}, {"evidence.all_used"}),
    "one coupon each, all used": (study_of(40, 1.0, (1,)), {}, {"fits.only_one_coupon"}),
    "twelve people": (study_of(12, 0.45, seeds=3), {}, {"fits.few_people", "fits.few_pairs"}),
    "nearly everybody open": (study_of(40, 0.45, seeds=25, days=0), {}, {"fits.few_have_come"}),
    "a prior that excludes the data": (
        study_of(120, 0.45, (1, 2, 3), seeds=20),
        {"prior_belief": Prior(limited=((1.0, 1.0),), spur=((10.0, 1.0),), level=0.01)},
        {"evidence.against_prior"},
    ),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_plan_comes_with_what_is_not_known(case) -> None:
    table, settings, expected = CASES[case]
    model = fitted(table, **settings)
    codes = {each.code for each in model.fit.messages}
    assert expected <= codes, codes
    waiting = pd.DataFrame({"id": [f"w{n}" for n in range(8)], "sex": ["f", "m"] * 4})
    sheet = model.plan(waiting, 20)
    assert 0 < sheet.spend <= 20
    assert {each.code for each in sheet.notes} >= {code for code in expected if code.startswith("evidence")}
    chances = [int(chance[:-1]) for text in sheet.table["chance_used"] for chance in text.split()]
    assert max(chances) <= 100
    forecast = model.forecast(waiting, 20, episodes=20)
    assert str(forecast).startswith("Expect ")
    stories = model.fit.scores["coupon_stories"]
    widths = np.array(stories["all"]["high"]) - np.array(stories["all"]["low"])
    assert settings or (widths > 0.0).all(), "what the counts leave open stays open"


def test_a_prior_that_the_counts_agree_with_is_no_matter_for_a_warning() -> None:
    model = fitted(study_of(120, 0.45, (1, 2, 3), seeds=20), prior_belief=Prior(drift=0.2))
    assert "evidence.against_prior" not in {each.code for each in model.fit.messages}


@pytest.mark.parametrize("day", [date(2026, 3, 4), date(2026, 4, 20)], ids=["everybody open", "none used"])
def test_where_nobody_has_come_everybody_gets_the_same(day, tmp_path) -> None:
    table = study_of(30, 0.0, seeds=30)
    with pytest.raises(DataFileError, match="nobody has come yet with a coupon .*0 of 90 coupons were used") as refused:
        fitted(table)
    assert "give everybody the same number" in str(refused.value)
    waiting = table.assign(coupons_issued=[3] * 25 + [0] * 5)
    waiting.to_csv(tmp_path / "study.csv", index=False)
    made = run_week(tmp_path / "study.csv", tmp_path / "folder", WeekRequest(day, given={"budget": 20}, studies=20))
    assert "nobody has come yet" in str(made)
    assert made.plan is not None
    assert made.plan.table["coupons"].tolist() == [3] * 5
