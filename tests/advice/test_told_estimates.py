"""Estimates on the report's page: what is shown, what is grey, and what is not told."""

import numpy as np
import pytest

import peerfront as pf
from advice.small_advice import a_fit, a_frontier, a_study, order
from peerfront.advice.report import ReportSettings, study_report
from peerfront.advice.told_estimates import told_estimates
from peerfront.estimates.sample import Outcome, Sample
from peerfront.estimates.validity import judged, unequal_recruitment
from peerfront.foundation.errors import UnknownName


def a_page(**settings: object) -> str:
    study, schema = a_study()
    chosen = ReportSettings(episodes=10, with_trees=False, **settings)  # type: ignore[arg-type]
    return study_report(a_fit(), study, schema, order(), a_frontier(), chosen)


def test_the_section_is_there_if_it_was_asked_for() -> None:
    page = a_page(outcomes=("town",), population=2000)
    assert '<section id="estimates"' in page
    assert page.count('class="invalid"') >= 2, "estimators that are not valid are grey"
    assert "(use this)" in page
    assert "Can it be trusted? town" in page
    for picture in ("The estimate as people came", "The estimate within each large tree", "wave by wave"):
        assert picture in page
    assert '<section id="estimates"' not in a_page()
    with pytest.raises(UnknownName, match="no column in study.csv called 'hiv'"):
        a_page(outcomes=("hiv",))


def test_a_rare_answer_is_not_told() -> None:
    table = pf.demo_study(people=150).study
    table["rare"] = ["yes" if place in (20, 60, 90) else "no" for place in range(len(table))]
    told = told_estimates(
        pf.read_study(table), ["rare", "housing"], population=None, decisions=None, bootstraps=10, seed=0
    )
    rare, housing = told.outcomes
    assert "fewer than 5" in rare.hidden
    assert not rare.rows
    assert rare.figures is None
    assert not housing.hidden


def test_small_parts_are_left_out_of_tables_and_pictures() -> None:
    study = pf.read_study(pf.demo_study(people=300).study)
    told = told_estimates(study, ["housing"], population=None, decisions=None, bootstraps=10, seed=0).outcomes[0]
    assert told.figures is not None
    _, shown = told.figures
    assert (shown.convergence["people"] >= 30).all()
    assert (shown.bottlenecks["people"] >= 30).all()
    small = shown.seeds["people"] < 20
    assert shown.seeds.loc[small, "share"].isna().all()
    assert shown.seeds.loc[shown.seeds["wave"] < 2, "expected"].isna().all()
    shares = shown.seeds["share"].dropna() * 20
    assert np.allclose(shares, shares.round())
    assert (shown.effectiveness["people"] >= 20).all()


def _sample(yes_brings: int, no_brings: int, people: int = 60) -> tuple[Sample, Outcome]:
    """Half of the people have the outcome; they bring so many each."""
    recruiter, has = [-1] * people, [place % 2 == 0 for place in range(people)]
    for parent in range(people):
        for number in range(yes_brings if has[parent] else no_brings):
            recruiter.append(parent)
            has.append((parent + number) % 3 == 0)
    n_people = len(recruiter)
    coupons = np.array([3] * people + [-1] * (n_people - people))
    sample = Sample(
        np.array(recruiter), np.array(recruiter) < 0, np.ones(n_people), np.arange(n_people), coupons,
        np.zeros(n_people, dtype=np.int64), ("everybody",),
    )  # fmt: skip
    return sample, Outcome("hiv", np.array(has, dtype=float), ("no", "yes"))


def test_equal_coupons_are_not_enough_where_some_bring_more() -> None:
    sample, outcome = _sample(2, 1)
    assert unequal_recruitment(sample, outcome) == "people with yes brought 2.0 times as many recruits as those with no"
    from peerfront.estimates.estimators import estimators_for

    verdict = judged(sample, outcome, estimators_for(sample, outcome), None)
    assert verdict.best == "RDS-I"
    assert "brings about as many" in verdict.invalid["RDS-II"]
    with_population = judged(sample, outcome, estimators_for(sample, outcome, 3000), 3000)
    assert with_population.best == "stratified SS"
    alike = _sample(2, 2)
    assert unequal_recruitment(*alike) == ""
    assert judged(*alike, estimators_for(*alike), None).best == "RDS-II"
