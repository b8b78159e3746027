"""Sheets within strata and with random numbers: what is handed out, how likely it was, what it costs."""

from types import SimpleNamespace

import numpy as np
import pytest

from peerfront.foundation.errors import SettingError, UnknownName
from peerfront.study.advice import advise
from peerfront.study.coupon_sheet import CouponSheet
from peerfront.study.orders import PlanOrder
from peerfront.study.planning import plan_coupons
from peerfront.study.reasons import ReasonCode
from peerfront.study.restrictions import Restriction, restriction_of
from peerfront.study.study_state import Standing
from study.small_advice import a_fit, a_frontier, order
from study.small_outlook import ahead


def a_sheet(people: int = 12, **changed: object) -> CouponSheet:
    return plan_coupons(a_fit(), a_frontier(people), order(**changed))  # type: ignore[arg-type]


def test_everybody_in_a_stratum_is_treated_alike() -> None:
    sheet = a_sheet(strata="sex")
    table = sheet.table
    assert list(table.columns[5:]) == ["decided_by", "probability", "stratum", "reason"]
    assert set(table["stratum"]) <= {"sex=f", "sex=m"}
    for _, own in table.groupby("stratum"):
        assert own["coupons"].max() - own["coupons"].min() <= 1
        if own["coupons"].nunique() > 1:
            more = own["coupons"] == own["coupons"].max()
            expected = np.where(more, more.mean(), 1.0 - more.mean())
            assert own["probability"].tolist() == pytest.approx(expected.round(6).tolist())
            assert set(own["decided_by"]) == {"lot"}
        else:
            assert (own["probability"] == 1.0).all()
    assert "Coupons differ only between strata (sex: 2)" in " ".join(map(str, sheet.details()))


def test_strata_of_all_fields_may_cost_nothing_and_fewer_cost_more() -> None:
    """In the last round the means are exact: a coarser rule never brings more."""
    free = a_sheet(rounds_left=1)
    fine, coarse = a_sheet(rounds_left=1, strata="sex+town"), a_sheet(rounds_left=1, strata="town")
    assert coarse.promised <= fine.promised + 1e-9
    assert fine.promised <= free.promised + 1e-9


def test_random_numbers_have_their_chance_and_are_logged() -> None:
    sheet = a_sheet(24, budget=15, max_per_person=2, randomise=0.05, rounds_left=1)
    assert int(sheet.table["coupons"].sum()) <= 15
    at_random = sheet.table["decided_by"] == "random"
    assert (sheet.table["probability"] >= 0.05 - 1e-9).all()
    assert (sheet.table.loc[at_random, "probability"] < 1.0).all()
    assert "chance of at least 5% of each number from 0 to 2" in " ".join(map(str, sheet.details()))
    assert {each.code for each in sheet.table.loc[at_random, "reason"]} == {ReasonCode.RANDOM}
    again = a_sheet(24, budget=15, max_per_person=2, randomise=0.05, rounds_left=1)
    assert again.csv() == sheet.csv()
    other = a_sheet(24, budget=15, max_per_person=2, randomise=0.05, rounds_left=1, seed=1)
    assert other.csv() != sheet.csv()


def test_the_probability_on_the_sheet_is_the_share_of_seeds() -> None:
    """Over many seeds everybody gets their number as often as the sheet says; strata and random numbers together."""
    seeds, people = 150, 8
    sheets = [
        a_sheet(people, budget=12, strata="town", max_per_person=2, randomise=0.1, rounds_left=1, seed=seed).table
        for seed in range(seeds)
    ]
    coupons = np.array([table["coupons"].to_numpy() for table in sheets])
    probability = np.array([table["probability"].to_numpy() for table in sheets])
    for person in range(people):
        for number in range(3):
            got = coupons[:, person] == number
            said = probability[got, person]
            assert len(said), "every number comes up"
            assert said == pytest.approx(said[0])
            assert abs(got.mean() - said[0]) < 4.5 * np.sqrt(said[0] * (1 - said[0]) / seeds)


def test_floors_and_least_hold_within_strata() -> None:
    sheet = a_sheet(strata="sex", at_least=("town=north:0.9",), budget=12)
    fit, frontier = a_fit(), a_frontier(12)
    place = fit.schema.names.index("town")
    north = frontier.covariates[:, place] == fit.schema.fields[place].code_of["north"]
    coupons = sheet.table["coupons"].to_numpy()
    assert coupons[north].mean() >= 0.9 * coupons.mean() - 1e-9
    least = a_sheet(strata="sex", min_per_person=1, budget=15)
    assert least.table["coupons"].min() >= 1


def test_a_forecast_plays_the_same_order() -> None:
    frontier = a_frontier(8)
    free = ahead(a_fit(), frontier, order(15), studies=60)
    within = ahead(a_fit(), frontier, order(15, strata="town", randomise=0.1), studies=60)
    assert within.of_plan["recruits"] != free.of_plan["recruits"]
    assert within.of_plan["recruits"] <= free.of_plan["recruits"] + 1.0


def test_limits_show_what_the_plan_without_them_brings() -> None:
    """Floors, strata, random numbers and a minimum have one price each: the free plan, simulated with the same luck."""
    standing = Standing.by_rounds(a_frontier(8))
    for changed in ({"at_least": ("town=north:0.9",)}, {"strata": "town"}, {"randomise": 0.1}, {"min_per_person": 1}):
        outlook = advise(a_fit(), standing, order(15, **changed), studies=40).outlook
        (free,) = outlook.choices.each
        assert free.described.code == "choices.without_limits"
        plan = advise(a_fit(), standing, order(15), studies=40).outlook
        assert free.recruits == pytest.approx(plan.of_plan["recruits"]), "as if it had been asked for"
        assert free.lead.mean == pytest.approx(outlook.of_plan["recruits"] - free.recruits)
        (least,) = plan.choices.each
        assert least.described.code == "choices.at_least_one"
    assert least.recruits == pytest.approx(outlook.of_plan["recruits"]), "the price of a minimum, from either side"
    few = advise(a_fit(), standing, order(7), studies=10).outlook
    assert few.choices.each == (), "7 coupons cannot give 8 people one each"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"strata": "sexx"}, "no field called 'sexx'"),
        ({"strata": "sex+sex"}, "name a field twice"),
        ({"strata": ("",)}, "without a name"),
        ({"strata": "sex", "learn": 0.1}, "does not go with strata"),
        ({"randomise": 0.1, "learn": 0.1}, "does not go with strata=... or randomise"),
        ({"randomise": 0.1, "at_least": ("sex=f:0.5",)}, "could break a floor"),
        ({"randomise": 0.3}, "adds up to more than 1"),
        ({"randomise": 0.24, "budget": 5}, "random numbers alone"),
        ({"randomise": -0.1}, "at least 0 and at most 0.5"),
        ({"seed": -1}, "seed must be a whole number of at least 0"),
    ],
)
def test_what_does_not_go_together_is_refused(changed: dict[str, object], message: str) -> None:
    with pytest.raises((SettingError, UnknownName), match=message):
        a_sheet(**changed)


def test_a_field_with_a_plus_in_its_name_is_found() -> None:
    from peerfront.foundation.covariates import Field, Schema

    schema = Schema((Field("a+b", ("x", "y")), Field("c", ("x", "y"))))
    fit = SimpleNamespace(schema=schema, scores={})
    assert restriction_of(PlanOrder(5, strata="a+b"), fit) == Restriction(schema, ("a+b",))  # type: ignore[arg-type]
    assert restriction_of(PlanOrder(5, strata=("a+b", "c")), fit).fields == ("a+b", "c")  # type: ignore[arg-type]


def test_too_many_strata_are_refused() -> None:
    from peerfront.foundation.covariates import Field, Schema

    schema = Schema((Field("code", tuple("abcdefghijklmnop")),))
    with pytest.raises(SettingError, match="forms 16 strata"):
        Restriction(schema, ("code",)).strata(np.arange(16, dtype=np.int16)[:, None])


def test_the_workbook_and_the_csv_tell_the_stratum(tmp_path) -> None:
    sheet = a_sheet(strata="sex", rounds_left=1)
    assert "stratum" in sheet.csv().splitlines()[0]
    sheet.save(tmp_path / "sheet.xlsx")
    from openpyxl import load_workbook

    book = load_workbook(tmp_path / "sheet.xlsx")
    facts = "\n".join(str(cell.value) for row in book["Facts"].iter_rows() for cell in row)
    assert "coupons differ only between strata of" in facts
    assert "stratum" in [cell.value for cell in book["Numbers"][1]]
