"""Estimates on the report's page: what is shown, what is grey, and what is hidden."""

import numpy as np
import pytest

import peerfront as pf
from peerfront.estimates.estimating import judged, unequal_recruitment
from peerfront.estimates.sample import Outcome, Sample
from peerfront.foundation.errors import UnknownName
from peerfront.study.published_tables import published_estimates
from peerfront.study.report import ReportSettings
from peerfront.words.estimates import published_rows, verdict_lines
from study.small_advice import a_fit, a_frontier, a_study, order, page_of


def a_page(**settings: object) -> str:
    study, schema = a_study()
    chosen = ReportSettings(episodes=10, with_trees=False, **settings)  # type: ignore[arg-type]
    return page_of(a_fit(), study, schema, order(), a_frontier(), chosen)


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


def test_a_rare_answer_is_hidden() -> None:
    table = pf.demo_study(people=150).study
    table["rare"] = ["yes" if place in (20, 60, 90) else "no" for place in range(len(table))]
    published = published_estimates(
        pf.read_study(table), ["rare", "housing"], population=None, decisions=None, bootstraps=10, seed=0
    )
    rare, housing = published.outcomes
    assert rare.hidden is not None
    assert rare.hidden.code == "published.rare_answer"
    assert rare.estimates is rare.diagnostics is None
    assert not published_rows(rare)
    assert housing.hidden is None


def test_small_parts_are_left_out_of_tables_and_pictures() -> None:
    study = pf.read_study(pf.demo_study(people=300).study)
    published = published_estimates(
        study, ["housing"], population=None, decisions=None, bootstraps=10, seed=0
    ).outcomes[0]
    shown = published.diagnostics
    assert shown is not None
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
    more = "people with yes brought 2.0 times as many recruits as those with no"
    assert str(unequal_recruitment(sample, outcome)) == more
    from peerfront.estimates.estimators import estimators_for

    verdict = judged(sample, outcome, estimators_for(sample, outcome), None)
    assert verdict.best == "RDS-I"
    assert "brings about as many" in str(verdict.invalid["RDS-II"])
    with_population = judged(sample, outcome, estimators_for(sample, outcome, 3000), 3000)
    assert with_population.best == "stratified SS"
    alike = _sample(2, 2)
    assert unequal_recruitment(*alike) is None
    assert judged(*alike, estimators_for(*alike), None).best == "RDS-I"


def test_the_page_does_not_say_who_brought_nobody() -> None:
    """A stratum or an answer without recruits is a group of none: the page tells it no more than one of three."""
    table = pf.demo_study(people=300).study
    codes = set(table["own.coupon"])
    brought = [any(row[f"coupon.{n}"] in codes for n in (1, 2, 3)) for _, row in table.iterrows()]
    table["score"] = ["high" if own else "low" for own in brought]
    study = pf.read_study(table)
    made = pf.estimate(study, "score", bootstraps=10)
    words = " ".join(map(str, [*made.lines(), *made.details()]))
    assert "brought recruits, unlike those with low" in words
    assert "nobody with low brought anybody" in words
    outcome = published_estimates(study, ["score"], population=None, decisions=None, bootstraps=10, seed=0).outcomes[0]
    assert outcome.estimates is not None
    page = " ".join(
        map(str, [*verdict_lines(outcome.estimates.verdict), *(row["why"] for row in published_rows(outcome))])
    )
    assert "people with one answer brought clearly more recruits" in page
    assert "too few recruits" in page
    assert "nobody" not in page
    assert "unlike" not in page


def _possible_numbers(shares: dict[str, float], recruits: int, to: float) -> set[int]:
    """Numbers of people who answered, given shares that were rounded: what a reader of the page can work out."""
    found = set()
    for people in range(recruits - 20, recruits + 1):
        counts = [
            {n for n in range(people + 1) if abs(n / people - share) <= to / 2 + 1e-9} for share in shares.values()
        ]
        if any(people - n in counts[1] for n in counts[0]):
            found.add(people)
    return found


@pytest.mark.parametrize("people", [60, 120, 300])
def test_shares_do_not_say_how_many_did_not_answer(people: int) -> None:
    """Three recruits did not answer, and the page tells how many recruits there are."""
    table = pf.demo_study(people=people).study
    came = np.flatnonzero(table["own.coupon"] != "")
    table["hiv"] = ["yes" if place % 3 == 0 else "no" for place in range(len(table))]
    table.loc[came[[5, 11, 17]], "hiv"] = ""
    outcome = published_estimates(
        pf.read_study(table), ["hiv"], population=None, decisions=None, bootstraps=10, seed=0
    ).outcomes[0]
    made, shown = outcome.estimates, outcome.diagnostics
    assert made is not None
    assert shown is not None
    drawn = made.table.set_index(["estimator", "category"])["estimate"]
    coarse = 0.05 if len(came) < 203 else 0.01
    for name in ("mean", "RDS-II"):
        assert np.allclose(drawn[name] / coarse, (drawn[name] / coarse).round())
        shares = {category: drawn[name, category] for category in ("no", "yes")}
        assert len(_possible_numbers(shares, len(came), coarse)) >= 15
    exact = pf.estimate(pf.read_study(table), "hiv", bootstraps=10).table
    if coarse > 0.01:
        mean = made.table["estimator"] == "mean"
        assert (made.table["low"] <= exact["low"])[mean].all(), "a coarse interval is no narrower"
        assert (made.table["high"] >= exact["high"])[mean].all()
    mean_shares = [str(row["estimate"]) for row in published_rows(outcome) if row["estimator"] == "mean"]
    assert mean_shares == [f"{drawn['mean', category]:.0%}" for category in ("no", "yes")]
    steps = shown.convergence["estimate"].dropna() / coarse
    assert np.allclose(steps, steps.round())
