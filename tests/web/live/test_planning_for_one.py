"""The number for one person at once: as a whole plan for that person gives it, within cap, budget and promises."""

import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from django.db import transaction
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st
from live_client import LiveStudy
from planned_study import SETTINGS, planned  # noqa: F401 (a fixture)
from planning_site import finished, study_folder

from peerfront.foundation.errors import DataFileError
from peerfront.problem import Frontier
from peerfront.study.orders import PlanOrder
from peerfront.study.planning import plan_coupons
from peerfront.study.reasons import Reason as StoredReason
from peerfront.study.restrictions import restriction_of
from peerfront.study.study_state import standing_of
from peerfront.web.live.exporting import live_study
from peerfront.web.live.operations.verification import verify
from peerfront.web.live.planning import arrival_plans
from peerfront.web.live.planning import planning_jobs as jobs
from peerfront.web.live.planning.arrival_plans import of_stratum, plan_alone, same_for_all, seed_for
from peerfront.web.live.planning.kept_models import SAME_FOR_ALL, KeptModel, loaded_model
from peerfront.web.live.planning.planning_inputs import codes_of, open_holders, today_of
from peerfront.web.live.records import models
from peerfront.web.live.records.database import DatabaseRecords
from peerfront.web.live.rules.actions import Role
from peerfront.web.live.rules.deciding import Accepted, Refused
from peerfront.web.live.rules.events import DecidedBy
from peerfront.web.live.rules.refusals import Reason
from peerfront.web.live.rules.requests import (
    AddSeed,
    ApprovePlan,
    ChangeSettings,
    IssueCoupons,
    OverrideCoupons,
    RecordAnswers,
    StopPlan,
    WithdrawPerson,
)
from peerfront.words.stored_text import reason_from_text

ANSWERS = (("age", "33"), ("gender", "female"), ("housing", "street"))


class Going(LiveStudy):
    """Work on in the planned study."""

    def __init__(self) -> None:
        import itertools
        import random

        self.codes, self.keys = random.Random(8), (f"going-{n}" for n in itertools.count())

    def came(self, person: str, answers=ANSWERS) -> str:
        self.do(AddSeed(person))
        self.do(RecordAnswers(person, 12, answers))
        return person


@pytest.fixture
def going(planned):  # noqa: F811
    """The study after its plan was approved."""
    study = Going()
    study.do(ApprovePlan(planned.plan.plan))
    return study


def _model():
    return loaded_model(DatabaseRecords().plan(DatabaseRecords().study().approved_plan).model)


def test_people_of_the_plan_get_its_number_and_who_comes_later_one_of_their_own(going, planned) -> None:  # noqa: F811
    line = planned.plan.lines.filter(coupons__gt=0).first()
    assert arrival_plans.plan_for_one(line.person_id) is None
    assert len(going.issue(line.person_id, site=line.person.site_id)) == line.coupons
    person = going.came("new1")
    own = arrival_plans.plan_for_one(person)
    assert own.model == planned.plan.model
    assert own.seed == seed_for(planned.plan.seed, person)
    assert 0 <= own.coupons <= SETTINGS.cap
    assert isinstance(reason_from_text(own.reason), StoredReason)
    assert len(going.issue(person, plan_for_one=own)) == own.coupons
    decision = models.Decision.objects.get(person_id=person)
    assert decision.decided_by == DecidedBy.ARRIVAL.value
    assert (decision.model, decision.seed, decision.probability) == (own.model, own.seed, own.probability)
    assert arrival_plans.plan_for_one(person) is None, "who has got coupons gets no second number"
    assert verify().whole


def test_spoilt_files_of_a_plan_give_no_number_and_no_fault(going, planned) -> None:  # noqa: F811
    person = going.came("spoilt")
    summary = KeptModel(planned.plan.model).plan(planned.plan.seed).folder / "summary.json"
    whole = summary.read_text("utf-8")
    for spoilt in ("", "{", "[]", "{}", '{"words": 1}', whole.replace('"strata"', '"strat"')):
        summary.write_text(spoilt, "utf-8")
        assert arrival_plans.plan_for_one(person) is None
    summary.write_text(whole, "utf-8")
    assert arrival_plans.plan_for_one(person) is not None


def test_a_model_under_the_name_of_another_is_refused(going, planned) -> None:  # noqa: F811
    kept = KeptModel(planned.plan.model)
    other = KeptModel("0" * 16)
    shutil.copytree(kept.folder, other.folder)
    try:
        with pytest.raises(DataFileError, match="it is another fit"):
            loaded_model(other.name)
    finally:
        shutil.rmtree(other.folder)


def test_the_number_for_one_is_that_of_a_whole_plan_for_this_person(going) -> None:
    """With open coupons and without, for several budgets and limits, to the last bit of the probability."""
    model = _model()
    study = live_study()
    codes = codes_of(SETTINGS, model.schema, [(ANSWERS, 12), ((("gender", "male"),), 2), ((), None)])
    coming = None
    if model.fit.returns is not None:
        from peerfront.study.day_policies import coming_of

        standing = standing_of(study, model.schema, model.fit.returns)
        coming = coming_of(model.fit.planner, standing.open, model.fit.returns, 40)
    for row in codes:
        frontier = Frontier(np.array(["x"], object), row[None])
        for budget in (0, 1, 2, 40):
            for randomise in (0.0, 0.1):
                order = PlanOrder(budget, max_per_person=3, rounds_left=2, seed=11, randomise=randomise)
                alone = plan_alone(model.fit, "x", row, order, coming)
                whole = plan_coupons(model.fit, frontier, order, coming).table.iloc[0]
                assert alone.coupons == whole["coupons"]
                assert alone.probability == pytest.approx(whole["probability"], abs=1e-6)


def test_open_coupons_are_those_of_the_exported_study(going) -> None:
    model, today = _model(), today_of(SETTINGS, timezone.now())
    assert model.fit.returns is not None
    sites = model.fit.returns.sites
    exported = standing_of(live_study().as_of(today), model.schema, model.fit.returns).open
    plan = DatabaseRecords().plan(DatabaseRecords().study().approved_plan)
    read = open_holders(SETTINGS, model.schema, sites, today, replace(plan, plan=0, round=None))

    def rows(holders):
        seen = holders.seen
        return sorted(
            zip(
                seen.coupons.tolist(), seen.recruits.tolist(), seen.ages.tolist(), seen.validity.tolist(),
                seen.site_codes.tolist(), map(tuple, holders.covariates.tolist()), strict=True,
            )
        )  # fmt: skip

    assert len(exported) > 3
    assert rows(read) == rows(exported)
    with_promises = open_holders(SETTINGS, model.schema, sites, today, plan)
    promised = models.PlanLine.objects.filter(plan_id=plan.plan, coupons__gt=0).count()
    assert len(with_promises) == len(read) + promised


def test_nobody_gets_more_than_is_free(going, planned) -> None:  # noqa: F811
    """However many come: what the plan promised stays for its people, and the rules refuse nothing."""
    row = DatabaseRecords().study()
    promised = DatabaseRecords().plan(row.approved_plan).promised
    budget = row.settings.budget - row.kept + promised + 4
    going.do(ChangeSettings(replace(row.settings, budget=budget), "few are left"))
    given_out = 0
    for number in range(6):
        person = going.came(f"new{number}")
        own = arrival_plans.plan_for_one(person)
        given_out += len(going.issue(person, plan_for_one=own))
    assert given_out <= 4
    assert own.coupons == 0 or given_out < 4
    for line in planned.plan.lines.filter(coupons__gt=0).select_related("person"):
        going.issue(line.person_id, site=line.person.site_id)
    assert DatabaseRecords().study().kept == 4 - given_out
    assert verify().whole


def test_there_is_no_number_where_there_is_nothing_to_decide(going, planned) -> None:  # noqa: F811
    assert arrival_plans.plan_for_one("nobody") is None
    going.do(AddSeed("silent"))
    assert arrival_plans.plan_for_one("silent") is None, "without answers"
    gone = going.came("gone")
    going.do(WithdrawPerson(gone, False, "moved away"))
    assert arrival_plans.plan_for_one(gone) is None
    other = going.came("other")
    going.do(OverrideCoupons(other, 1, "asked for one"))
    assert arrival_plans.plan_for_one(other) is None, "the coordinator decided"
    had = models.Person.objects.filter(coupons__gt=0, withdrawn_at=None).first()
    assert arrival_plans.plan_for_one(had.person) is None, "more is the coordinator's decision"
    late = going.came("late")
    KeptModel(planned.plan.model).artifact.rename(KeptModel(planned.plan.model).folder / "away")
    from peerfront.web.live.planning import kept_models

    kept_models._load.cache_clear()
    assert arrival_plans.plan_for_one(late) is None, "its model is missing"
    refused = going.ask(IssueCoupons(late))
    assert isinstance(refused, Refused)
    assert refused.reason is Reason.NO_DECISION
    going.do(StopPlan(planned.plan.plan, "enough"))
    assert arrival_plans.plan_for_one(late) is None


def test_a_model_that_was_harmed_gives_no_number_and_no_fault(going, planned) -> None:  # noqa: F811
    from peerfront.web.live.planning import kept_models

    person = going.came("new1")
    weights = next(KeptModel(planned.plan.model).artifact.glob("*.safetensors"))
    weights.write_bytes(weights.read_bytes()[:-7])
    kept_models._load.cache_clear()
    assert arrival_plans.plan_for_one(person) is None


def test_answers_that_the_model_has_never_seen_count_as_unknown(going) -> None:
    person = going.came("new1", (("age", "many"), ("gender", "something new"), ("housing", "=1+1"), ("more", "x")))
    assert arrival_plans.plan_for_one(person) is not None


def test_after_the_last_day_nobody_gets_a_coupon(going) -> None:
    person = going.came("new1")
    settings = DatabaseRecords().study().settings
    going.do(ChangeSettings(replace(settings, deadline=today_of(settings, timezone.now())), "it ends"))
    own = arrival_plans.plan_for_one(person)
    assert (own.coupons, own.probability) == (0, 1.0)
    assert str(reason_from_text(own.reason)) == "No coupon: recruitment is over."


def test_no_number_is_planned_inside_a_transaction(going) -> None:
    person = going.came("new1")
    with pytest.raises(RuntimeError, match="before the transaction"), transaction.atomic():
        arrival_plans.plan_for_one(person)


def test_random_numbers_are_given_to_the_share_that_the_settings_say(going) -> None:
    """Each person has a seed of their own: a shared one would give everybody a random number, or nobody."""
    model, share, people = _model(), 0.4, 300
    (codes,) = codes_of(SETTINGS, model.schema, [(ANSWERS, 12)])
    plans = []
    for number in range(people):
        order = PlanOrder(40, max_per_person=3, rounds_left=2, seed=seed_for(5, f"p{number}"), randomise=share / 4)
        plans.append(plan_alone(model.fit, f"p{number}", codes, order))
    usual = Counter(each.coupons for each in plans).most_common(1)[0][0]
    others = sum(each.coupons != usual for each in plans)
    expected = share * 3 / 4
    assert abs(others / people - expected) < 4 * np.sqrt(expected * (1 - expected) / people)
    assert all(
        each.probability == pytest.approx(0.6 + 0.1 if each.coupons == usual else 0.1, abs=1e-6) for each in plans
    )


def test_in_strata_people_are_alike_whatever_else_they_answered(going) -> None:
    model = _model()
    names = [name for name in model.fit.schema.names if name in ("gender", "housing")]
    order = PlanOrder(40, max_per_person=3, rounds_left=2, seed=3, strata=(names[0],))
    codes = codes_of(SETTINGS, model.schema, [(ANSWERS, size) for size in (1, 8, 20, None)])
    unknown = {plan_alone(model.fit, "x", row, order) for row in codes}
    assert len(unknown) == 1
    (name,) = {each.stratum for each in unknown}
    assert name == restriction_of(order, model.fit).strata(codes[:1])[1][0]
    chances = {name: (0.0, 0.25, 0.75)}
    drawn = [
        plan_alone(model.fit, f"p{n}", codes[0], replace(order, seed=seed_for(1, f"p{n}")), None, chances)
        for n in range(400)
    ]
    ones = sum(each.coupons == 1 for each in drawn)
    assert abs(ones - 100) < 4 * np.sqrt(400 * 0.25 * 0.75)
    assert {(each.coupons, each.probability, each.stratum) for each in drawn} == {(1, 0.25, name), (2, 0.75, name)}


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=6).filter(lambda each: sum(each) > 1e-6),
    st.integers(0, 6),
    st.integers(1, 6),
)
def test_a_stratum_draws_with_exact_chances_within_cap_and_budget(weights, free, cap) -> None:
    chances = [each / sum(weights) for each in weights]
    order = PlanOrder(free, max_per_person=cap)
    lucks = (np.arange(2_000) + 0.5) / 2_000
    drawn = [of_stratum("s", chances, float(luck), order) for luck in lucks]
    shares = Counter(each.coupons for each in drawn)
    told = {each.coupons: each.probability for each in drawn}
    most = min(free, cap, len(chances) - 1)
    for coupons, count in shares.items():
        assert 0 <= coupons <= most
        assert count / len(lucks) == pytest.approx(told[coupons], abs=2e-3)
        assert 0 < told[coupons] <= 1


@given(st.integers(0, 20), st.integers(1, 10))
def test_the_plain_rule_stays_within_cap_and_budget(free, cap) -> None:
    own = same_for_all(free, cap)
    assert own.coupons == min(3, free, cap)
    assert own.probability == 1.0


def test_plan_alone_stays_within_cap_and_budget(going) -> None:
    model = _model()
    everybody = codes_of(SETTINGS, model.schema, [(ANSWERS, 12), ((), 1)])

    @given(st.integers(0, 40), st.integers(1, 4), st.integers(1, 3), st.sampled_from([0.0, 0.05, 0.1]), st.data())
    def holds(free, cap, rounds, randomise, data) -> None:
        row = everybody[data.draw(st.integers(0, 1))]
        order = PlanOrder(free, max_per_person=cap, rounds_left=rounds, randomise=randomise, seed=free)
        own = plan_alone(model.fit, "x", row, order)
        assert 0 <= own.coupons <= min(free, cap)
        assert 0 < own.probability <= 1
        assert own.reason

    holds()


def test_a_study_without_a_model_gives_everybody_the_same(tmp_path) -> None:
    with study_folder(tmp_path):
        study = LiveStudy()
        for name in ("ana", "ben"):
            study.seed(name)
        job = finished(jobs.ask_for_plan(study.user(Role.COORDINATOR).username))
        study.do(ApprovePlan(job.plan.plan))
        study.seed("cleo")
        own = arrival_plans.plan_for_one("cleo")
        assert (own.model, own.coupons, own.probability) == (SAME_FOR_ALL, 3, 1.0)
        assert isinstance(study.ask(IssueCoupons("cleo", plan_for_one=own)), Accepted)


def test_the_server_needs_no_torch_for_it(going, planned) -> None:  # noqa: F811
    person = going.came("new1")
    code = (
        "import sys, django; django.setup()\n"
        "from peerfront.web.live.planning import arrival_plans\n"
        "assert arrival_plans.warm_up()\n"
        f"assert arrival_plans.plan_for_one({person!r}) is not None\n"
        "import peerfront.web.live.screens.urls\n"
        "assert 'torch' not in sys.modules and 'matplotlib' not in sys.modules\n"
    )
    import os

    folder = KeptModel(planned.plan.model).folder.parents[1]
    settings = {"PEERFRONT_LIVE_FOLDER": str(folder), "DJANGO_SETTINGS_MODULE": "peerfront.web.live.django_settings"}
    outcome = subprocess.run([sys.executable, "-c", code], env=os.environ | settings, capture_output=True, text=True)
    assert outcome.returncode == 0, outcome.stderr


def test_warming_up_in_the_background_needs_no_plan() -> None:
    thread = arrival_plans.warm_up_in_background()
    thread.join()
