"""Designs: studies on networks with a known outcome, under every rule, and what is recommended."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from peerfront.baselines.simple_rules import WhileTheyLast
from peerfront.foundation.errors import SettingError, UnknownName
from peerfront.study.design import Design, design_parts, settings_record
from peerfront.study.design_results import ADVISED, ROW_COLUMNS, recommendation, recommended, summarised, trusted
from peerfront.study.design_worlds import (
    AssumedNetworks,
    DesignSettings,
    ModelNetworks,
    arms_of,
    networks_for,
    read_outcome,
)
from peerfront.study.model import Model
from study.small_advice import a_fit

SMALL = DesignSettings(
    population=300, coupons=15, rounds=3, seeds=6, repetitions=3, bootstraps=5, randomise=(), strata=("sex",)
)


def test_a_model_is_designed_with_its_own_plan_and_an_outcome_of_its_fields() -> None:
    settings = dataclasses.replace(SMALL, outcome="town=north", seeds=40)
    parts = list(design_parts(Model(a_fit()), settings))
    rows = pd.concat(parts)
    assert tuple(rows.columns) == ROW_COLUMNS
    rules = list(dict.fromkeys(rows["rule"]))
    assert rules == [
        *("3 each", "3 each, sex kept", "2 each", "1 each", "threshold"),
        *("the plan", "the plan, at least 1 each", "within sex"),
    ]
    assert rows.groupby("rule")["repetition"].nunique().tolist() == [3] * 8
    assert (rows["coupons"] <= 15).all()
    assert rows["truth"].nunique() == 1
    again = pd.concat(list(design_parts(Model(a_fit()), settings)))
    pd.testing.assert_frame_equal(rows, again)


def test_networks_have_the_outcome_that_was_assumed() -> None:
    settings = dataclasses.replace(SMALL, prevalence=0.3, homophily=1.6, population=600)
    assumed = networks_for(None, settings)
    assert isinstance(assumed, AssumedNetworks)
    assert assumed.draw(1).truth == pytest.approx(0.3)
    model = networks_for(a_fit(), settings)
    assert isinstance(model, ModelNetworks)
    network = model.draw(1)
    assert network.truth == pytest.approx(0.3)
    society, has = network.world.society, network.has
    owner = np.repeat(np.arange(len(society)), society.degrees)
    across = (has[owner] != has[society.acquaintances]).sum() / 2
    inside, ends = society.degrees[has].sum(), society.degrees.sum()
    assert inside * (ends - inside) / ends / across == pytest.approx(1.6, rel=0.03)
    assert (society.degrees > 0).mean() > 0.99


def test_people_of_a_model_network_know_their_like() -> None:
    """Friends are drawn as the model draws recruits: its women bring women."""
    network = ModelNetworks(a_fit(), 500, 8.0, None, 0.2, 1.0).draw(0)
    society, place = network.world.society, a_fit().schema.names.index("sex")
    sex = society.covariates[:, place]
    owner = np.repeat(np.arange(len(society)), society.degrees)
    alike = (sex[owner] == sex[society.acquaintances]).mean()
    share = society.degrees[sex == sex[0]].sum() / society.degrees.sum()
    assert alike > share**2 + (1.0 - share) ** 2 + 0.1


def _rows(rule: str, recruits: int, off: float, spread: float, studies: int = 60, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng([seed, recruits])
    estimate = 0.2 + off + spread * rng.standard_normal(studies)
    return pd.DataFrame(
        {
            "rule": rule, "repetition": np.arange(studies), "recruits": recruits, "coupons": 100, "truth": 0.2,
            "estimator": "RDS-II", "estimate": estimate, "low": estimate - 2 * spread, "high": estimate + 2 * spread,
            "design_effect": 2.0, "valid": True, "advised": True,
        },
        columns=list(ROW_COLUMNS),
    )  # fmt: skip


def test_the_rule_with_most_recruits_among_good_estimates_is_recommended() -> None:
    three, two = _rows("3 each", 80, 0.0, 0.02), _rows("2 each", 100, 0.0, 0.02)
    rows = pd.concat([three, two, _rows("good", 150, 0.0, 0.021), _rows("bad", 300, 0.1, 0.02)])
    table, rules = summarised(rows)
    assert set(table["estimator"]) == {"RDS-II", ADVISED}
    assert recommended(rules) == "good"
    bad = rules.set_index("rule").loc["bad"]
    assert bad["bias"] == pytest.approx(0.1, abs=0.01)
    assert bad["rmse"] == pytest.approx(np.hypot(0.1, 0.02), abs=0.01)
    assert bad["coverage"] < 0.1
    words = str(Design(DesignSettings(), rows))
    assert "Use this rule: good. It brings 150 recruits, 50 more than 2 each (50%)" in words


def test_a_few_more_recruits_do_not_make_up_for_a_clear_bias() -> None:
    """Intervals may hold the truth often enough, and the error be small enough, although an estimate is off."""
    biased, fair = _rows("biased", 160, 0.04, 0.05), _rows("fair", 150, 0.0, 0.055)
    for rows in (biased, fair):
        rows["low"], rows["high"] = rows["estimate"] - 0.12, rows["estimate"] + 0.12
    _, rules = summarised(pd.concat([biased, fair]))
    assert trusted(rules).all()
    assert recommended(rules) == "fair"
    alone = recommendation(summarised(biased)[1])
    assert alone is not None
    assert alone.rule == "biased"
    assert alone.bias == pytest.approx(0.04, abs=0.02)
    assert "still off by +0.0" in str(Design(DesignSettings(), biased).lines()[-1])


def test_nothing_is_recommended_where_nothing_can_be_trusted_or_few_were_played() -> None:
    rows = pd.concat([_rows("3 each", 100, 0.2, 0.02), _rows("plan", 150, 0.1, 0.02)])
    rules = summarised(rows)[1]
    assert recommended(rules) is recommendation(rules) is None
    assert "Under no rule" in str(Design(DesignSettings(), rows).lines()[-1])
    few = Design(DesignSettings(), _rows("3 each", 100, 0.0, 0.02, 5))
    assert recommendation(few.rules) is None
    assert "too few to recommend" in str(few.lines()[-1])


def test_studies_without_any_estimate_are_said_to_have_none() -> None:
    rows = _rows("3 each", 4, 0.0, 0.02).assign(estimate=np.nan, low=np.nan, high=np.nan, estimator="", advised=False)
    made = Design(DesignSettings(), rows)
    assert "too small to estimate" in str(made.lines()[0])
    assert made.plot().axes


def test_the_picture_has_a_point_for_each_rule() -> None:
    made = Design(DesignSettings(), pd.concat([_rows("3 each", 100, 0.0, 0.02), _rows("good", 150, 0.0, 0.021)]))
    labels = made.plot().legends[0].get_texts()
    assert [text.get_text() for text in labels] == ["3 each", "good (use this)"]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"population": 10}, "population must be"),
        ({"prevalence": 0.0001}, "leaves 0 of"),
        ({"homophily": 0.5}, "homophily must be"),
        ({"sample": 3}, "cannot be drawn with"),
        ({"sample": 5000}, "cannot be drawn with"),
        ({"randomise": (0.7,)}, "above 0 and at most 0.5"),
        ({"repetitions": 1}, "repetitions must be"),
        ({"coupons": 1.5}, "coupons must be a whole number"),
    ],
)
def test_bad_assumptions_are_refused(changed: dict[str, object], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        DesignSettings(**changed)  # type: ignore[arg-type]


def test_bad_outcomes_and_strata_are_refused() -> None:
    schema = a_fit().schema
    with pytest.raises(UnknownName, match="no field of the model called 'hiv'"):
        read_outcome("hiv", schema)
    with pytest.raises(UnknownName, match="no category of 'town' called 'moon'"):
        read_outcome("town=moon", schema)
    assert read_outcome("sex", schema) == ("sex", schema.fields[schema.names.index("sex")].categories[1])
    with pytest.raises(UnknownName, match="no field called 'hiv'"):
        arms_of(a_fit().planner, schema, [WhileTheyLast.each(3)], ("hiv",), ())
    with pytest.raises(SettingError, match="fitted for at most 20 coupons"):
        list(design_parts(Model(a_fit()), dataclasses.replace(SMALL, coupons=50)))


def test_all_settings_but_the_repetitions_must_be_the_same_to_go_on() -> None:
    one, more = settings_record(SMALL, None), settings_record(dataclasses.replace(SMALL, repetitions=99), None)
    assert one == more
    assert one != settings_record(dataclasses.replace(SMALL, seed=1), None)
