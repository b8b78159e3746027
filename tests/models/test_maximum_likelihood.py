"""Maximum likelihood without covariates, against made counts and the table recorded for two real studies."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from peerfront.foundation.errors import SettingError
from peerfront.foundation.randomness import named_generator
from peerfront.foundation.response_families import RESPONSE_FAMILIES
from peerfront.models.response.maximum_likelihood import maximum_likelihood

AIC = {
    "nyjazz": (738.7, 678.4, 672.0, 824.6, 711.4, 673.4),
    "rdstools_toy": (604.4, 564.0, 561.6, 676.6, 571.9, 558.8),
}
RECRUITS = {
    ("nyjazz", "nb"): (0.48, 0.73, 0.87),
    ("nyjazz", "betabinomial"): (0.21, 0.42, 0.63),
    ("rdstools_toy", "nb"): (0.56, 0.90, 1.12),
    ("rdstools_toy", "betabinomial"): (0.40, 0.81, 1.21),
}


@pytest.mark.parametrize("name", AIC)
def test_the_table_of_real_studies(shared_data, name) -> None:
    people = pd.read_csv(shared_data / name / "participants.csv", dtype=str, keep_default_na=False)
    coupons, recruits = (people[column].astype(int).to_numpy() for column in ("n_coupons_issued", "n_recruits"))
    holders = coupons > 0
    coupons, recruits = coupons[holders], np.minimum(recruits, coupons)[holders]
    for family, aic in zip(("poisson", "zip", "nb", "binomial", "zib", "betabinomial"), AIC[name], strict=True):
        found = maximum_likelihood(family, coupons, recruits)
        assert found.aic == pytest.approx(aic, abs=0.2)
        if (name, family) in RECRUITS:
            assert found.expected_recruits(3) == pytest.approx(RECRUITS[name, family], abs=0.006)


@pytest.mark.parametrize("family", RESPONSE_FAMILIES)
def test_larger_families_are_at_least_as_likely(family) -> None:
    rng = named_generator("plain likelihood")
    coupons = rng.integers(1, 5, 300)
    recruits = np.minimum(coupons, rng.poisson(1.5 * rng.gamma(1.0, 1.0, 300)))
    found = maximum_likelihood(family, coupons, recruits)
    simpler = {"zip": "poisson", "nb": "poisson", "zinb": "nb", "zib": "binomial", "thinned": "nb"}
    if family in simpler:
        assert found.log_likelihood >= maximum_likelihood(simpler[family], coupons, recruits).log_likelihood - 1e-3


def test_a_binomial_is_its_share() -> None:
    coupons = np.array([3, 3, 2, 1, 4, 0])
    recruits = np.array([1, 0, 2, 0, 1, 0])
    found = maximum_likelihood("binomial", coupons, recruits)
    assert -np.expm1(-found.rate) == pytest.approx(4 / 13, abs=1e-5)
    exact = binom.logpmf(recruits, coupons, 4 / 13).sum()
    assert found.log_likelihood == pytest.approx(exact, abs=1e-6)
    assert found.aic == pytest.approx(2 - 2 * exact, abs=1e-5)
    with pytest.raises(SettingError, match="Nobody was given a coupon"):
        maximum_likelihood("nb", coupons[5:], recruits[5:])
