"""From a study to a fit: what is learned, what is said, what is refused, what is not kept."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from small_study import QUICK, small_fit, small_study, some_people

from peerfront.data.columns.schema_guess import guess_schema
from peerfront.data.reading import read_study, study_from_table
from peerfront.data.study_schema import encode_study, history_of
from peerfront.foundation.errors import DataFileError, SettingError
from peerfront.foundation.messages import Message, Severity
from peerfront.foundation.stored import rounded_count
from peerfront.gfp import learning
from peerfront.gfp.learning import ValueReport, compared
from peerfront.gfp.policy_iteration import PolicyIterationSettings
from peerfront.models.belief.belief_fit import learned_belief
from peerfront.models.belief.prior import Prior
from peerfront.problem import Frontier, State
from peerfront.simulation.demo_study import demo_study, demo_world
from peerfront.study.artifacts import Fit, load_fit
from peerfront.study.findings import field_effects, rule_against_plans
from peerfront.study.fit_models import counts_of
from peerfront.study.fit_settings import FitSettings
from peerfront.study.fitting import fit_study
from peerfront.study.model import Model, load
from peerfront.words.language import marked


def whole_summary(model: Model) -> str:
    """The lines of a fit, and its details."""
    return "\n".join(map(marked, (*model.summary.lines(), *model.summary.details())))


def test_the_demo_study_is_a_study_without_faults(tmp_path) -> None:
    made = demo_study(120, seed=3)
    path = tmp_path / "study.csv"
    made.study.to_csv(path, index=False)
    study = read_study(path)
    assert not study.problems
    assert study.seed.sum() >= 20
    assert set(study.issued) == {0, 3}
    waiting = study.ids[study.issued == 0]
    assert list(waiting) == list(made.frontier["id"])
    assert not study.recruits[study.issued == 0].any()
    assert demo_study(120, seed=3).study.equals(made.study)
    assert not demo_study(120, seed=4).study.equals(made.study)
    with pytest.raises(SettingError, match="at least 40"):
        demo_study(5)


def test_a_table_is_read_as_its_file(tmp_path) -> None:
    made = demo_study(60).study
    path = tmp_path / "study.csv"
    made.to_csv(path, index=False)
    table, file = study_from_table(made), read_study(path)
    assert np.array_equal(table.recruiter, file.recruiter)
    assert table.people.equals(file.people)
    assert np.array_equal(table.issued, file.issued)


def test_a_large_study_teaches_the_truth() -> None:
    study = study_from_table(demo_study(1200, seed=2).study)
    schema = guess_schema(study).schema
    history = history_of(study, schema)
    belief = learned_belief(counts_of(history), Prior.knowing("capacity"))
    world = demo_world()
    people = history.referrers[:300]
    # The guessed schema orders categories by name, the world as it likes: translate by name.
    known = (people >= 0).all(axis=1)
    records = schema.schema.decode(people[known])
    truth = np.array([[field.code_of[each[field.name]] for field in world.schema.fields] for each in records], np.int16)
    expected = np.minimum(world.response.gains(truth, 3), 1.0)[:, 0]
    learned = belief.response.gains(people[known], 1)[:, 0]
    assert np.corrcoef(expected, learned)[0, 1] > 0.85
    brought = history.recruits[history.coupons > 0] > 0
    assert abs(belief.response.gains(history.referrers, 1)[:, 0].mean() - brought.mean()) < 0.05


def test_the_fit_is_whole_and_says_so(tmp_path) -> None:
    fitted = small_fit()
    study, schema = small_study()
    fitted.fit.save(tmp_path / "model")
    loaded = load_fit(tmp_path / "model")
    assert loaded.rules.max_per_person == 3
    assert loaded.planner.rounds == 5
    assert Model(loaded).schema.schema == schema.schema
    text = whole_summary(fitted)
    assert whole_summary(Model(loaded)) == text
    used = study.recruits[study.informative] >= 1
    share = rounded_count(used.sum()) / rounded_count(len(used))
    assert f"{share:.0%} ± " in text
    assert loaded.scores["coupon_stories"]["same_coupons"], "everybody had three coupons"
    assert {story.name for story in loaded.planner.stories} == {"capacity", "per_coupon", "motivate"}
    about = [rounded_count(count) for count in (len(study), study.informative.sum())]
    assert f"about {about[0]} people, of whom about {about[1]} have usable recruitment counts" in text
    assert "Prepared to plan up to 40 coupons over 5 rounds" in text
    assert "At most 3 for each person" in text
    assert "the best simple rule" in text


def test_more_people_than_can_be_simulated_are_learned_for_by_fewer(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(learning, "_STRETCHED_FROM", 100)
    monkeypatch.setattr(learning, "_SIMULATED", 20)
    model = Model(fit_study(*small_study(), FitSettings(budget=160, people=80, learning=QUICK)))
    assert (model.fit.rules.budget, model.fit.rules.people) == (160, 80)
    assert "with about 80 people waiting" in whole_summary(model)
    assert "Simulated for 20 people and 40 coupons, 4 times fewer" in whole_summary(model)
    model.save(tmp_path / "model")
    frontier, _ = some_people(80)
    sheets = [each.plan(frontier, budget=160).csv() for each in (model, load(tmp_path / "model"))]
    assert sheets[0] == sheets[1]
    assert model.fit.planner.budget == 160
    # The smaller problem is the one of `small_fit`, with the same luck.
    few, _ = some_people(20)
    state = State(40, few, 0, small_fit().fit.rules)
    four = State(160, Frontier.of(np.repeat(few.covariates, 4, axis=0)), 0, model.fit.rules)
    once, times = small_fit().fit.planner.plan(state), model.fit.planner.plan(four)
    assert 4 * once.value - 1e-4 <= times.value < 4.2 * once.value


def test_the_summary_says_when_a_simple_rule_does_better_than_the_plans() -> None:
    steady = np.array([20.0, 22.0, 21.0, 23.0])
    clearly, perhaps = np.array([1.9, 2.1, 2.0, 2.0]), np.array([9.0, -8.0, 7.0, -7.0])
    blank = ValueReport("by hand", 1, 0.0, (0.0, 0.0, 0.0), 0.5, 0.1, 0.0, 20.0, 20.0, 0.1, ())

    def message(rule: np.ndarray) -> Message | None:
        candidates = compared({"start, rule": rule, "round 1": steady}, "start, rule")
        return rule_against_plans(replace(blank, candidates=candidates))

    assert message(steady - 1.0) is message(steady) is rule_against_plans(blank) is None
    better = message(steady + clearly)
    assert (better.code, better.severity) == ("fits.rule_better", Severity.WARNING)
    assert "by 2.0 ± 0.1 recruits (95%)" in str(better)
    assert message(steady + perhaps).code == "fits.rule_as_good"


def test_what_answers_do_is_averaged_over_everybody() -> None:
    """The findings count people by kind; the plain average goes through them one by one."""
    study, schema = small_study()
    planner, people = small_fit().fit.planner, encode_study(study, schema)
    told = field_effects(planner, people)
    assert told
    for effect in told:
        number = planner.schema.names.index(effect["field"])
        for category, chance in effect["chances"].items():
            changed = people.copy()
            changed[:, number] = planner.schema.fields[number].categories.index(category)
            assert chance == pytest.approx(planner.gains(changed, 1)[:, 0].mean(), abs=1e-12)


def test_nobody_is_in_the_saved_fit() -> None:
    study, _ = small_study()
    files = small_fit().fit.files()
    for content in files.values():
        for person in study.ids:
            assert person.encode() not in content
    manifest = json.loads(files["manifest.json"])
    assert len(study) not in [len(part) for part in manifest["scores"].values() if isinstance(part, list)]


def test_the_same_seed_gives_the_same_fit() -> None:
    made = demo_study(40, seed=5).study
    study = study_from_table(made)
    schema = guess_schema(study).schema
    settings = FitSettings(budget=10, rounds=2, people=8, learning=QUICK)
    one, two = (fit_study(study, schema, settings).files() for _ in range(2))
    assert one == two


def tiny_table(people: int, brings: int = 2, coupons: int = 3) -> pd.DataFrame:
    """A tree in which everybody brings `brings`, until there are enough people."""
    codes = [f"c{i}-{n}" for i in range(people) for n in range(coupons)]
    came = [f"c{(i - 1) // brings}-{(i - 1) % brings}" if i else "" for i in range(people)]
    return pd.DataFrame(
        {
            "id": [f"p{i}" for i in range(people)],
            "own.coupon": came,
            **{f"coupon.{n + 1}": codes[n::coupons] for n in range(coupons)},
            "sex": ["f" if i % 3 else "m" for i in range(people)],
        }
    )


def test_too_small_a_study_is_refused_with_what_can_be_said() -> None:
    study = study_from_table(tiny_table(7))
    with pytest.raises(
        DataFileError, match=r"only 7 people had coupons.*at least 10.*6 of 21 coupons were used \(29%\)"
    ):
        fit_study(study, guess_schema(study).schema, FitSettings(budget=10))
    lonely = tiny_table(20)
    lonely["own.coupon"] = ""
    study = study_from_table(lonely)
    with pytest.raises(DataFileError, match="nobody has come yet with a coupon .*0 of 60 coupons were used"):
        fit_study(study, guess_schema(study).schema, FitSettings(budget=10))


@pytest.mark.parametrize(("people", "brings", "coupons"), [(15, 2, 3), (24, 1, 1)])
def test_a_small_study_is_fitted_with_warnings(people, brings, coupons) -> None:
    table = tiny_table(people, brings, coupons)
    everything_used = brings == coupons
    if everything_used:
        table.loc[people - 1, "coupon.1"] = ""
    study = study_from_table(table)
    schema = guess_schema(study).schema
    fitted = Model(fit_study(study, schema, FitSettings(budget=8, rounds=2, people=4, learning=QUICK)))
    text, codes = whole_summary(fitted), {each.code for each in fitted.fit.warnings}
    assert f"Warning: The study is very small (about {rounded_count(people - everything_used)} people" in text
    assert ("evidence.all_used" in codes) == everything_used
    assert f"With about {rounded_count(people - 1)} pairs, whom people bring is mostly a guess" in text
    assert fitted.fit.rules.max_per_person == min(coupons, 3)
    assert ("cannot show what a second one does" in text) == (coupons == 1)
    order = {"max_per_person": coupons + 2}
    codes = np.zeros((3, len(schema.schema.fields)), dtype=np.int16)
    beyond = fitted.plan(Frontier(np.array(["x", "y", "z"], dtype=object), codes), budget=8, **order)
    assert any(f"What more than {coupons} coupon" in str(line) for line in beyond.lines())
    for given, reason in zip(beyond.table["coupons"], beyond.table["reason"], strict=True):
        assert (reason.most_shown is not None) == (given > coupons)
    assert coupons > 1 or beyond.table["coupons"].max() > 1, "the case tests nothing if nobody gets more"
    both = fitted.fit.planner.gains(np.array([[0], [1]], dtype=np.int16), 1)[:, 0]
    assert abs(both[0] - both[1]) < 0.15, "so few people cannot be told apart"


def test_open_coupons_are_said_and_set_the_number_of_people() -> None:
    from peerfront.data.read.read_settings import ReadSettings

    study = study_from_table(demo_study(60).study, ReadSettings(still_open="8"))
    assert study.still_open.any()
    told: list[float] = []
    settings = FitSettings(budget=8, rounds=2, learning=QUICK)
    fitted = Model(fit_study(study, guess_schema(study).schema, settings, lambda share, what: told.append(share)))
    assert fitted.fit.rules.people == study.still_open.sum()
    assert "fits.all_finished" not in {each.code for each in fitted.fit.messages}
    assert told == sorted(told)
    assert 0.9 < told[-1] <= 1.0


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"budget": 0}, "budget must be a whole number of at least 1"),
        ({"budget": 2.5}, "budget must be a whole number"),
        ({"budget": 5, "rounds": 0}, "rounds must be"),
        ({"budget": 5, "discount": 1.5}, "discount must lie above 0"),
        ({"budget": 5, "people": 0}, "people must be"),
        ({"budget": 5, "max_per_person": 0}, "max per person must be"),
        ({"budget": 5, "max_per_person": "some"}, "max per person must be"),
        ({"budget": 5, "prior_belief": 3}, "prior belief must be the path of a TOML file; found 3"),
    ],
)
def test_bad_settings(wrong, message) -> None:
    with pytest.raises(SettingError, match=message):
        FitSettings(**wrong)


def test_a_prior_of_ones_own(tmp_path) -> None:
    (tmp_path / "prior.toml").write_text('drift = 0.2\n[limited]\n0 = 1\n"0.5" = 3\n')
    settings = FitSettings(budget=8, rounds=2, people=4, learning=QUICK, prior_belief=tmp_path / "prior.toml")
    fitted = Model(fit_study(*small_study(), settings))
    assert set(fitted.fit.belief.limited.tolist()) <= {0.0, 0.5}
    assert fitted.fit.settings["prior_belief"] == Prior(limited=((0.0, 0.25), (0.5, 0.75)), drift=0.2).table()
    fitted.save(tmp_path / "model")
    told = whole_summary(Model(load_fit(tmp_path / "model")))
    assert "Believed before any data, as you said: limited 0 (25%), 0.5 (75%); drift 0.2." in told
    usual = FitSettings(budget=8)
    assert (usual.prior, usual.prior_belief) == (Prior(), None)


def test_a_prior_beside_what_is_known_is_a_contradiction(tmp_path) -> None:
    with pytest.raises(SettingError, match="prior_belief='FILE' says what is believed .* response='capacity' that it"):
        FitSettings(budget=5, prior_belief=Prior(), response="capacity")
    assert FitSettings(budget=5, response="capacity").prior == Prior.knowing("capacity")
    with pytest.raises(DataFileError, match="there is no such file"):
        FitSettings(budget=5, prior_belief=tmp_path / "none.toml")


def test_a_value_without_a_deadline_is_refused() -> None:
    with pytest.raises(SettingError, match="with_deadline"):
        FitSettings(budget=5, learning=PolicyIterationSettings()).learning_for(5)


def test_a_fit_without_columns_is_refused() -> None:
    fit = small_fit().fit
    bare = Fit(fit.schema, fit.belief, fit.offspring, fit.planner, fit.rules)
    with pytest.raises(DataFileError, match="Fit the study again"):
        _ = Model(bare).schema


def test_a_large_study_is_learned_from_some_of_its_rows() -> None:
    from peerfront.study import fit_models

    study = study_from_table(demo_study(people=120).study)
    schema = guess_schema(study).schema
    whole = history_of(study, schema)
    assert fit_models._at_most(whole, 200, 0) is whole
    few = fit_models._at_most(whole, 50, 0)
    assert (len(few.coupons), len(few.parents)) == (50, 50)
    known = {tuple(row) for row in np.column_stack([whole.referrers, whole.coupons, whole.recruits]).tolist()}
    assert {tuple(row) for row in np.column_stack([few.referrers, few.coupons, few.recruits]).tolist()} <= known
    again = fit_models._at_most(whole, 50, 0)
    assert np.array_equal(again.referrers, few.referrers)
    assert not np.array_equal(fit_models._at_most(whole, 50, 1).referrers, few.referrers)
