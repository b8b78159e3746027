"""How coupons are decided: by the plan, by lot, with floors, and at random to find out."""

from dataclasses import replace

import numpy as np
import pytest

from peerfront.foundation.errors import SettingError, UnknownName
from peerfront.problem import Frontier
from peerfront.study.advice import advise
from peerfront.study.artifacts import Fit
from peerfront.study.planning import plan_coupons
from peerfront.study.reasons import Draw, ReasonCode
from peerfront.study.study_state import Standing
from study.small_advice import a_belief, a_fit, a_frontier, order
from study.small_outlook import ahead

TWO = ("capacity", "per_coupon")


def twins(people: int = 12) -> Frontier:
    """People with the same answers."""
    one = a_frontier(1)
    return Frontier(np.array([f"twin-{n}" for n in range(people)], dtype=object), np.repeat(one.covariates, people, 0))


def test_people_with_the_same_answers_are_drawn_by_lot_and_the_sheet_says_so() -> None:
    sheet = plan_coupons(a_fit(), twins(), order(7))
    coupons = sheet.table["coupons"].to_numpy()
    assert coupons.max() - coupons.min() <= 1
    winners = (coupons == coupons.max()).mean()
    assert (sheet.table["decided_by"] == "lot").all()
    assert sheet.table["probability"].tolist() == pytest.approx(
        np.where(coupons == coupons.max(), winners, 1.0 - winners).round(6).tolist()
    )
    assert any("drawn by lot with seed 0" in str(line) for line in sheet.details())
    assert {(each.draw, each.tied_with) for each in sheet.table["reason"]} == {(Draw.LOT, 11)}


def test_the_order_of_the_file_decides_nothing() -> None:
    people = twins()
    turned = Frontier(people.ids[::-1], people.covariates[::-1])
    first, second = (plan_coupons(a_fit(), each, order(7)).table.set_index("person") for each in (people, turned))
    assert first["coupons"].to_dict() == second["coupons"].to_dict()


def test_another_seed_changes_only_who_was_drawn() -> None:
    people = a_frontier(30)
    first, second = (plan_coupons(a_fit(), people, order(15, seed=seed)).table for seed in (0, 1))
    changed = first["coupons"] != second["coupons"]
    assert first["coupons"].sum() == second["coupons"].sum()
    assert set(first.loc[changed, "decided_by"]) <= {"lot"}


def test_numbers_chosen_by_hand_are_on_the_sheet_with_what_they_bring() -> None:
    fit, people = a_fit(), a_frontier(10)
    plan = plan_coupons(fit, people, order(12))
    coupons = plan.table["coupons"].to_numpy().copy()
    first, last = int(coupons.argmax()), int(coupons.argmin())
    coupons[[first, last]] = 0, 2
    sheet = plan_coupons(fit, people, order(12), given=coupons)
    assert sheet.table["coupons"].tolist() == coupons.tolist()
    assert sheet.spend == coupons.sum()
    assert sheet.table["expected_now"][first] == 0.0 < sheet.table["expected_now"][last]
    by_hand = sheet.table["decided_by"] == "hand"
    assert by_hand.tolist() == (coupons != plan.table["coupons"]).tolist()
    assert sheet.promised < plan.promised
    assert all(str(line) for line in (*sheet.lines(), *sheet.details()))
    with pytest.raises(SettingError, match="20 coupons"):
        plan_coupons(fit, people, order(12), given=np.full(10, 2))


def test_floors_are_kept() -> None:
    fit, people = a_fit(), a_frontier(30)
    number = fit.schema.names.index("sex")
    coupons = plan_coupons(fit, people, order(15)).table["coupons"].to_numpy()
    fewer = min(("f", "m"), key=lambda sex: coupons[people.covariates[:, number] == code(fit, sex)].mean())
    sheet = plan_coupons(fit, people, order(15, at_least=(f"sex={fewer}:0.9",)))
    floored = sheet.table["coupons"].to_numpy()
    assert floored[people.covariates[:, number] == code(fit, fewer)].mean() >= 0.9 * floored.mean() - 1e-9


def code(fit, category: str) -> int:
    return fit.schema.fields[fit.schema.names.index("sex")].categories.index(category)


@pytest.mark.parametrize(
    ("floor", "message"),
    [("sex", "FIELD=CATEGORY:SHARE"), ("sex=f:2", "share"), ("age=9:0.5", "age"), ("sex=x:0.5", "x")],
)
def test_floors_that_make_no_sense_are_refused(floor: str, message: str) -> None:
    with pytest.raises((SettingError, UnknownName), match=message):
        plan_coupons(a_fit(), a_frontier(), order(9, at_least=(floor,)))


def test_random_numbers_teach_and_their_probabilities_are_logged() -> None:
    sheet = plan_coupons(a_fit(*TWO), a_frontier(20), order(20, learn=0.5))
    random = sheet.table["decided_by"] == "random"
    design = next(each.design for each in sheet.learning if each.design is not None)
    assert 0 < random.sum() == design.people <= 20
    numbers = sheet.table.loc[random].groupby("coupons")["probability"]
    assert numbers.size().to_dict() == {1: design.people - design.with_most, 3: design.with_most}
    assert numbers.nunique().tolist() == [1, 1]
    assert numbers.first().to_numpy() == pytest.approx((numbers.size() / design.people).to_numpy(), abs=1e-6)
    assert (sheet.table.loc[~random, "coupons"] == 0).all()
    assert sheet.spend == design.spend <= 20
    assert [each.design is None for each in sheet.learning] == [True, False]
    assert any("simulated studies know what a coupon does" in str(line) for line in sheet.details())
    assert sheet.spend in set(sheet.curve["spend"])


def test_everybody_keeps_their_least_where_others_draw_lots() -> None:
    sheet = plan_coupons(a_fit(*TWO), a_frontier(8), order(12, learn=0.5, min_per_person=1))
    assert sheet.table["coupons"].min() >= 1


def test_the_share_to_learn_from_is_chosen_by_simulation() -> None:
    sheet = plan_coupons(a_fit(*TWO), a_frontier(12), order(12, learn="auto"))
    plan, *designs = sheet.learning
    assert plan.design is None
    assert designs
    best = max(designs, key=lambda each: each.gain - each.gain_error)
    assert ("random" in set(sheet.table["decided_by"])) == (best.gain > best.gain_error)


def test_where_one_story_is_left_there_is_nothing_to_learn() -> None:
    with pytest.raises(SettingError, match="nothing to learn"):
        plan_coupons(a_fit(), a_frontier(), order(9, learn="auto"))
    for wrong in ("often", 1.5, -0.1):
        with pytest.raises(SettingError, match="learn"):
            order(9, learn=wrong)


def test_in_the_last_round_nothing_is_learned_and_the_sheet_says_so() -> None:
    sheet = plan_coupons(a_fit(*TWO), a_frontier(12), order(12, learn="auto", rounds_left=1))
    assert "random" not in set(sheet.table["decided_by"])
    assert any("nothing could come of what it teaches" in str(line) for line in sheet.details())


def test_a_share_that_is_given_needs_no_simulation(monkeypatch) -> None:
    monkeypatch.setattr("peerfront.study.stories._SIMULATED_BUDGET", 5)
    sheet = plan_coupons(a_fit(*TWO), a_frontier(20), order(20, learn=0.5))
    assert "random" in set(sheet.table["decided_by"])
    assert np.isnan([each.recruits for each in sheet.learning]).all()
    with pytest.raises(SettingError, match="learn_share=0.5"):
        plan_coupons(a_fit(*TWO), a_frontier(20), order(20, learn="auto"))


MISFIT = {"coupons": 1, "last_wave": False, "people": 35, "brought": 5, "low": 10, "high": 20}


def contradicted(*parts: str) -> Fit:
    """A fit whose belief its counts contradict, of a study in which three was the usual number."""
    return replace(a_fit(*parts), scores={"coupon_stories": {"usual": 3, "misfits": [MISFIT]}})


def test_where_counts_contradict_the_belief_everybody_gets_the_usual_number() -> None:
    fit, people = contradicted(*TWO), a_frontier(8)
    sheet = plan_coupons(fit, people, order(14))
    coupons = sheet.table["coupons"].to_numpy()
    assert sorted(coupons.tolist()) == [0, 0, 0, 2, 3, 3, 3, 3]
    plan = plan_coupons(a_fit(*TWO), people, order(14)).table
    likely = fit.planner.gains(people.covariates, 1)[:, 0]
    assert likely[coupons == 3].min() >= likely[coupons == 0].max() - 1e-9
    assert {each.code for each in sheet.table["reason"]} == {ReasonCode.USUAL}
    (said,) = [each for each in sheet.notes if each.code.startswith("evidence.usual")]
    assert str(said) == (
        "About 5 of about 35 people with 1 coupon brought somebody; the model fitted to that expects 10 to 20. "
        "So everybody gets the usual 3 while coupons last, and expectations follow what that brought; "
        "response='belief' follows the model."
    )
    anyway = plan_coupons(fit, people, order(14, response="belief"))
    assert anyway.table["coupons"].tolist() == plan["coupons"].tolist()
    assert "evidence.misfit" in {each.code for each in anyway.notes}


def test_among_equals_lots_decide_who_gets_the_usual_number() -> None:
    fit, people = contradicted(), twins(6)
    table = plan_coupons(fit, people, order(11)).table.set_index("person")
    chances = {0: 0.333333, 2: 0.166667, 3: 0.5}
    assert sorted(table["coupons"]) == [0, 0, 2, 3, 3, 3]
    assert table["probability"].tolist() == [chances[coupons] for coupons in table["coupons"]]
    turned = Frontier(people.ids[::-1], people.covariates[::-1])
    assert plan_coupons(fit, turned, order(11)).table.set_index("person")["coupons"].to_dict() == dict(table["coupons"])
    assert dict(plan_coupons(fit, people, order(11, seed=1)).table["coupons"]) != dict(enumerate(table["coupons"]))


def test_the_usual_number_keeps_the_limits_of_the_order() -> None:
    def coupons(people: int, **changed: int) -> list[int]:
        sheet = plan_coupons(contradicted(), a_frontier(people), order(**changed))
        return sorted(sheet.table["coupons"].tolist())

    assert coupons(4, max_per_person=2) == [2, 2, 2, 2]
    assert coupons(6, min_per_person=1) == [1, 1, 1, 3, 3, 3]
    assert coupons(6, round_cap=5) == [0, 0, 0, 0, 2, 3]
    restricted = plan_coupons(contradicted(), a_frontier(8), order(strata=("sex",)))
    assert "evidence.misfit" in {each.code for each in restricted.notes}  # the order's own rule is followed


def test_a_forecast_plays_the_usual_number_too() -> None:
    people = a_frontier(4)
    played = [ahead(fit, people, order(12), studies=20).steps for fit in (contradicted(), a_fit())]
    first = [rounds[(rounds["policy"] == "plan") & (rounds["step"] == 1)]["spent"].item() for rounds in played]
    assert first[0] == 12
    assert first[1] < 12


def test_a_plan_of_the_usual_number_promises_what_it_brought_lately() -> None:
    belief = a_belief(*TWO)
    fit = replace(contradicted(*TWO), lately=replace(belief, levels=belief.levels - 5.0))  # hardly anybody
    standing = Standing.by_rounds(a_frontier(8))
    asked = (order(14, response=each) for each in ("average", "belief"))
    sheet, anyway = (advise(fit, standing, each, studies=100).sheet for each in asked)
    assert sheet.outlook is not None
    assert anyway.outlook is not None
    assert sheet.outlook.of_plan["p90"] < anyway.outlook.of_plan["median"]
    assert sheet.outlook.of_plan["recruits"] < 0.2 * anyway.outlook.of_plan["recruits"]
    assert 0.0 < sheet.table["expected_now"].sum() < 0.2 * anyway.table["expected_now"].sum()
    assert sheet.curve["spend"].tolist() == [sheet.spend]  # no other numbers, by a value that failed
    assert (sheet.table["expected_later"].sum(), sheet.share_of_best) == (0.0, None)
    assert not any("Other numbers" in str(line) for line in sheet.details())
    assert sheet.model_fingerprint == anyway.model_fingerprint == fit.fingerprint
    assert [gain.is_practice for gain in sheet.outlook.gains.each] == [True]


def test_floors_and_lots_keep_blocks_whole_where_more_coupons_motivate() -> None:
    fit, people = a_fit("motivate"), a_frontier(8)
    free = plan_coupons(fit, people, order(12, rounds_left=1))
    assert sorted(free.table["coupons"].tolist()) == [0, 0, 0, 0, 3, 3, 3, 3]
    sheet = plan_coupons(fit, people, order(12, rounds_left=1, at_least=("sex=m:0.5",)))
    men = people.covariates[:, fit.schema.names.index("sex")] == code(fit, "m")
    coupons = sheet.table["coupons"].to_numpy()
    assert coupons[men].mean() >= 0.5 * coupons.mean()
    assert (coupons == 3).sum() >= 3
    assert sheet.expected <= free.expected + 1e-9


@pytest.mark.parametrize("rounds_left", [1, 3])
def test_a_large_round_is_planned_in_blocks_too(rounds_left: int, monkeypatch) -> None:
    fit = a_fit("motivate")
    people = Frontier(np.arange(24), np.tile(a_frontier(8).covariates, (3, 1)))
    exact = plan_coupons(fit, people, order(15, rounds_left=rounds_left))
    monkeypatch.setattr("peerfront.gfp.planner.MOST_WORK_EXACT", 5)
    by_price = plan_coupons(fit, people, order(15, rounds_left=rounds_left))
    assert by_price.gap is not None
    assert by_price.promised >= 0.9 * exact.promised
    of_exact = exact.curve.set_index("spend")["value"]
    for spend, value in by_price.curve.itertuples(index=False):  # of plans that are handed out, not of majorants
        assert value <= of_exact[spend] * 1.02 + 1e-9
    assert (by_price.table["coupons"] == 3).sum() >= by_price.spend // 3 - 2
    assert by_price.promised == pytest.approx(by_price.table[["expected_now", "expected_later"]].sum().sum(), abs=0.01)
