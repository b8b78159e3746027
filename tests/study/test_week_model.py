"""The model of a week: what its plans brought is held against what it expected."""

from dataclasses import replace
from datetime import date

import pytest

from peerfront.foundation.errors import SettingError
from peerfront.foundation.messages import silent
from peerfront.study.model import Model
from peerfront.study.week_model import NEVER, Earlier, FittedTo, ModelChoice, _surprises, kept_or_refitted
from peerfront.study.week_plan import WeekOrder
from peerfront.words.week_lines import model_lines
from study.small_advice import a_fit, a_study


def test_what_the_earlier_model_did_not_expect_is_said() -> None:
    study, _ = a_study()
    now, everybody = Model(a_fit()), {str(person): 3 for person in study.ids}
    assert not _surprises(Earlier(now, FittedTo(), planned=everybody), now, study)
    belief = now.fit.belief
    doubtful = Model(replace(now.fit, belief=replace(belief, levels=belief.levels - 9.0)))
    (surprise,) = surprises = _surprises(Earlier(doubtful, FittedTo(), planned=everybody), now, study)
    assert surprise.coupons == 3
    assert surprise.brought > surprise.high
    assert not _surprises(
        Earlier(doubtful, FittedTo(), planned=dict.fromkeys(everybody, 2)), now, study
    )  # staff gave 3
    line = str(model_lines(ModelChoice(now, True, "", FittedTo(), surprises=surprises))[1])
    assert line == (
        f"{surprise.brought} of {surprise.people} people with 3 coupons from earlier sheets brought somebody; "
        f"{surprise.low} to {surprise.high} were expected. The new fit has taken that in."
    )


def test_never_is_never(monkeypatch) -> None:
    """Neither new data, nor another prior, nor more coupons than the model knows make a new fit."""
    monkeypatch.setattr("peerfront.study.week_model.fit", lambda *_, **__: pytest.fail("it was fitted"))
    study, schema = a_study()
    earlier = Earlier(Model(a_fit()), FittedTo("2026-01-01"))
    most = earlier.model.fit.planner.budget

    def choice(order: WeekOrder) -> ModelChoice:
        return kept_or_refitted(earlier, study, schema, order, order.budget, date(2026, 3, 2), NEVER, silent)

    for order in (WeekOrder(most), WeekOrder(most, prior_belief={"drift": 0.2}), WeekOrder(most + 9, reserve=9)):
        kept = choice(order)
        assert (kept.model, kept.refitted, kept.kept_as_asked) == (earlier.model, False, True)
    with pytest.raises(SettingError, match="the model was fitted for at most") as refused:
        choice(WeekOrder(most + 9))
    assert [(each.setting, each.value) for each in refused.value.remedies] == [("refit", "auto"), ("reserve", 9)]
