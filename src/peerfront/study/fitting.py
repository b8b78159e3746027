"""Fit models and a planner to a checked study.

If dates suffice, return times are fitted first (`coupon_calendar`): coupons that are still open then count for as long
as they were out, instead of as failures. Otherwise all coupons count as finished, or as `still_open` says.

What coupons do is learned as a belief, and whom people bring is chosen by held-out scores (`fit_models`); then one
value that depends on the rounds left is learned in the simulated world of both, which draws from the belief anew in
every episode. The first recruits of that world are drawn, with replacement, from the study's own people; their rows are
used in learning and are not saved. For more people and coupons than can be simulated the value is learned for fewer,
and stretched (`gfp.learning`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from itertools import product
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from peerfront.baselines.simple_rules import AllAtLast, Evenly, Threshold
from peerfront.data.columns.column_findings import Vetted
from peerfront.data.read.dates import date_text
from peerfront.data.schema_file import schema_text
from peerfront.data.study import Study
from peerfront.data.study_schema import StudySchema, encode_study
from peerfront.foundation.covariates import Codes
from peerfront.foundation.machine import THREADS, one_thread
from peerfront.foundation.messages import DONE, Progress, note, part_of, silent
from peerfront.foundation.randomness import Luck
from peerfront.gfp.learning import ValueReport, smaller_problem, stretched
from peerfront.gfp.planner import Planner
from peerfront.gfp.policy_iteration import PolicyIterationSettings, learn_by_policy_iteration
from peerfront.gfp.surrogate import learned_networks, with_response
from peerfront.models.belief.belief import Belief
from peerfront.models.belief.belief_fit import usual_lately
from peerfront.models.belief.belief_world import BeliefWorld
from peerfront.models.offspring.generator_choice import OffspringChoice
from peerfront.problem import BranchingWorld, Policy, ResponseModel, Rules
from peerfront.study.artifacts import Fit, fingerprint, planned_stories, value_response
from peerfront.study.backtest import past_forecasts
from peerfront.study.earlier_studies import Help
from peerfront.study.findings import Findings
from peerfront.study.fit_models import (
    LARGEST,
    FitData,
    check_gain,
    check_prior,
    counts_of,
    fitted_belief,
    fitted_offspring,
    prepared,
)
from peerfront.study.fit_settings import AUTO, FitSettings

if TYPE_CHECKING:
    from peerfront.models.stored_models import Generator

_USUAL_PEOPLE = 20
_FEW_WAITING = 10  # fewer people with open coupons do not show how many wait at once
# Grids of simple rules: cutoffs of a threshold, its least spend as shares of the budget, and even paces.
_CUTOFFS = (0.1, 0.3, 0.5, 0.7, 0.9)
_SHARES = (0.04, 0.12, 0.3)
_PACES = (0.5, 0.75, 1.0, 1.5, 2.0)


def fit_study(
    study: Study,
    schema: StudySchema,
    settings: FitSettings,
    progress: Progress = silent,
    allowed: Vetted | None = None,
    start: Planner | None = None,
    prior: Sequence[Fit] = (),
    planned: Mapping[str, int] | None = None,
) -> Fit:
    """Fit models and planner to the study. Refuse one that is too small, and say what it shows nevertheless.

    Columns that together predict recruits implausibly well stop the fit, unless the settings accept that or the schema
    says `use = true` of a column that does so by itself (`allowed`, which also brings its warnings).

    The result may be published: models hold only categories that at least five people share, tables of whom people
    bring are made from rounded counts, and findings give no count under five. The same study gives exactly the same
    fit, whatever the number of threads.

    `start` is the planner of an earlier fit of the same study: shapes of its models are kept, learning starts from it
    and may keep its value, so that fewer simulations suffice. `prior` are models of earlier studies, which help as far
    as they agree with each other and this one (`earlier_studies`): with them a study of a few people can be fitted.
    `planned` are numbers of coupons that plans or lots gave, by id: staff's own choices may follow who seems keen.
    """
    with one_thread():
        return _fitted(study, schema, settings, progress, allowed, start, prior, planned)


def _fitted(
    study: Study,
    schema: StudySchema,
    settings: FitSettings,
    progress: Progress,
    allowed: Vetted | None,
    start: Planner | None,
    prior: Sequence[Fit],
    planned: Mapping[str, int] | None,
) -> Fit:
    progress(0.0, note("progress.when"))
    data = prepared(study, schema, settings, prior, planned)
    data, belief = fitted_belief(data, settings, part_of(progress, 0.02, 0.08, note("progress.how_many")))
    notes = [*([] if allowed is None else allowed.notes), *check_gain(data, settings, allowed)]
    notes += check_prior(data, settings)
    offspring, alike = fitted_offspring(data, settings, part_of(progress, 0.08, 0.14, note("progress.whom")))
    value = _learned_value(data, belief, offspring, settings, start, part_of(progress, 0.14, 0.4))
    fared = part_of(progress, 0.4, 1.0, note("progress.past_forecasts"))  # mostly more than half of the time
    past = past_forecasts(study, data.schema, settings.seed, fared)
    findings = Findings(
        study=study,
        schema=data.schema,
        history=data.history,
        small=data.small,
        n_learned_from=None if data.learned_from is data.history else LARGEST,
        belief=belief,
        pinned=None if settings.response == AUTO else settings.response,
        offspring=offspring,
        value=value.report,
        planner=value.planner,
        rules=value.rules,
        played=value.played,
        discount=settings.discount,
        merged=data.merged,
        notes=tuple(notes),
        returning=data.returning,
        undated=data.undated,
        help=None if data.earlier is None else Help(data.earlier, alike, data.return_days),
    )
    progress(1.0, DONE)
    whole = value.played is value.rules
    stored = import_module("peerfront.words.stored_text").as_data  # messages as JSON can hold them
    return Fit(
        schema=data.schema.schema,
        belief=belief,
        offspring=cast("Generator", offspring.model),  # the quick rivals can all be saved
        planner=value.planner if whole else stretched(value.planner, value.rules.budget),
        rules=value.rules,
        study_schema=schema_text(data.schema),
        data_fingerprint=fingerprint(data.history),
        settings={
            "study": study.source,
            "discount": settings.discount,
            "seed": settings.seed,
            "threads": THREADS,
            **({} if settings.prior_belief is None else {"prior_belief": settings.prior.table()}),
            "learning": _plain(asdict(value.learning)),
            **({} if study.day is None else {"day": date_text(study.day, study.numbered_days)}),
        },
        scores=findings.scores() | {"past_forecasts": past.stored(), "messages": _rounded(stored(findings.messages()))},
        returns=None if data.returning is None else data.returning.times,
        lately=usual_lately(counts_of(data.learned_from), settings.seed) if belief.misfits else None,
    )


# The value -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Value:
    """One value for all draws of the belief, and what it was learned for."""

    planner: Planner
    report: ValueReport
    rules: Rules
    played: Rules
    """The rules that were simulated: those of the study, or of a smaller problem."""
    learning: PolicyIterationSettings


def _learned_value(
    data: FitData,
    belief: Belief,
    offspring: OffspringChoice,
    settings: FitSettings,
    start: Planner | None,
    progress: Progress,
) -> _Value:
    """Learn a value in the world that draws what coupons do anew in every episode."""
    waiting = int(data.study.still_open.sum())
    people = settings.people or (waiting if waiting >= _FEW_WAITING else _USUAL_PEOPLE)
    rules = settings.rules_for(people, belief.most)
    played = smaller_problem(rules)
    learning = replace(settings, budget=played.budget).learning_for(played.people)
    first_recruits = _StudyPeople(encode_study(data.study, data.schema))
    response, generator = value_response(belief), cast("Generator", offspring.model)
    inner = BranchingWorld(f"as in {data.study.source}", data.schema.schema, response, generator, first_recruits)
    learned = learn_by_policy_iteration(
        BeliefWorld(inner, belief),
        played,
        settings.discount,
        simple_rules(response, played),
        learning,
        progress,
        _earlier(start, response, data.schema, played) if played is rules else None,
    )
    planner = Planner(planned_stories(belief, *learned_networks(learned.planner.story)), settings.discount)
    return _Value(planner, learned.report, rules, played, learning)


def _earlier(start: Planner | None, response: ResponseModel, schema: StudySchema, rules: Rules) -> Planner | None:
    """The planner of an earlier fit, with today's response; None if it cannot plan for these rules.

    It must have the same fields, a value for as many coupons and rounds, and not be stretched.
    """
    if start is None or start.schema != schema.schema or start.budget < rules.budget:
        return None
    story = start.stories[0]
    surrogate, _ = learned_networks(story)
    if surrogate.stretch != 1.0 or surrogate.rounds is None or surrogate.rounds < rules.rounds:
        return None
    fewer = replace(surrogate, weights=surrogate.weights[: rules.rounds + 1, : rules.budget + 1])
    return Planner((with_response(replace(story, weight=1.0, surrogate=fewer), response),), start.discount)


def simple_rules(response: ResponseModel, rules: Rules) -> list[Policy]:
    """Simple rules that start learning and explore; all spend everything by the last round."""
    least = sorted({max(1, round(share * rules.budget)) for share in _SHARES})
    thresholds = [AllAtLast(response, Threshold(response, c, m)) for c, m in product(_CUTOFFS, least)]
    return [*thresholds, *(Evenly(response, pace) for pace in _PACES)]


@dataclass(frozen=True, eq=False)
class _StudyPeople:
    """First recruits like the people of the study: its rows, drawn with replacement."""

    rows: Codes  # [people, fields]

    def sample(self, luck: Luck) -> Codes:
        drawn: Codes = self.rows[(luck.uniform("person of the study") * len(self.rows)).astype(np.int64)]
        return drawn


def _rounded(data: Any) -> Any:
    """Stored messages with numbers of three decimals: more could reveal single people."""
    if isinstance(data, dict):
        return {key: _rounded(value) for key, value in data.items()}
    if isinstance(data, list):
        return [_rounded(each) for each in data]
    return round(data, 3) if isinstance(data, float) else data


def _plain(settings: object) -> object:
    """Settings as lists and dicts, which survive JSON unchanged."""
    if isinstance(settings, dict):
        return {str(key): _plain(value) for key, value in settings.items()}
    return [_plain(each) for each in settings] if isinstance(settings, list | tuple) else settings
