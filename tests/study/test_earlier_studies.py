"""Earlier models beside a new study: which columns they share, what they count, and what is refused."""

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest

from peerfront.data.columns.schema_guess import guess_schema, private_schema
from peerfront.data.reading import study_from_table
from peerfront.data.study import Study
from peerfront.data.study_schema import StudySchema, history_of
from peerfront.foundation.errors import DataFileError, SettingError
from peerfront.models.belief.belief import Belief
from peerfront.models.belief.belief_fit import learned_belief
from peerfront.models.belief.coupon_family import tilt
from peerfront.models.belief.prior import Prior
from peerfront.models.returns.return_times import ReturnTimes
from peerfront.study.artifacts import Fit
from peerfront.study.earlier_studies import EarlierStudies, Help, return_settings
from peerfront.study.fit_models import counts_of
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
    """The small model of people who bring about so many times as many, and another fingerprint."""
    fit = a_fit()
    levels = fit.belief.levels + np.log(factor) * tilt(fit.belief.most)[1:]
    belief = replace(fit.belief, levels=levels)
    return replace(fit, belief=belief, data_fingerprint=f"another {factor}", scores={"pairs": 85})


@cache
def helped(*factors: float) -> tuple[Prior, Belief]:
    """The prior after earlier studies, and what a study of 30 people believes with it."""
    study, schema = new_study()
    studies = earlier(study, schema, *(other_fit(factor) for factor in factors))
    counts = counts_of(history_of(study, studies.schema))
    prior = studies.prior(Prior(), counts) if factors else Prior()
    return prior, learned_belief(counts, prior)


def with_three(belief: Belief) -> np.ndarray:
    """Recruits of somebody of whom nothing is known, with three coupons, by each draw."""
    nobody = np.full((1, len(belief.schema.fields)), -1, dtype=np.int16)
    return belief.response.by_draw(nobody, 3)[:, 0, 2]


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
    scores = Help(alone).scores()
    assert scores["shared"] == []
    assert scores["own"]


def test_earlier_studies_that_agree_count_for_more_than_those_that_differ() -> None:
    alone, (alike, near), (unlike, far) = helped()[1], helped(0.95, 1.0, 1.05), helped(0.3, 1.0, 3.0)
    known, vague = (np.array(prior.earlier_levels)[:, 1] for prior in (alike, unlike))
    assert (2 * known < vague).all()
    assert with_three(near).std() < 0.9 * with_three(far).std()  # drift, of which nothing is known, is in all three
    assert with_three(near).std() < 0.9 * with_three(alone).std()


@pytest.mark.parametrize("factors", [(5.0, 5.2, 4.8), (5.0,), (0.2, 0.21, 0.19)])
def test_far_away_studies_hardly_move_the_new_one(factors: tuple[float, ...]) -> None:
    alone, moved = with_three(helped()[1]), with_three(helped(*factors)[1])
    assert abs(moved.mean() - alone.mean()) < 0.5 * alone.std()


def test_what_mattered_and_what_coupons_did_elsewhere_is_likelier_here() -> None:
    believes = a_fit().belief
    assert believes.fields  # women bring more
    assert set(believes.weights) == {"capacity"}
    prior, belief = helped(0.95, 1.0, 1.05)
    assert prior.likely == believes.fields
    assert prior.log_odds("sex") > Prior().log_odds("sex")
    assert belief.weights["capacity"] > helped()[1].weights["capacity"] + 0.1
    assert set(belief.weights) == {"capacity", "per_coupon", "motivate"}  # nothing is ruled out by others
    knows, _ = new_study(sex="gender")
    studies = earlier(*new_study(sex="gender"), a_fit())
    assert studies.prior(Prior(), counts_of(history_of(knows, studies.schema))).likely == tuple(
        name for name in believes.fields if name != "sex"
    )


def test_levels_come_from_studies_with_as_many_coupons() -> None:
    study, schema = new_study()
    counts = counts_of(history_of(study, earlier(study, schema, a_fit()).schema))
    fewer = replace(counts, coupons=np.minimum(counts.coupons, 2), recruits=np.minimum(counts.recruits, 2))
    studies = earlier(study, schema, a_fit())
    assert len(studies.prior(Prior(), counts).earlier_levels) == 3
    assert studies.prior(Prior(), fewer).earlier_levels == ()


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
    summary = "\n".join(map(str, (*Model(fit).summary.lines(), *Model(fit).summary.details())))
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
