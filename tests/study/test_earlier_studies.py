"""Earlier models beside a new study: which columns they share, what they count, and what is refused."""

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from peerfront.models.response.response_stories import weigh

from peerfront.data.columns.schema_guess import guess_schema, private_schema
from peerfront.data.reading import study_from_table
from peerfront.data.study import Study
from peerfront.data.study_schema import StudySchema, history_of
from peerfront.foundation.errors import DataFileError, SettingError
from peerfront.models.returns.return_times import ReturnTimes
from peerfront.study.artifacts import Fit
from peerfront.study.earlier_studies import EarlierStudies, Help, return_settings
from peerfront.study.fit_settings import FitSettings
from peerfront.study.fitting import fit_study
from peerfront.study.model import Model
from study.small_advice import a_fit, a_study, study_csv
from study.small_study import QUICK


def table(people: int, seed: int = 5, **renamed: str) -> pd.DataFrame:
    from io import StringIO

    read = pd.read_csv(StringIO(study_csv(people, seed)), dtype=str, keep_default_na=False)
    return read.drop(columns="date").rename(columns=renamed)


def new_study(people: int = 30, **renamed: str) -> tuple[Study, StudySchema]:
    study = study_from_table(table(people, **renamed))
    return study, guess_schema(study).schema


def earlier(study: Study, schema: StudySchema, *fits: Fit) -> EarlierStudies:
    own, merged = private_schema(study, schema)
    return EarlierStudies.of(fits, study, schema, own, merged)


def other_fit(factor: float) -> Fit:
    """The small model with rates times a factor, and another fingerprint."""
    fit = a_fit()
    story = fit.planner.story
    response = story.response
    rates = replace(response.rates, log_scale=response.rates.log_scale + np.log(factor))  # type: ignore[attr-defined]
    story = replace(story, response=replace(response, rates=rates))  # type: ignore[type-var]
    planner = replace(fit.planner, stories=(story,))
    return replace(fit, planner=planner, data_fingerprint=f"another {factor}", scores={"pairs": 85})


@cache
def helped(*factors: float) -> tuple[EarlierStudies, Help, float]:
    study, schema = new_study()
    studies = earlier(study, schema, *(other_fit(factor) for factor in factors))
    stories, _ = studies.responses(study, history_of(study, studies.schema))
    story = stories["capacity"]
    mean = float(story.response.means(history_of(study, studies.schema).referrers).mean())
    return studies, Help(studies, int(study.informative.sum()), story.level, story.slope), mean


def test_columns_are_shared_by_name_and_answers() -> None:
    study, schema = new_study()
    assert earlier(study, schema, a_fit()).shared == ("sex", "town")
    renamed, other = new_study(town="quarter")
    studies = earlier(renamed, other, a_fit())
    assert studies.shared == ("sex",)
    assert {rule.name for rule in studies.schema.used} == {"sex", "quarter"}
    changed = table(30)
    changed["town"] = changed["town"].map({"north": "Nord", "south": "Süd"})
    study = study_from_table(changed)
    studies = earlier(study, guess_schema(study).schema, a_fit())
    assert studies.shared == ("sex",)
    assert studies.models[0].unlike == ("town",)
    none, schema = new_study(town="quarter", sex="gender")
    alone = earlier(none, schema, a_fit())
    assert alone.shared == ()
    scores = Help(alone, 20, *_level(alone, none)).scores()
    assert scores["shared"] == []
    assert scores["own"]


def _level(studies: EarlierStudies, study: Study):
    stories, _ = studies.responses(study, history_of(study, studies.schema))
    return stories["capacity"].level, stories["capacity"].slope


def test_earlier_studies_that_agree_count_for_more_than_those_that_differ() -> None:
    _, alike, near = helped(0.95, 1.0, 1.05)
    _, unlike, far = helped(0.3, 1.0, 3.0)
    assert alike.level is not None
    assert unlike.level is not None
    assert alike.level.prior_share > 2 * unlike.level.prior_share
    assert alike.counts_as > unlike.counts_as
    assert alike.scores()["counts_as_people"] == alike.counts_as
    assert alike.level.error < unlike.level.error
    assert near > 0.0
    assert far > 0.0


def test_far_away_studies_hardly_move_the_new_one() -> None:
    _, near, mean = helped(0.95, 1.0, 1.05)
    _, distant, moved = helped(5.0, 5.2, 4.8)
    assert near.level is not None
    assert distant.level is not None
    assert distant.level.prior_share < near.level.prior_share
    assert moved < 2.0 * mean  # five times as much was said


def test_the_new_model_differs_between_people_as_the_earlier_ones_do() -> None:
    study, schema = new_study()
    studies = earlier(study, schema, *(other_fit(factor) for factor in (0.95, 1.0, 1.05)))
    stories, fitted = studies.responses(study, history_of(study, studies.schema))
    response = stories["capacity"].response
    codes = np.array([[0, 0], [1, 0]], dtype=np.int16)
    old = next(iter(a_fit().responses.values())).means(codes)
    new = response.means(codes)
    assert (old[0] > old[1]) == (new[0] > new[1])  # women bring more
    weights = studies.weigh(weigh(fitted), 0.9).weights
    assert weights["capacity"] > weigh(fitted).weights["capacity"]  # the only story of the earlier models
    assert {story.name for story in fitted} == {"capacity", "per_coupon"}


def test_homophily_is_pooled() -> None:
    study, schema = new_study()
    studies = earlier(study, schema, a_fit(), other_fit(1.1))
    choice, found = studies.offspring(study, history_of(study, studies.schema))
    assert set(found) == {"sex", "town"}
    assert all(0.0 < each.prior_share < 1.0 for each in found.values())
    sex = choice.model.tables[0]  # type: ignore[attr-defined]
    np.testing.assert_allclose(sex.sum(axis=1), 1.0)
    assert sex[0, 0] > sex[1, 0]


def test_return_times_become_the_prior() -> None:
    usual, said = return_settings([a_fit()])
    assert said is None
    draws = np.column_stack([np.log(40.0) + 0.1 * np.array([-1, 0, 1.0]), np.array([-0.05, 0.0, 0.05])])
    times = ReturnTimes("lognormal", 40.0, 1.0, draws=draws)
    slow, said = return_settings([replace(a_fit(), returns=times)] * 3)
    assert said is not None
    assert usual.prior_median < 25 < slow.prior_median < 45
    assert slow.prior_variation < usual.prior_variation
    fast = [replace(a_fit(), returns=replace(times, median=days)) for days in (5.0, 40.0, 120.0)]
    assert return_settings(fast)[0].prior_variation > slow.prior_variation  # studies that differ say less


def test_a_dozen_people_can_be_planned_with_earlier_studies() -> None:
    study, schema = new_study(13)
    settings = FitSettings(budget=10, rounds=2, learning=QUICK)
    holders = int(study.informative.sum())
    with pytest.raises(DataFileError, match="too small"):
        fit_study(study_from_table(table(2)), schema, settings, prior=[a_fit()])
    fit = fit_study(study, schema, settings, prior=[other_fit(0.95), other_fit(1.0), other_fit(1.05)])
    assert holders < 20
    summary = str(Model(fit).summary)
    assert "The 3 earlier studies" in summary
    assert "Shared columns: sex, town" in summary
    assert fit.scores["earlier_studies"]["studies"] == 3
    sheet = Model(fit).plan(table(40).drop(columns=["own.coupon"]).tail(6), budget=8)
    assert 0 < sheet.spend <= 8
    text = str(fit.files())
    assert "person-0" not in text
    assert "SECRET" not in text


def _of_itself(study: Study, schema: StudySchema) -> Fit:
    from peerfront.study.artifacts import fingerprint
    from peerfront.study.coupon_calendar import fitted_returns

    returning, _ = fitted_returns(study, return_settings([a_fit()])[0])
    history = history_of(study, private_schema(study, schema)[0], None if returning is None else returning.exposure)
    return replace(a_fit(), data_fingerprint=fingerprint(history))


def test_the_same_model_twice_and_models_without_columns_are_refused() -> None:
    study, schema = new_study()
    with pytest.raises(SettingError, match="the same data"):
        earlier(study, schema, a_fit(), a_fit())
    itself, own = a_study()
    with pytest.raises(SettingError, match="itself"):
        fit_study(itself, own, FitSettings(budget=10, learning=QUICK), prior=[_of_itself(itself, own)])
    with pytest.raises(DataFileError, match="does not say which columns"):
        earlier(study, schema, replace(a_fit(), study_schema=""))


def test_no_earlier_study_changes_nothing() -> None:
    assert a_study()[0] is a_study()[0]
    usual, said = return_settings([])
    assert said is None
    assert usual.prior_median == 15.5
