"""Before a study starts: how many recruits each rule for coupons brings, and how it affects the study's estimates.

Whole studies are simulated on networks in which everybody's outcome is known: with the same number of coupons for
everybody, with the plan, and with plans restricted to strata or with a floor of randomisation. Every estimator is
applied to each study, and compared with the truth.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from peerfront.estimates.estimating import estimate_outcome
from peerfront.estimates.sample import UNKNOWN, Ints, Outcome, Sample
from peerfront.foundation.checked_calls import checked, checked_class
from peerfront.foundation.files import write_text
from peerfront.foundation.machine import one_thread
from peerfront.foundation.messages import DONE, Progress, Readable, note, part_of, printed, silent
from peerfront.foundation.randomness import Luck, named_luck
from peerfront.foundation.recruitment_trees import NOBODY
from peerfront.simulation.network import ReferralSample, network_studies
from peerfront.simulation.outcome_network import GROUP
from peerfront.study.design_results import (
    PER_NETWORK,
    ROW_COLUMNS,
    ROWS_FILE,
    SETTINGS_FILE,
    in_order,
    kept_rows,
    recommended,
    summarised,
)
from peerfront.study.design_worlds import (
    Arm,
    DesignSettings,
    Networks,
    TrueNetwork,
    arms_of,
    networks_for,
    rivals_of,
    widest_field,
)
from peerfront.study.model import Model, ShowProgress, load
from peerfront.study.restrictions import read_strata
from peerfront.study.study_sample import coupon_strata

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_FEWEST_RECRUITS = 20  # fewest from which anything is estimated


@checked_class
@dataclass(frozen=True, eq=False)
class Design(Readable):
    """What each rule for coupons brings and costs; returned by `design`.

    >>> result = pf.design(population=300, coupons=40, rounds=2, repetitions=2, bootstraps=5, randomise=(), effort=0.05)
    >>> list(result.rules.columns)[:3]
    ['rule', 'recruits', 'recruits_error']
    """

    _in_words = "design_words.design_lines"

    settings: DesignSettings
    repetitions: pd.DataFrame
    """One row for each study and estimator: rule, repetition, recruits, coupons, truth, estimator, estimate, low, high,
    design_effect, valid, advised (whether `estimate` would use this one)."""

    @property
    def table(self) -> pd.DataFrame:
        """For each rule and estimator: bias, root mean square error, coverage of 95% intervals, design effect."""
        return summarised(self.repetitions)[0]

    @property
    def rules(self) -> pd.DataFrame:
        """For each rule: recruits, and bias, error and coverage of the estimate that `estimate` would use."""
        return summarised(self.repetitions)[1]

    @property
    def recommended(self) -> str | None:
        """The rule that brings the most recruits without spoiling the estimate; None if all do."""
        return recommended(self.rules)

    def plot(self, *, narrow: bool = False) -> "Figure":
        """Draw recruits against the error of the estimate, a point for each rule."""
        figure: Figure = import_module("peerfront.words.design_words").design_figure(self, narrow=narrow)
        return figure


@checked
def design(
    model: Model | Path | str | None = None,
    settings: DesignSettings | None = None,
    *,
    progress: ShowProgress = False,
    **fields: Any,
) -> Design:
    """Compare rules for coupons before a study starts: recruits, and the error of its estimates.

    `fields` are those of `DesignSettings`. With a model, networks consist of people like the model's and the plan is
    the model's own; without one, both come from the assumptions.

    >>> result = pf.design(population=300, coupons=40, rounds=2, repetitions=2, bootstraps=5, randomise=(), effort=0.05)
    >>> print(result.lines()[0])
    3 each: ... recruits...
    """
    settings = DesignSettings(**fields) if settings is None else replace(settings, **fields)
    fitted = load(model) if isinstance(model, Path | str) else model
    shown = (printed if progress else silent) if isinstance(progress, bool) else progress
    parts = list(design_parts(fitted, settings, shown))
    return Design(settings, pd.concat(parts, ignore_index=True))


def design_in_folder(
    folder: Path, model: Model | None, settings: DesignSettings, *, resume: bool, progress: Progress = silent
) -> Design:
    """Run `design`, and save each network's studies in a folder as soon as they are finished.

    With `resume`, studies that the folder holds are not simulated again.
    """
    record = json.loads(json.dumps(settings_record(settings, model)))
    parts = [kept_rows(folder, record)] if resume else []
    done = {int(each) for part in parts for each in part["repetition"]}

    def is_done(network: int) -> bool:
        first = network * PER_NETWORK
        return all(each in done for each in range(first, min(first + PER_NETWORK, settings.repetitions)))

    if not (resume and (folder / SETTINGS_FILE).exists()):
        write_text(folder / SETTINGS_FILE, json.dumps(record, indent=2) + "\n")
        (folder / ROWS_FILE).unlink(missing_ok=True)
    for part in design_parts(model, settings, progress, is_done):
        parts.append(part[~part["repetition"].isin(done)])
        write_text(folder / ROWS_FILE, in_order(parts).to_csv(index=False, lineterminator="\n"))
    rows = in_order(parts)
    return Design(settings, rows[rows["repetition"] < settings.repetitions].reset_index(drop=True))


def design_parts(
    model: Model | None,
    settings: DesignSettings,
    progress: Progress = silent,
    is_done: Callable[[int], bool] = lambda network: False,
) -> Iterator[pd.DataFrame]:
    """Simulate the studies network by network and yield the rows of each; networks that are done are left out.

    The same settings give the same rows, wherever the work resumes.
    """
    count = -(-settings.repetitions // PER_NETWORK)
    left = [number for number in range(count) if not is_done(number)]
    if not left:
        return
    with one_thread():
        networks = networks_for(None if model is None else model.fit, settings)
        first = networks.draw(0)
        strata = settings.strata
        if strata is None:
            strata = (GROUP,) if model is None else (widest_field(networks, first, settings),)
        for text in strata:
            read_strata(text, networks.schema)  # refuses unknown fields before anything is learned
        progress(0.0, note("design.learning"))
        planner = networks.planner(settings.rules, part_of(progress, 0.0, 0.1))
        rivals = rivals_of(networks, settings.rules, settings.seed)
        arms = arms_of(planner, networks.schema, rivals, strata, settings.randomise)
        for arm in arms:
            if arm.columns:
                arm.strata(first, networks.schema)
        for number in left:
            network = first if number == 0 else networks.draw(number)
            first_one = number * PER_NETWORK
            these = range(first_one, min(first_one + PER_NETWORK, settings.repetitions))
            begin, end = (0.1 + 0.9 * (number + more) / count for more in (0, 1))
            shown = part_of(progress, begin, end, note("design.network", number=number + 1, count=count))
            yield apply_rules(arms, network, networks, settings, list(these), shown)
        progress(1.0, DONE)


def apply_rules(
    arms: list[Arm],
    network: TrueNetwork,
    networks: Networks,
    settings: DesignSettings,
    repetitions: list[int],
    progress: Progress,
) -> pd.DataFrame:
    """Apply all rules to one network, with the same people and luck; return the estimates of every study."""
    luck = named_luck(("design", settings.seed), max(repetitions) + 1)
    own = Luck(luck.keys[repetitions])
    rows: list[pd.DataFrame] = []
    for number, arm in enumerate(arms):
        progress(number / len(arms), arm.name)
        studies = network_studies(network.world, arm.policy, settings.rules, own, settings.sample)
        strata = arm.strata(network, networks.schema) if arm.columns else None
        for place, (repetition, study) in enumerate(zip(repetitions, studies, strict=True)):
            progress((number + place / len(studies)) / len(arms), arm.name)
            rows.append(_estimated(arm, network, study, strata, settings, repetition))
    return pd.concat(rows, ignore_index=True)


def _estimated(
    arm: Arm,
    network: TrueNetwork,
    study: ReferralSample,
    strata: tuple[Ints, tuple[str, ...]] | None,
    settings: DesignSettings,
    repetition: int,
) -> pd.DataFrame:
    society, who = network.world.society, study.members
    n_recruits = int((study.recruiter != NOBODY).sum())
    about: dict[str, Any] = {
        "rule": arm.name,
        "repetition": repetition,
        "recruits": n_recruits,
        "coupons": int(np.maximum(study.coupons, 0).sum()),
        "truth": network.truth,
    }
    has = network.has[who]
    if n_recruits < _FEWEST_RECRUITS or has.all() or not has.any():
        empty = {"estimator": "", "estimate": np.nan, "low": np.nan, "high": np.nan, "design_effect": np.nan}
        return pd.DataFrame([about | empty | {"valid": False, "advised": False}], columns=list(ROW_COLUMNS))
    coupons = study.coupons
    if arm.is_constant:  # people for whom coupons ran out got fewer, whoever they are
        coupons = np.where(coupons == UNKNOWN, UNKNOWN, coupons.max())
    if strata is not None:
        stratum, names = strata[0][who], strata[1]
    elif arm.is_constant:
        stratum, names = np.zeros(len(who), dtype=np.int64), ("everybody",)
    else:
        recruits = np.bincount(study.recruiter[study.recruiter != NOBODY], minlength=len(who))
        stratum, names, _ = coupon_strata(coupons, recruits)
    sample = Sample(
        study.recruiter,
        study.recruiter == NOBODY,
        np.maximum(society.degrees[who], 1).astype(np.float64),
        np.arange(len(who)),
        coupons,
        stratum,
        names,
    )
    estimates = estimate_outcome(
        sample, Outcome("outcome", has.astype(np.float64), ("no", "yes")),
        population=settings.population, bootstraps=settings.bootstraps, seed=repetition,
    )  # fmt: skip
    rows = estimates.table[estimates.table["category"] == "yes"]
    table = rows[["estimator", "estimate", "low", "high", "design_effect", "valid"]].assign(
        **about, advised=rows["estimator"] == estimates.verdict.best
    )
    return table[list(ROW_COLUMNS)].reset_index(drop=True)


def settings_record(settings: DesignSettings, model: Model | None) -> dict[str, Any]:
    """The settings that must be unchanged to resume a design: all but the number of repetitions."""
    record = asdict(settings) | {"model": "" if model is None else model.fit.fingerprint}
    del record["repetitions"]
    return {name: list(value) if isinstance(value, tuple) else value for name, value in record.items()}
