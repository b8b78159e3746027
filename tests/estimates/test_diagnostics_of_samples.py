"""Diagnostics: R's homophily, curves that end at the estimate, and tables that add up."""

import numpy as np
import pytest
from small_samples import fauxmadrona, sample_by_group, society_with_truth

from peerfront.estimates.estimating import estimate_outcome
from peerfront.estimates.sample import Outcome
from peerfront.estimates.sample_diagnostics import diagnosed
from peerfront.foundation.pictures import rendered
from peerfront.words.estimate_figures import figures_of


def test_homophily_of_fauxmadrona_is_that_of_r(shared_data) -> None:
    sample, outcome = fauxmadrona(shared_data)
    table = diagnosed(sample, outcome, "RDS-II").homophily.set_index("category")
    assert table.loc["all", "population_homophily"] == pytest.approx(1.60397806961622, abs=1e-13)
    assert table.loc["1", "population_homophily"] == pytest.approx(1.60397806961622, abs=1e-13)
    # 369 of 490 recruits are like their recruiter; chance would give the products of the margins.
    assert table.loc["all", "recruitment_homophily"] == pytest.approx(369 / ((356 * 363 + 134 * 127) / 490))


def test_curves_end_at_the_estimate_and_shares_add_up(shared_data) -> None:
    sample, outcome = fauxmadrona(shared_data)
    found = diagnosed(sample, outcome, "RDS-II")
    last = found.convergence[found.convergence["people"] == 500].set_index("category")["estimate"]
    assert last["1"] == pytest.approx(0.16439317140510)
    assert last.sum() == pytest.approx(1.0)
    by_wave = found.seeds.groupby("wave")
    np.testing.assert_allclose(by_wave["share"].sum(), 1.0)
    np.testing.assert_allclose(by_wave["expected"].sum(), 1.0)
    assert by_wave["people"].first().tolist() == [10, 20, 40, 77, 149, 204]
    assert found.waves_to_settle == 1
    assert set(found.bottlenecks["tree"]) == set(range(1, 9))
    effective = found.effectiveness.set_index(["by", "value"])
    assert effective.loc["disease", "recruits"].sum() == 490
    assert effective.loc[("stratum", "everybody"), "per_coupon"] == pytest.approx(0.49)


def test_numbers_and_strata_are_drawn_too() -> None:
    society, yes, in_a = society_with_truth(people=600, prevalence=0.3)
    sample, outcome = sample_by_group(society, yes, in_a, 200, np.random.default_rng(1))
    number = Outcome("age", 20.0 + 30.0 * outcome.values + np.arange(200) % 7)
    for one in (outcome, number):
        made = estimate_outcome(sample, one, population=600, bootstraps=20)
        found = diagnosed(sample, one, made.verdict.best, 600)
        assert found.effectiveness[found.effectiveness["by"] == "stratum"]["value"].tolist() == ["group b", "group a"]
        pictures, again = figures_of(made, found), figures_of(made, found)
        assert set(pictures) == {"estimates", "convergence", "bottlenecks", "seeds"}
        for name, figure in pictures.items():
            assert rendered(figure, "svg") == rendered(again[name], "svg")
        assert {"recruits per person", "recruitment homophily"} <= set(found.table()["measure"])
