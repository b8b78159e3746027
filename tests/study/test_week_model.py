"""The model of a week: what its plans brought is held against what it expected."""

from dataclasses import replace

from peerfront.study.model import Model
from peerfront.study.week_model import Earlier, FittedTo, ModelChoice, _surprises
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
