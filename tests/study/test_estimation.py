"""From a study's file to estimates in words: what is valid, what is said about bad input, and what is written."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import peerfront as pf
from peerfront.data.study import Study
from peerfront.foundation.errors import DataFileError, PeerfrontError, SettingError, UnknownName
from peerfront.study.study_sample import sample_of
from peerfront.words.estimates import estimate_table, verdict_lines


def made_up(people: int = 260, coupons=lambda rng, place: 3, seed: int = 0) -> pd.DataFrame:
    """A recruiter-id table: everybody recruits as coupons allow; the outcome is inherited with .6."""
    rng = np.random.default_rng(seed)
    rows, waiting = [], []
    for place in range(people):
        recruiter = waiting.pop(0) if waiting else None
        hiv = rng.random() < 0.3
        if recruiter is not None and rng.random() < 0.6:
            hiv = rows[recruiter]["hiv"] == "yes"
        given = coupons(rng, place)
        rows.append(
            {
                "id": f"p{place}",
                "recruiter": "" if recruiter is None else f"p{recruiter}",
                "coupons_issued": given,
                "network_size": int(rng.integers(1, 30)),
                "hiv": "yes" if hiv else "no",
                "site": "north" if place % 3 else "south",
                "age": int(rng.integers(18, 70)),
            }
        )
        waiting += [place] * int(rng.binomial(given, 0.5))
    return pd.DataFrame(rows)


def read(table: pd.DataFrame) -> Study:
    return pf.read_study(table)


def all_words(estimates: pf.Estimates) -> str:
    return " ".join(map(str, [*estimates.lines(), *estimates.details()]))


def test_equal_coupons_make_the_chain_the_one_to_use() -> None:
    """RDS-II is right on average, too, but its intervals are too narrow (docs/results/estimates.md)."""
    made = pf.estimate(read(made_up()), "hiv", bootstraps=30)
    assert made.outcomes[0].verdict.best == "RDS-I"
    known = pf.estimate(read(made_up()), "hiv", bootstraps=30, population=3000)
    assert known.outcomes[0].verdict.best == "stratified SS"
    table = made.table.set_index(["category", "estimator"])
    assert set(table.index.get_level_values("estimator")) == {"mean", "RDS-II", "RDS-I"}
    assert not table.loc[("yes", "mean"), "valid"]
    assert table.loc[("yes", ["RDS-I", "RDS-II"]), "valid"].all()
    off = table.loc[("yes", "mean"), "estimate"] - table.loc[("yes", "RDS-I"), "estimate"]
    assert table.loc[("yes", "mean"), "likely_bias"] == pytest.approx(off)
    assert table.loc[("yes", "RDS-II"), "low"] < table.loc[("yes", "RDS-II"), "estimate"]
    assert "same number of coupons" in str(made)


def test_unequal_coupons_make_the_stratified_one_the_one_to_use() -> None:
    study = read(made_up(400, lambda rng, place: 3 if rng.random() < 0.5 else 1))
    made = pf.estimate(study, "hiv", bootstraps=30, population=10_000)
    assert made.outcomes[0].verdict.best == "stratified SS"
    assert made.study_sample.sample.strata == ("1", "3")
    valid = made.table.set_index("estimator")["valid"].groupby(level=0).first()
    assert valid.to_dict() == {
        "RDS-I": False, "RDS-II": False, "SS": False, "mean": False, "stratified": True, "stratified SS": True,
    }  # fmt: skip
    assert "not valid" in str(made)
    few = pf.estimate(study, "hiv", bootstraps=30, population=500).outcomes[0]
    assert few.verdict.best == "stratified SS"
    assert "80% of the population" in str(few.verdict.invalid["stratified"])


def test_coupons_by_the_outcome_leave_rds_i_valid() -> None:
    table = made_up(300)
    table["coupons_issued"] = np.where(table["hiv"] == "yes", 5, 4)
    made = pf.estimate(read(table), "hiv", bootstraps=30).outcomes[0]
    assert "RDS-I" not in made.verdict.invalid
    assert "RDS-II" in made.verdict.invalid


def test_strata_from_a_column_and_subgroups_and_numbers() -> None:
    study = read(made_up(300, lambda rng, place: 3 if place % 3 else 2))
    made = pf.estimate(study, ["hiv", "age"], by="site", strata="site", bootstraps=30)
    assert made.study_sample.sample.strata == ("north", "south")
    assert [each.outcome.numeric for each in made.outcomes] == [False, True]
    groups = made.table[(made.table["outcome"] == "hiv") & (made.table["estimator"] == "stratified")]
    assert groups["group"].unique().tolist() == ["everybody", "site = north", "site = south"]
    np.testing.assert_allclose(groups.groupby("group")["estimate"].sum(), 1.0)
    ages = made.table[(made.table["outcome"] == "age") & (made.table["group"] == "everybody")]
    assert ages["estimate"].between(38, 50).all()
    assert (ages["design_effect"] > 0.2).all()


def test_people_at_the_end_without_coupons_have_no_stratum() -> None:
    table = made_up(300, lambda rng, place: 0 if place >= 280 else (3 if rng.random() < 0.5 else 1))
    study_sample = sample_of(read(table))
    assert (study_sample.sample.stratum == -1).sum() == 20
    assert any(note.code == "estimation.no_coupons_yet" for note in study_sample.notes)


def test_numbers_of_coupons_with_few_recruits_are_joined() -> None:
    table = made_up(300, lambda rng, place: int(rng.choice([0, 1, 3], p=[0.1, 0.3, 0.6])))
    study_sample = sample_of(read(table))
    assert study_sample.sample.strata == ("0-1", "3")
    assert any("0, 1 coupons are one stratum" in str(note) for note in study_sample.notes)


def test_what_is_not_known_is_said() -> None:
    table = made_up(300)
    table["hiv"] = table["hiv"].where(np.arange(300) % 3 > 0, "")
    table["network_size"] = table["network_size"].where(np.arange(300) % 10 > 0, 0)
    words = all_words(pf.estimate(read(table), "hiv", bootstraps=10))
    assert "hiv is not known for 100 of 300 people" in words
    assert "That is many" in words
    assert "30 of 300 people have no network size above 0" in words
    plain = str(pf.estimate(read(table.drop(columns="network_size")), "hiv", bootstraps=10))
    assert "no network sizes" in plain
    table["network_size"] = "many"
    unusable = all_words(pf.estimate(read(table), "hiv", bootstraps=10))
    assert "has no network sizes" not in unusable
    assert "No network size in column 'network_size' is above 0" in unusable
    assert "300 network sizes in column 'network_size' are no numbers of people" in unusable
    assert "(rows 2, 3, 4, 5, 6, and 295 others)" in unusable


def test_one_chain_only_is_said() -> None:
    table = made_up(120)
    first = table["recruiter"] == ""
    table.loc[first & (table["id"] != "p0"), "recruiter"] = "p0"
    table.loc[0, "coupons_issued"] = 60
    words = str(pf.estimate(read(table), "hiv", bootstraps=10))
    assert "descend from one person" in words


def test_a_stratum_without_recruits_gives_no_number() -> None:
    table = made_up(300)
    nobody = ~table["id"].isin(table["recruiter"])
    table["rule"] = np.where(nobody & (np.arange(300) % 2 == 0), "none", "some")
    table["coupons_issued"] = np.where(table["rule"] == "none", 1, 3)
    made = pf.estimate(read(table), "hiv", strata="rule", bootstraps=10).outcomes[0]
    row = made.table[made.table["estimator"] == "stratified"].iloc[0]
    assert np.isnan(row["estimate"])
    assert "nobody of stratum none brought anybody" in str(row["why"])
    assert made.verdict.best is None
    assert "No estimator is valid here" in " ".join(map(str, verdict_lines(made.verdict)))


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({"outcome": "hvi"}, UnknownName, "Did you mean 'hiv'"),
        ({"outcome": "hiv", "population": 20}, SettingError, "260 people were sampled"),
        ({"outcome": "hiv", "population": 1e6 + 0.5}, SettingError, "whole number"),
        ({"outcome": "hiv", "by": "age"}, SettingError, "at most 20"),
        ({"outcome": "hiv", "strata": "age"}, SettingError, "at most 12"),
        ({"outcome": "hiv", "interval": "ss"}, SettingError, "from a population of the size given"),
        ({"outcome": "hiv", "population_guess": 260}, SettingError, "Guess a number above that"),
        ({"outcome": "hiv", "population_guess": 1.5}, SettingError, "whole number"),
        ({"outcome": "hiv", "interval": "forest"}, UnknownName, "neighbourhood"),
        ({"outcome": "hiv", "bootstraps": 1}, SettingError, "at least 2"),
        ({"outcome": []}, SettingError, "1 to 20 outcomes"),
        ({"outcome": ["hiv", "hiv"]}, SettingError, "twice"),
        ({"outcome": "alike"}, DataFileError, "nothing to estimate"),
        ({"outcome": "empty"}, PeerfrontError, "not known for anybody"),
    ],
)
def test_bad_input_is_refused_in_words(arguments, kind, message) -> None:
    table = made_up().assign(alike="same", empty="")
    with pytest.raises(kind, match=message):
        pf.estimate(read(table), **{"bootstraps": 5, **arguments})


def test_a_study_without_recruits_is_refused() -> None:
    table = made_up(40).assign(recruiter="")
    with pytest.raises(DataFileError, match="nobody was recruited"):
        pf.estimate(read(table), "hiv")


def by_group(table: pd.DataFrame) -> pd.DataFrame:
    """The decision log of a rule that gave 3 coupons in the north and 1 in the south."""
    north = table["site"] == "north"
    return pd.DataFrame({"person": table["id"], "coupons": np.where(north, 3, 1), "stratum": table["site"]})


def test_decisions_that_differ_count_more_than_a_file_that_says_three_each() -> None:
    """A file without coupons has to be read with a number for everybody; the log knows better."""
    table = made_up(400)
    told = {}
    for key in ("sheet", "decisions"):
        made = pf.estimate(read(table), "hiv", bootstraps=10, **{key: by_group(table)})
        told[key] = made.outcomes[0].verdict.best
        assert "coupons_issued" not in str(made)
        assert "people had 1 to 3, and that is followed" in all_words(made)
        assert not made.table.set_index("estimator").loc["RDS-II", "valid"].any()
        assert sorted(set(made.study_sample.sample.coupons)) == [1, 3]
    assert told["sheet"] == told["decisions"] == "stratified"
    same = pf.estimate(read(table), "hiv", bootstraps=10, decisions=by_group(table).assign(coupons=3))
    assert same.outcomes[0].verdict.best == "RDS-I"


def test_strata_that_coupons_did_not_depend_on_are_pointed_out() -> None:
    table = made_up(300)
    words = str(pf.estimate(read(table), "hiv", strata="site", bootstraps=10))
    assert "the same number of coupons (3), so coupons did not depend on site" in words
    table["coupons_issued"] = np.where(table["site"] == "north", 4, 3)
    assert "did not depend" not in str(pf.estimate(read(table), "hiv", strata="site", bootstraps=10))


def inherited() -> pd.DataFrame:
    """Everybody has the answer of the seed: recruitment never leads from one answer to the other."""
    first, second = made_up(120).assign(hiv="yes"), made_up(150, seed=1).assign(hiv="no")
    for column in ("id", "recruiter"):
        second[column] = second[column].str.replace("p", "q")
    return pd.concat([first, second], ignore_index=True)


def test_where_nobody_recruits_between_answers_no_number_is_advised() -> None:
    """The sample's composition is then that of the seeds' trees, whatever the weights."""
    table = inherited()
    for population in (None, 5000):
        made = pf.estimate(read(table), "hiv", bootstraps=10, population=population).outcomes[0]
        assert made.verdict.best is None
        assert not made.table["valid"].any()
        assert "nobody recruited between groups of answers" in " ".join(map(str, verdict_lines(made.verdict)))
        assert "RDS-I cannot be computed" in " ".join(map(str, verdict_lines(made.verdict)))


def test_what_cannot_be_computed_is_said_beside_what_can() -> None:
    table = made_up(300)
    nobody = ~table["id"].isin(table["recruiter"])
    table["rule"] = np.where(nobody & (np.arange(300) % 2 == 0), "none", "some")
    words = all_words(pf.estimate(read(table), "hiv", strata="rule", bootstraps=10))
    assert "Use RDS-I: " in words
    assert "stratified cannot be computed: nobody of stratum none brought anybody" in words


def test_texts_among_numbers_are_named() -> None:
    table = made_up(300)
    table["age"] = [f"{18 + place % 50}" if place % 5 else "later" for place in range(300)]
    with pytest.raises(DataFileError, match=r"for 60 people it is not \('later'\).*missing='later'"):
        pf.estimate(read(table), "age", bootstraps=5)


def test_many_missing_network_sizes_are_a_warning() -> None:
    table = made_up(300)
    table["network_size"] = np.where(np.arange(300) % 2 == 0, 0, table["network_size"])
    assert "weights are then largely guessed" in str(pf.estimate(read(table), "hiv", bootstraps=5))


def test_groups_are_compared_by_joint_replicates() -> None:
    made = pf.estimate(read(made_up(400)), ["hiv", "age"], by="site", bootstraps=200, population=2000)
    rows = made.comparisons.set_index(["outcome", "category", "estimator"])
    south_less_north = rows.loc[("hiv", "yes", "stratified SS")]
    assert (south_less_north["group"], south_less_north["compared_with"]) == ("site = south", "site = north")
    of_group = made.table[(made.table["category"] == "yes") & (made.table["estimator"] == "stratified SS")]
    south, north = (of_group.set_index("group").loc[f"site = {name}"] for name in ("south", "north"))
    assert south_less_north["difference"] == pytest.approx(south["estimate"] - north["estimate"])
    assert south_less_north["ratio"] == pytest.approx(south["estimate"] / north["estimate"])
    assert south_less_north["low"] < south_less_north["difference"] < south_less_north["high"]
    apart = np.hypot(south["standard_error"], north["standard_error"])
    assert 0.5 * apart < south_less_north["standard_error"] < 1.5 * apart
    assert not made.comparisons.set_index("estimator").loc["mean", "valid"].any()
    assert rows.loc[("age", "mean", "stratified SS"), "ratio_low"] < rows.loc[("age", "mean", "stratified SS"), "ratio"]
    assert "hiv = yes, site = south less site = north: " in str(made)
    assert pf.estimate(read(made_up(400)), "hiv", bootstraps=10).comparisons.empty


def test_a_group_without_anybody_has_a_difference_and_no_interval() -> None:
    table = made_up(400)
    table.loc[table["site"] == "south", "hiv"] = "no"
    made = pf.estimate(read(table), "hiv", by="site", bootstraps=50)
    row = made.comparisons.set_index(["category", "estimator"]).loc[("yes", "RDS-II")]
    assert row["difference"] < 0
    assert row[["low", "high", "standard_error", "ratio_low"]].isna().all()


def test_weights_are_for_people_whose_answer_is_known() -> None:
    table = made_up(200)
    table.loc[50:59, "hiv"] = ""
    made = pf.estimate(read(table), "hiv", bootstraps=20)
    weights, replicates = made.weights(), made.replicate_weights()
    assert len(weights) == 190
    assert (weights["person"] == replicates["person"]).all()
    assert weights["weight"].equals(weights["weight_rds_i"])
    assert set(weights["outcome"]) == {"yes", "no"}
    recruits = int((weights["seed"] == 0).sum())
    assert weights[["weight_mean", "weight_rds_ii"]].sum().tolist() == pytest.approx([recruits, recruits])
    assert (weights.loc[weights["seed"] == 1, "weight_rds_ii"] == 0).all()
    assert made.weights(estimator="RDS-II")["weight"].equals(weights["weight_rds_ii"])
    with pytest.raises(UnknownName, match="RDS-II"):
        made.weights(estimator="RDS-III")
    with pytest.raises(SettingError, match="estimator='RDS-II'"):
        pf.estimate(read(inherited()), "hiv", bootstraps=10).weights()


def test_weights_that_cannot_be_made_say_why() -> None:
    alike = pf.estimate(read(made_up(200)), "hiv", bootstraps=5)
    for name in ("SS", "stratified SS"):
        with pytest.raises(SettingError, match=f"{name} needs the size of the population. Give it .population"):
            alike.weights(estimator=name)
    with pytest.raises(SettingError, match="Everybody is in one stratum, so there are no weights of stratified"):
        alike.replicate_weights(estimator="stratified")
    apart = pf.estimate(read(inherited()), "hiv", bootstraps=5)
    with pytest.raises(SettingError, match="There are no weights of RDS-I for hiv: recruitment never led"):
        apart.weights(estimator="RDS-I")


def test_a_design_effect_below_1_is_not_printed() -> None:
    made = pf.estimate(read(made_up(250)), "hiv", bootstraps=50)
    assert "design effect" in str(made)
    (one,) = made.outcomes
    better = replace(made, outcomes=(replace(one, table=one.table.assign(design_effect=0.8)),))
    assert "design effect" not in str(better)
    assert not any(str(cell) for row in estimate_table(better).rows for cell in row[4:6])


def test_the_size_of_the_population_is_estimated_from_a_guess() -> None:
    made = pf.estimate(read(made_up()), "hiv", bootstraps=10, population_guess=900)
    assert made.population_size.guess == 900
    assert "By the order of network sizes there are" in str(made)
    assert "adds little to the guess" in str(made), "sizes are drawn at random here"
    contradicted = pf.estimate(read(made_up()), "hiv", bootstraps=10, population_guess=len(made_up()) + 1)
    assert contradicted.population_size.median > contradicted.population_size.prior_high
    assert "adds little" not in str(contradicted), "it says that the guess was far too small"
    with pytest.raises(SettingError, match="has no network sizes"):
        pf.estimate(read(made_up().drop(columns="network_size")), "hiv", bootstraps=10, population_guess=900)
