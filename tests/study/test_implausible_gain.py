"""Columns that know the outcome only together: the fit stops before a planner is learned, or goes on knowingly."""

import numpy as np
import pandas as pd
import pytest

import peerfront as pf
from peerfront.data.columns.column_findings import Vetted
from peerfront.data.study_schema import FieldRule, StudySchema
from peerfront.foundation.covariates import Field, Schema
from peerfront.foundation.messages import warning
from peerfront.models.belief.belief import Belief
from peerfront.models.belief.belief_fit import learned_belief
from peerfront.models.belief.prior import Prior
from peerfront.problem import History
from peerfront.study.fit_models import counts_of, implausible_gain, strongest_columns
from peerfront.study.fitting import fit_study


def believed(made: History) -> Belief:
    """What is believed of these people, if each coupon is used on its own."""
    return learned_belief(counts_of(made), Prior.knowing("per_coupon"), draws=50)


def history(n_people, columns, wrong, *, innocent=False):
    """Yes-or-no columns: of the recruits with so many errors, or of a chance that was there before."""
    rng = np.random.default_rng(2)
    coupons = np.full(n_people, 3)
    keen = rng.random(n_people) < 0.5
    chance = np.where(keen, 0.65, 0.15) if innocent else rng.beta(1.5, 2.5, n_people)
    recruits = rng.binomial(coupons, chance)
    known = [keen if innocent else recruits > number % 3 for number in range(columns)]
    codes = np.stack([truth ^ (rng.random(n_people) < wrong) for truth in known], axis=1).astype(np.int16)
    schema = Schema(tuple(Field(f"q{number}", ("no", "yes")) for number in range(columns)))
    return History(schema, codes, coupons, recruits, codes[:10], codes[10:20])


def test_many_columns_that_know_a_little() -> None:
    made = history(300, 8, 0.12)
    reason = implausible_gain(believed(made), made)
    assert "of the variation that chance alone makes" in str(reason)
    assert str(reason).startswith("the columns together")
    assert len(strongest_columns(made)) == 3


def test_a_strong_predictor_is_plausible() -> None:
    made = history(300, 4, 0.0, innocent=True)
    fitted = believed(made)
    assert max(fitted.gains.values()) > 20.0
    assert implausible_gain(fitted, made) is None


def test_nothing_known_or_hardly_anybody() -> None:
    few = history(25, 2, 0.1)
    assert implausible_gain(believed(few), few) is None
    alike = History(
        Schema((Field("everybody", ("person",)),)),
        np.zeros((60, 1), dtype=np.int16),
        np.full(60, 3),
        np.random.default_rng(0).binomial(3, 0.4, 60),
        np.zeros((5, 1), dtype=np.int16),
        np.zeros((5, 1), dtype=np.int16),
    )
    assert implausible_gain(believed(alike), alike) is None


def small_study():
    """58 people, of whom most had three coupons, and a column that tells how many they brought."""
    rng = np.random.default_rng(4)
    able = rng.binomial(3, 0.4, 80)
    recruiter, asked = [""] * 6, 0
    while len(recruiter) + able[asked] <= 58:
        recruiter += [f"p{asked}"] * able[asked]
        asked += 1
    had = np.arange(len(recruiter)) < asked
    table = pd.DataFrame(
        {
            "id": [f"p{i}" for i in range(len(recruiter))],
            "recruiter": recruiter,
            "coupons_issued": np.where(had, 3, 0),
            "q": np.where(had, able[: len(recruiter)], 0),
        }
    )
    return pf.read_study(table)


@pytest.mark.parametrize(
    ("accept", "accepted"), [(False, ()), (True, ()), (False, ("q",))], ids=["stops", "by setting", "by schema"]
)
def test_the_fit_stops_or_goes_on_knowingly(accept, accepted) -> None:
    study = small_study()
    schema = StudySchema((FieldRule("q", ("0", "1", "2", "3")),))
    settings = pf.FitSettings(budget=6, rounds=1, effort=0.05, response="per_coupon", accept_gain=accept)
    allowed = Vetted(
        schema,
        {},
        (warning("column_reasons.sensitive_used", columns=["q"], meaning="x"),) if accepted else (),
        accepted,
    )
    if not accept and not accepted:
        with pytest.raises(pf.PeerfrontError, match="fit with accept_gain=True"):
            fit_study(study, schema, settings, allowed=allowed)
        return
    warnings = fit_study(study, schema, settings, allowed=allowed).warnings
    codes = [each.code for each in warnings]
    assert "implausible_gain.accepted" in codes
    assert ("column_reasons.sensitive_used" in codes) == bool(accepted)
