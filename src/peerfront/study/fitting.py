"""Fit models and a planner to a checked study, and summarise them in words.

Where dates suffice, return times are fitted first (`returning`): coupons that are still open then count for as long as
they were out, instead of as failures. Otherwise all coupons count as finished, or as `still_open` says.

Capacity and offspring models are fitted to the study and chosen by held-out scores; then a value that knows the
deadline is learned in the world these models make. First recruits of that world are drawn, with replacement, from the
study's own people; their rows are used while learning and are not part of what is saved. For more people and coupons
than can be simulated the value is learned for fewer, and stretched (`gfp.learning`).

A small study says little, and more flexible models would only repeat it by heart: with few people the capacity model
is linear and strongly drawn to "everybody is alike", and the generator is the inheritance table.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from peerfront.baselines.simple_rules import AllAtLast, Evenly, Threshold
from peerfront.data.calendar.dates import date_text
from peerfront.data.columns.column_findings import Vetted
from peerfront.data.columns.schema_guess import private_schema
from peerfront.data.schema_file import schema_text
from peerfront.data.study import Study
from peerfront.data.study_schema import StudySchema, encode_study, history_of
from peerfront.foundation.covariates import Codes
from peerfront.foundation.errors import DataFileError, SettingError
from peerfront.foundation.progress import Progress, part_of, silent
from peerfront.foundation.randomness import Luck, named_generator
from peerfront.foundation.threads import THREADS, one_thread
from peerfront.foundation.words import n_people, percent
from peerfront.gfp.learning import ValueReport, smaller_problem, stretched
from peerfront.gfp.planner import Planner
from peerfront.gfp.policy_iteration import learn_by_policy_iteration
from peerfront.gfp.story import Story
from peerfront.gfp.surrogate import learned_networks, with_response
from peerfront.models.offspring.generator_choice import QUICK_RIVALS, fit_offspring
from peerfront.models.response.learned_response import LearnedResponse
from peerfront.models.response.private_response import private_response
from peerfront.models.response.response_fit import LINEAR, ResponseSettings
from peerfront.models.response.response_stories import StoryFit, StoryWeights, fit_stories, weigh
from peerfront.problem import BranchingWorld, History, Policy, ResponseModel, Rules
from peerfront.study.artifacts import Fit, fingerprint
from peerfront.study.earlier_studies import (
    FEWEST_WITH_EARLIER,
    Alone,
    EarlierStudies,
    Help,
    own_is_better,
    return_settings,
)
from peerfront.study.findings import Findings
from peerfront.study.fit_settings import AUTO, FitSettings
from peerfront.study.fit_summary import summary_of
from peerfront.study.implausible_gain import ONLY_IF_KNOWN, implausible_gain, stopped_by_gain
from peerfront.study.returning import fitted_returns
from peerfront.study.stories import IN_WORDS

if TYPE_CHECKING:
    from peerfront.models.stored_models import Generator

FEWEST = 10
"""Finished coupon holders below which nothing is fitted."""
FEW = 50
"""Below this many people a study is small: simple models, and a warning."""
NETWORK_PAIRS = 500
"""Pairs below which whom people bring is a table: networks learn from single pairs, and could repeat them."""
LARGEST = 10_000
"""People and pairs that models are fitted to; of a larger study as many are drawn at random."""
_USUAL_PEOPLE = 20
_FEW_WAITING = 10  # fewer with open coupons do not say how many wait at once
# Grids of simple rules: cutoffs of a threshold, its least spend as shares of the budget, and even paces.
_CUTOFFS = (0.1, 0.3, 0.5, 0.7, 0.9)
_SHARES = (0.04, 0.12, 0.3)
_PACES = (0.5, 0.75, 1.0, 1.5, 2.0)
_STRONG_PENALTIES = (100.0, 10.0, 1.0)


def fit_study(
    study: Study,
    schema: StudySchema,
    settings: FitSettings,
    progress: Progress = silent,
    allowed: Vetted | None = None,
    start: Planner | None = None,
    prior: Sequence[Fit] = (),
) -> Fit:
    """Fit models and planner to the study. One that is too small is refused, with what can still be said of it.

    Columns that together predict recruits implausibly well stop the fit, unless the settings accept that or the schema
    says `use = true` of a column that does so by itself (`allowed`, which also brings its warnings).

    What comes out may leave the house: models know only categories that at least five people share, tables of whom
    people bring are made from rounded counts, and findings tell no count under five. The same study gives the same
    fit, to the last bit, whatever the number of threads.

    `start` is the planner of an earlier fit of the same study: shapes of its models are kept, learning starts from it
    and may keep its value, so that fewer simulations do. `prior` are models of earlier studies, which help as far as
    they agree with each other and with this one (`earlier_studies`): with them a study of a few people can be fitted.
    """
    with one_thread(training=True):
        return _fitted(study, schema, settings, progress, allowed, start, prior)


def _fitted(
    study: Study,
    schema: StudySchema,
    settings: FitSettings,
    progress: Progress,
    allowed: Vetted | None,
    start: Planner | None,
    prior: Sequence[Fit],
) -> Fit:
    asked, (schema, merged) = schema, private_schema(study, schema)
    progress(0.0, "when people return")
    expected, lag = return_settings(prior)
    returning, undated = fitted_returns(study, expected if prior else None)
    exposure = None if returning is None else returning.exposure
    history = history_of(study, schema, exposure)
    n_holders = int((history.coupons > 0).sum())
    earlier: EarlierStudies | None = None
    helped: _Helped | None = None
    if prior:
        if n_holders < FEWEST_WITH_EARLIER:
            raise DataFileError(_why_too_small(study, n_holders, FEWEST_WITH_EARLIER))
        if fingerprint(history) in {each.data_fingerprint for each in prior}:
            raise SettingError(
                f"An earlier model (--prior) was fitted to {study.source} itself. Leave it out: it would count twice."
            )
        earlier = EarlierStudies.of(prior, study, asked, schema, merged)
    elif n_holders < FEWEST or not len(history.parents):
        raise DataFileError(_why_too_small(study, n_holders, FEWEST))
    evidence = n_holders if history.exposure is None else float(history.exposure.sum())
    small = len(study) < FEW or evidence < FEW
    learned_from = _at_most(history, LARGEST, settings.seed)
    counting = part_of(progress, 0.02, 0.28, "how many people bring")
    how = response_settings(small, start)
    alone = n_holders >= FEWEST and len(history.parents) > 0
    fitted = fit_stories(learned_from, how, counting) if alone else ()
    if earlier is not None and len(learned_from.coupons) == len(history.coupons):
        private = {story.name: private_response(story.response, learned_from, how.doubt) for story in fitted}
        helped = _helped(study, earlier, exposure, n_holders, Alone(fitted, private, schema) if fitted else None)
        better, gain, error = own_is_better(fitted, helped.fitted) if fitted else (False, 0.0, 0.0)
        if better:
            helped = replace(helped, help=replace(helped.help, behind=(gain, error)))
        else:
            schema, merged, history = helped.studies.schema, helped.studies.merged, helped.history
            learned_from, fitted = history, helped.fitted
    notes = [] if allowed is None else [f"Warning: {each}" for each in allowed.notes]
    reason = implausible_gain(fitted, learned_from)
    if reason:
        knowingly = settings.accept_gain or (allowed is not None and bool(allowed.accepted))
        if not knowingly:
            raise DataFileError(stopped_by_gain(study.source, reason, learned_from))
        notes.append(f"Warning: {reason}. Plans rest on it: {ONLY_IF_KNOWN}")
    weighed = _pinned(fitted, settings.response) if settings.response != AUTO else weigh(fitted)
    if helped is not None and helped.help.used and helped.help.level is not None and settings.response == AUTO:
        weighed = helped.studies.weigh(weighed, helped.help.level.prior_share)
    weighed = replace(weighed, weights=_rounded(weighed.weights), stacked=_rounded(weighed.stacked))
    if helped is not None and helped.help.used:
        responses = {story.name: story.response for story in fitted}  # rounded already
    else:
        responses = {story.name: private_response(story.response, learned_from, how.doubt) for story in fitted}
    rivals = ("inheritance",) if len(learned_from.parents) < NETWORK_PAIRS else QUICK_RIVALS
    generating = part_of(progress, 0.3, 0.34, "whom they bring")
    if helped is not None and helped.help.used and len(rivals) == 1:
        offspring, alike = helped.studies.offspring(study, history)
        helped = replace(helped, help=replace(helped.help, alike=alike, times=lag))
    else:
        offspring = fit_offspring(learned_from, seed=settings.seed, rivals=rivals, progress=generating, private=True)
    generator = cast("Generator", offspring.model)  # the quick rivals can all be saved
    waiting = int(study.still_open.sum())
    people = settings.people or (waiting if waiting >= _FEW_WAITING else _USUAL_PEOPLE)
    most_shown = fitted[0].response.most_shown
    assert most_shown is not None, "a new fit knows what people had"
    rules = settings.rules_for(people, most_shown)
    played = smaller_problem(rules)
    learning = replace(settings, budget=played.budget).learning_for(played.people)
    stories = sorted(weighed.weights.items(), key=lambda pair: -pair[1])
    first_recruits = _StudyPeople(encode_study(study, schema))
    told: list[Story] = []
    reports: dict[str, ValueReport] = {}
    for number, (name, weight) in enumerate(stories):
        model = responses[name]
        begin, end = (0.34 + 0.65 * (number + more) / len(stories) for more in (0, 1))
        world = BranchingWorld(f"as in {study.source}", schema.schema, model, generator, first_recruits)
        learned = learn_by_policy_iteration(
            world,
            played,
            settings.discount,
            simple_rules(model, played),
            learning,
            part_of(progress, begin, end, "" if len(stories) == 1 else f"value if {IN_WORDS[name]}"),
            _earlier(start, name, model, schema, played) if played is rules else None,
        )
        told.append(replace(learned.planner.story, weight=weight, name=name))
        reports[name] = learned.report
    planner = Planner(tuple(told), settings.discount)
    findings = Findings(
        study=study,
        schema=schema,
        history=history,
        small=small,
        n_learned_from=None if learned_from is history else LARGEST,
        responses=responses,
        stories=weighed,
        offspring=offspring,
        values=reports,
        planner=planner,
        rules=rules,
        played=played,
        discount=settings.discount,
        merged=merged,
        notes=tuple(notes),
        returning=returning,
        undated=undated,
        help=None if helped is None else helped.help,
    )
    progress(1.0, "done")
    return Fit(
        schema=schema.schema,
        offspring=generator,
        planner=planner if played is rules else stretched(planner, rules.budget),
        rules=rules,
        study_schema=schema_text(schema),
        data_fingerprint=fingerprint(history),
        settings={
            "study": study.source,
            "discount": settings.discount,
            "seed": settings.seed,
            "threads": THREADS,
            "learning": _plain(asdict(learning)),
            **({} if study.day is None else {"day": date_text(study.day, study.numbered_days)}),
        },
        scores=findings.scores() | {"summary": list(summary_of(findings))},
        returns=None if returning is None else returning.times,
    )


@dataclass(frozen=True, eq=False)
class _Helped:
    """A study as earlier ones help it."""

    studies: EarlierStudies
    history: History
    fitted: tuple[StoryFit, ...]
    help: Help


def _helped(
    study: Study,
    earlier: EarlierStudies,
    exposure: NDArray[np.float64] | None,
    n_holders: int,
    alone: Alone | None,
) -> _Helped:
    history = history_of(study, earlier.schema, exposure)
    stories, fitted = earlier.responses(study, history, alone)
    best = stories[max(fitted, key=lambda story: float(story.held_out.sum())).name]
    return _Helped(earlier, history, fitted, Help(earlier, n_holders, best.level, best.slope, best.believed))


def _earlier(
    start: Planner | None, name: str, response: ResponseModel, schema: StudySchema, rules: Rules
) -> Planner | None:
    """The planner of an earlier fit for one story, with today's response; None if it cannot plan for these rules.

    It must know people by the same fields, have a value for as many coupons and rounds, and not be stretched.
    """
    story = None if start is None else next((each for each in start.stories if each.name == name), None)
    if start is None or story is None or start.schema != schema.schema or start.budget < rules.budget:
        return None
    surrogate, _ = learned_networks(story)
    if surrogate.stretch != 1.0 or surrogate.rounds is None or surrogate.rounds < rules.rounds:
        return None
    fewer = replace(surrogate, weights=surrogate.weights[: rules.rounds + 1, : rules.budget + 1])
    return Planner((with_response(replace(story, weight=1.0, surrogate=fewer), response),), start.discount)


def _why_too_small(study: Study, n_holders: int, fewest: int) -> str:
    """Why a study is refused, and what it shows all the same."""
    issued, used = int(study.issued.sum()), int(np.minimum(study.recruits, study.issued).sum())
    fault = (
        f"only {n_people(n_holders)} had coupons whose counts can be used; at least {fewest} are needed"
        if n_holders < fewest
        else "nobody's recruiter is known, so it does not show whom people bring"
    )
    words = f"{study.source} is too small to fit: {fault}. What can be said: {n_people(len(study))}"
    if issued:
        words += f"; {used} of {issued:,} coupons were used ({percent(used / issued)})"
    else:
        words += ", and no coupons issued"
    advice = " Until there is more, give everybody the same number of coupons and keep some for later rounds."
    waiting = int(study.still_open.sum())
    more = f" {waiting} people's coupons count as still open: see still_open in the schema file." if waiting else ""
    return f"{words}.{advice}{more}"


def response_settings(small: bool, start: Planner | None = None) -> ResponseSettings:
    """Everything there is to choose from; for a small study one linear shape, drawn to "everybody is alike".

    Where there is an earlier planner, its models' shapes are kept: choosing takes most of the time. The seed is always
    the same: which columns count must depend on the study, not on how its rows are split.
    """
    if small:
        return ResponseSettings(shapes=(LINEAR,), penalties=_STRONG_PENALTIES)
    if start is None:
        return ResponseSettings()
    shapes = dict.fromkeys(cast(LearnedResponse, story.response).rates.shape for story in start.stories)
    return ResponseSettings(shapes=tuple(shape for shape in ResponseSettings().shapes if shape in shapes) or (LINEAR,))


def _rounded(weights: Mapping[str, float]) -> dict[str, float]:
    """Weights of stories with two decimals: more would tell about single people."""
    parts = {name: max(round(weight, 2), 0.01) for name, weight in weights.items()}
    return {name: part / sum(parts.values()) for name, part in parts.items()}


def simple_rules(response: ResponseModel, rules: Rules) -> list[Policy]:
    """Heuristics that initialise learning and explore: rules that spend everything by the last round."""
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


def _pinned(fitted: Sequence[StoryFit], story: str) -> StoryWeights:
    """Believe one story, because the user knows it; what the study alone would say is kept."""
    names = [each.name for each in fitted]
    if story not in names:
        raise SettingError(f"The story {story!r} cannot be fitted to this study; it knows {', '.join(names)}.")
    return replace(weigh(fitted), weights={story: 1.0}, pinned=story)


def _at_most(history: History, rows: int, seed: int) -> History:
    """The history, or as many of its triples and pairs, drawn at random."""
    if len(history.coupons) <= rows and len(history.parents) <= rows:
        return history
    rng = named_generator("rows to learn from", seed)
    triples, pairs = (np.sort(rng.permutation(count)[:rows]) for count in (len(history.coupons), len(history.parents)))
    return history.part(triples, pairs)


def _plain(settings: object) -> object:
    """Settings as lists and tables, which is what JSON can hold and give back unchanged."""
    if isinstance(settings, dict):
        return {str(key): _plain(value) for key, value in settings.items()}
    return [_plain(each) for each in settings] if isinstance(settings, list | tuple) else settings
