"""The population of an order: what is refused, what plans and forecasts do with it, and what they say."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from peerfront.baselines.simple_rules import Constant
from peerfront.data.reading import read_frontier
from peerfront.data.schema_file import parse_schema
from peerfront.foundation.errors import DataFileError, PeerfrontError, SettingError
from peerfront.models.finite_population import usual_sizes
from peerfront.study.artifacts import Fit
from peerfront.study.planning import plan_coupons
from peerfront.study.population import PopulationFit, reachable_shares, read_population, with_population
from peerfront.study.rivals import Rival
from study.small_advice import a_fit, a_frontier, order
from study.small_outlook import ahead

THREE = (Rival("three each", Constant(3)),)


def fitted(**scores: object) -> Fit:
    return replace(a_fit(), scores={"people": 90, **scores})


def test_a_small_population_brings_fewer_recruits_and_says_so() -> None:
    fit, people = fitted(), a_frontier(6)
    endless = ahead(fit, people, order(target=100), THREE, 90, studies=200)
    few = ahead(fit, people, order(population=96, target=96), THREE, 90, studies=200)
    many = ahead(fit, people, order(population=10**8, target=100), THREE, 90, studies=200)
    assert few.steps["total_p90"].max() <= 6
    assert few.of_plan["recruits"] < 0.7 * endless.of_plan["recruits"]
    assert many.of_plan["recruits"] == endless.of_plan["recruits"]
    assert any("how many people can be reached" in str(line) for line in endless.details())
    assert few.of_plan["p10"] < few.of_plan["p90"] <= 6
    said = "\n".join(map(str, few.details()))
    assert "The population has 96 people, of whom 6 have not taken part" in said
    assert few.population == 96


def test_a_plan_knows_who_has_nobody_left() -> None:
    fit, people = fitted(), a_frontier(6)
    asked = replace(people, left=np.array([0, 0, 0, 1, 50, -1]))
    sheet = plan_coupons(fit, asked, order(8))
    coupons = sheet.table["coupons"].to_numpy()
    assert (coupons[:3] == 0).all()
    assert coupons[3] <= 1
    assert coupons[4:].sum() > 0
    assert sheet.table["expected_now"].to_numpy()[3] <= 1.0
    assert any("5 people said how many of their acquaintances" in str(note) for note in sheet.notes)
    assert sheet.model_fingerprint == fit.fingerprint
    plain, unknown = plan_coupons(fit, people, order(8)), replace(people, left=np.full(6, -1))
    same = plan_coupons(fit, unknown, order(8))
    assert same.table["coupons"].tolist() == plain.table["coupons"].tolist()
    assert same.expected == plain.expected
    outlook = ahead(fit, asked, order(8), THREE, studies=50)
    assert outlook.population is None
    assert outlook.of_plan["recruits"] < ahead(fit, people, order(8), THREE, studies=50).of_plan["recruits"]


def test_groups_have_their_own_sizes() -> None:
    fit, people = fitted(), a_frontier(6)
    whole = read_population(order(population=["sex=f:60:50", "sex=m:400:40"]), fit, people)
    assert whole is not None
    assert whole.field == fit.schema.names.index("sex")
    assert whole.left().tolist() == [10.0, 360.0]
    assert whole.before.tolist() == [25.0, 20.0]
    assert whole.mixing is not None
    np.testing.assert_allclose(whole.mixing.sum(axis=1), 1.0)
    assert whole.mixing[0, 0] > whole.mixing[1, 0]  # recruits are like their recruiters
    shares = whole.shares_of_people(whole.shares())
    assert shares[0] < shares[2] < shares[1]
    told = read_population(order(population=["sex=m:400", "sex=f:60"], already=90), fit, people)
    assert told is not None
    assert told.already.sum() == pytest.approx(90)
    groups = order(population=["sex=f:52:50", "sex=m:43:40"])
    assert ahead(fit, people, groups, THREE, 90, studies=60).steps["total_p90"].max() <= 5


def test_network_sizes_of_the_study_are_used() -> None:
    known = read_population(order(population=500), fitted(network_sizes=[2, 4, 6, 9, 15]), a_frontier())
    assert known is not None
    assert known.acquaintances == (2, 4, 6, 9, 15)
    assert known.popularity == pytest.approx(7.2 * np.mean(1 / np.array([2, 4, 6, 9, 15.0])), rel=0.1)
    ordered = read_population(order(population=500, acquaintances=30), fitted(network_sizes=[2, 4]), a_frontier())
    assert ordered is not None
    assert ordered.acquaintances == usual_sizes(30)
    broken = read_population(order(population=500), fitted(network_sizes=["x", -4]), a_frontier())
    assert broken is not None
    assert broken.acquaintances == usual_sizes()


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"population": 50}, "has 50 people, and 90 have taken part already"),
        ({"population": "many"}, "must be a whole number, such as 500"),
        ({"population": 99.5}, "whole number"),
        ({"population": 200, "already": 3}, "6 people wait for coupons"),
        ({"population": ["sex=f:100"]}, "gives no size for sex m"),
        ({"population": ["sex=f:100", "town=north:100"]}, "every group of a single field"),
        ({"population": ["100", "200"]}, "every group of a single field"),
        ({"population": ["sex=f:100", "sex=f:100"]}, "names a group twice"),
        ({"population": ["sex=f:100:20", "sex=m:100"]}, "of some groups"),
        ({"population": ["sex=f:100:20", "sex=m:100:90"], "already": 7}, "already=7 disagrees.*Leave it out"),
        ({"population": ["sex=f:10:20", "sex=m:100:3"]}, "at most 10"),
        ({"population": ["sex=x:10"]}, "'x'"),
        ({"population": ["=:"]}, "no field called ''"),
        ({"acquaintances": 5}, "give population=..., too"),
        ({"population": 500, "acquaintances": 0}, "acquaintances must be"),
        ({"population": 500, "acquaintances": 500}, "nobody knows so many"),
        ({"population": 500, "acquaintances": 10**9}, "at most 100,000"),
    ],
)
def test_impossible_populations_are_refused(asked: dict[str, object], message: str) -> None:
    with pytest.raises(PeerfrontError, match=message):
        plan_coupons(fitted(), a_frontier(), order(8, **asked))  # type: ignore[arg-type]


def test_a_target_above_the_population_is_refused() -> None:
    with pytest.raises(SettingError, match="The target is 300 people, and the population has 200"):
        ahead(fitted(), a_frontier(), order(population=200, target=300), studies=10)


def test_nothing_changes_without_a_population() -> None:
    fit, people = fitted(), a_frontier()
    assert with_population(fit, people, order())[0] is fit
    assert isinstance(with_population(fit, people, order(population=500))[0], PopulationFit)


def test_acquaintances_left_are_read_from_the_file() -> None:
    schema = parse_schema(a_fit().study_schema.encode(), "the schema")
    table = pd.DataFrame({"id": ["a", "b", "c"], "sex": "f", "town": "north", "date": "2024-01-01"})
    assert read_frontier(table, schema).left is None
    table["Acquaintances_Left"] = ["3", "", "0"]
    read = read_frontier(table, schema).left
    assert read is not None
    assert read.tolist() == [3, -1, 0]
    renamed = table.rename(columns={"Acquaintances_Left": "still free"})
    assert read_frontier(renamed, schema).left is None
    named = read_frontier(renamed, schema, left_column="still free").left
    assert named is not None
    assert named.tolist() == [3, -1, 0]
    with pytest.raises(DataFileError, match=r"'few' \(row 2\), '-1' \(row 4\)"):
        read_frontier(table.assign(Acquaintances_Left=["few", "2", "-1"]), schema)


def test_forecasts_by_date_find_fewer_as_people_come() -> None:
    fit, people = fitted(), a_frontier()
    population = read_population(order(population=200, already=100), fit, people)
    assert population is not None
    found = reachable_shares(population, fit, people)(np.array([0, 40, 80, 99, 100]))
    left = population.shares(np.array([[0], [40], [80], [99], [100]]))[:, 0]
    assert (np.diff(found) < 0).all()
    assert found[-1] == 0.0
    assert (found[:3] > left[:3]).all()  # somebody else is found in the place of those who have taken part
    huge = read_population(order(population=10**8), fit, people)
    assert huge is not None
    assert reachable_shares(huge, fit, people)(np.array([0])) == pytest.approx(1.0, abs=1e-3)
