"""The coupon sheet: who gets how many coupons now and why, what other numbers would bring, and how good the plan is.

`plan_coupons` checks the order, plans the round, plays the rest of the study with the fitted models, and bounds what
any plan could expect. `CouponSheet` carries the result as tables, sentences and a picture.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerfront.bounds.certificate import Certificate, certify_by_story
from peerfront.foundation.covariates import Kinds
from peerfront.foundation.errors import SettingError
from peerfront.foundation.files import check_output, write_bytes, write_csv
from peerfront.foundation.randomness import named_luck
from peerfront.foundation.spreadsheets import csv_text
from peerfront.foundation.threads import one_thread
from peerfront.foundation.words import as_html
from peerfront.gfp.backup import Array
from peerfront.gfp.planner import Planner
from peerfront.gfp.updating import LearningWorth
from peerfront.problem import Allocation, BulkPolicy, Frontier
from peerfront.study.artifacts import Fit
from peerfront.study.decisions import AT_RANDOM, BY_LOT, BY_PLAN, decide
from peerfront.study.heading import Heading
from peerfront.study.orders import PlanOrder, Task, task_of
from peerfront.study.population import said_of, with_population
from peerfront.study.reasons import Draw, Facts, Reason, ReasonCode, alike, reasons_of
from peerfront.study.restrictions import Cost, costs_of, planned_within, restriction_of
from peerfront.study.spend_curve import curve_of, is_whole, spend_curve
from peerfront.study.stories import (
    SheetFirst,
    StoryResult,
    can_be_simulated,
    last_round,
    ordered_planner,
    results_of,
    story_table,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_EPISODES, _SIMULATED_PEOPLE = 400, 100_000
WORKBOOK, PDF, CSV = ".xlsx", ".pdf", ".csv"
"""What a sheet can be written as."""
_NOT_WRITTEN = (".xls", ".xlsm", ".xlsb", ".xltx", ".ods")


@dataclass(frozen=True, eq=False)
class CouponSheet:
    """Who gets how many coupons this round, why, and how good that is. `Model.plan` makes it.

    >>> sheet = model.plan(study.waiting, budget=20)
    >>> int(sheet.table["coupons"].sum()) == sheet.spend <= 20
    True
    >>> list(sheet.table.columns)
    ['person', 'coupons', 'chance_used', 'expected_now', 'expected_later', 'decided_by', 'probability', 'reason']
    >>> print(sheet.lines()[0])
    Give out ... coupons to ... people; ...
    """

    table: pd.DataFrame
    """person, coupons, chance_used (of each coupon), expected_now, expected_later, decided_by (plan, lot or random),
    probability (that this person got this number, before lots and random numbers were drawn), stratum (if coupons may
    differ only between strata), reason (a `Reason`: data, and as text a sentence or two); in the frontier's order."""
    spend: int
    """Coupons given out this round."""
    order: PlanOrder
    curve: pd.DataFrame
    """spend, value: recruits expected in all, by the plan's own value, for every spend that was evaluated."""
    certificates: Mapping[str, Certificate]
    """What no plan can expect to exceed, by each story of what a coupon does; empty where nothing is to decide."""
    by_story: tuple[StoryResult, ...]
    """What the plan brings by each story that is left, the most believed first; empty where the rest of the
    study is too large to simulate."""
    expected: float
    """Recruits expected in all, discounted, if later rounds are planned too, averaged over the stories: simulated, or
    `promised` if that is too large."""
    expected_error: float | None
    """Its standard error (0 in the last round, which needs no simulation); None if `promised` stands in."""
    promised: float
    """The same by the plan's own value."""
    discount: float
    rounds_left: int
    notes: tuple[str, ...]
    gap: float | None = None
    """Planned by a common price of a coupon: the share by which `promised` can be below the best plan's own value, at
    most. None where coupons were given out one by one (exact greedy)."""
    learning: tuple[LearningWorth, ...] = ()
    """What random numbers of coupons for some of the people would bring, if the order asked; else empty."""
    costs: tuple[Cost, ...] = ()
    """Recruits that strata and random numbers cost, beside a plan without them; empty where the order has neither."""
    study: str = ""
    """Name of the file that the model was fitted to, if the model tells."""
    model_fingerprint: str = ""
    """Checksum of the model, as its manifest has it."""
    warnings: tuple[str, ...] = ()
    """What the model's own summary warns of."""
    chances: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """By stratum: everybody's chance of 0, 1, ... coupons; empty where coupons do not differ by strata."""

    @property
    def why(self) -> "pd.Series[str]":
        """The reason for each person's number of coupons in a sentence or two, by person."""
        return self.table.set_index("person")["reason"].map(str)

    def lines(self) -> list[str]:
        """What a coordinator reads below the table, one statement a line."""
        from peerfront.study.sheet_words import lines_of

        return lines_of(self)

    @property
    def stories(self) -> pd.DataFrame:
        """One row for each story: name, weight, now (recruits of this round), expected (recruits in all), error, regret
        (what knowing it would add), regret_error."""
        return story_table(self.by_story)

    @property
    def certificate(self) -> Certificate | None:
        """What no plan can expect to exceed by the story that is believed most; None where nothing is to decide."""
        return next(iter(self.certificates.values()), None)

    def csv(self) -> str:
        """The table as the text of a CSV file."""
        table = self.table.copy()
        table["probability"] = [f"{each:.6g}" for each in table["probability"]]  # estimates need it exactly
        table["reason"] = table["reason"].map(str)
        return csv_text(table, float_format="%.3f")

    def excel(self, heading: Heading | None = None) -> bytes:
        """An Excel workbook to print and fill in, as the bytes of a file; `heading` says study, date and round."""
        from peerfront.study.printed_sheet import sheet_workbook

        return sheet_workbook(self, heading or Heading())

    def pdf(self, heading: Heading | None = None) -> bytes:
        """The sheet to print and fill in as the bytes of a PDF; `heading` says study, date and round."""
        from peerfront.study.sheet_pdf import sheet_pdf

        return sheet_pdf(self, heading or Heading())

    def save(self, path: Path | str, heading: Heading | None = None, *, overwrite: bool = False) -> None:
        """Write the sheet: `.xlsx` or `.pdf` to print and fill in, `.csv` for the table alone.

        The file holds participants' ids; a new one can be read by its owner alone.

        >>> sheet = model.plan(study.waiting, budget=20)
        >>> sheet.save("sheet.xlsx", pf.Heading("Harbour study", "2026-03-02", round=4))
        """
        path = Path(path)
        kind = sheet_kind(path)
        check_output(path, overwrite=overwrite)
        if kind == WORKBOOK:
            write_bytes(path, self.excel(heading), private=True)
        elif kind == PDF:
            write_bytes(path, self.pdf(heading), private=True)
        else:
            write_csv(path, self.csv(), private=True)

    def plot(self) -> "Figure":
        """Draw the recruits expected in all against the coupons given out this round."""
        figure: Figure = import_module("peerfront.words.report_figures").curve_figure(self)
        return figure

    def __str__(self) -> str:
        return "\n".join([self.table.drop(columns="reason").to_string(index=False), "", *self.lines()])

    def _repr_html_(self) -> str:
        return as_html(self.lines(), self.table)


def sheet_kind(path: Path) -> str:
    """What a sheet of this name is: a workbook (`.xlsx`), a PDF, or else CSV; other spreadsheets are refused."""
    ending = path.suffix.lower()
    if ending in _NOT_WRITTEN:
        raise SettingError(
            f"{path.name} ends in {ending}; sheets are written as .xlsx or .pdf (to print) or .csv (for machines). "
            f"Name it {path.stem}.xlsx."
        )
    return ending if ending in (WORKBOOK, PDF) else CSV


@one_thread()
def plan_coupons(
    fit: Fit, frontier: Frontier, order: PlanOrder, coming: Mapping[str, Array] | None = None
) -> CouponSheet:
    """Plan one round. The same fit, people and order give the same sheet, byte for byte.

    `coming` is what recruits still to come from open coupons leave uncovered, by story (`Planner.with_coming`). What
    the sheet expects is then of its own coupons: recruits of open ones are the forecast's business.
    """
    fit, frontier = with_population(fit, frontier, order)
    task, people = task_of(fit, frontier, order), [str(person) for person in frontier.ids.tolist()]
    if task.nothing_because:
        return _nothing(fit, task, people)
    afterwards = ordered_planner(fit, task)
    planner = afterwards if coming is None else afterwards.with_coming(coming)
    decision = decide(fit, planner, task, every_spend=is_whole(task))
    plan = decision.plan
    kinds = alike(frontier.covariates, plan.allocation.coupons)
    tables = planner.tables(kinds.rows[:, :-1].astype(np.int16), task.state.most_per_person)
    facts = Facts.of(fit, planner, task, plan, kinds, tables)
    table = _table(people, kinds, tables.gains, facts.later, reasons_of(facts))
    table.insert(5, "decided_by", decision.decided_by)
    table.insert(6, "probability", decision.probability.round(6))
    restriction = restriction_of(order, fit.schema)
    if decision.stratum:
        table.insert(7, "stratum", pd.Series(list(decision.stratum), dtype=object))
        reasons = zip(table["coupons"].tolist(), decision.stratum, decision.decided_by.tolist(), strict=True)
        table["reason"] = _objects([_reason_in_stratum(*each) for each in reasons])
    elif (decision.decided_by != BY_PLAN).any():
        draws = zip(table["reason"], decision.decided_by.tolist(), decision.tied_with.tolist(), strict=True)
        table["reason"] = _objects([_with_draw(*each, order) for each in draws])
    curve = curve_of(plan.values) if restriction.is_any else spend_curve(planner, task, plan)
    later = restriction.policy(afterwards)
    results = _simulated(fit, afterwards, later, task, plan.allocation, decision.planned)
    costs = costs_of(
        fit, planner, task, restriction, decision.planned, named_luck(("sheet",), _episodes(task)),
        lambda step: planned_within(planner, task, step).value, decision.free_value,
    )  # fmt: skip
    expected, error = _average(results) if results else (plan.value, None)
    return CouponSheet(
        table=table,
        spend=plan.spend,
        order=order,
        curve=curve,
        certificates=certify_by_story(fit.responses, fit.offspring, fit.schema, fit.discount, task.state),
        by_story=tuple(results),
        expected=expected,
        expected_error=error,
        promised=plan.value,
        discount=fit.discount,
        rounds_left=task.state.rounds_left,
        notes=(*decision.notes, *said_of(fit), *(cost.sentence for cost in costs), *task.notes),
        gap=plan.gap,
        learning=decision.learning,
        costs=costs,
        chances=decision.chances,
        **_known_of(fit),
    )


def _nothing(fit: Fit, task: Task, people: Sequence[str]) -> CouponSheet:
    """A sheet on which nobody gets anything, and which says why."""
    order, why = task.order, task.nothing_because
    assert why is not None, "otherwise something is planned"
    alike_all = Kinds(np.zeros((1, 1), np.int64), np.zeros(len(people), np.int64), np.array([len(people)]))
    table = _table(people, alike_all, np.zeros((1, 1)), np.zeros(1), [Reason(ReasonCode.NOTHING, because=why.code)])
    left = fit.rules.rounds if order.rounds_left is None else order.rounds_left
    curve = pd.DataFrame({"spend": [0], "value": [0.0]})
    table.insert(5, "decided_by", BY_PLAN)
    table.insert(6, "probability", 1.0)
    notes = (f"Nothing to give out: {why}.", *task.notes)
    return CouponSheet(table, 0, order, curve, {}, (), 0.0, None, 0.0, fit.discount, left, notes, **_known_of(fit))


def _known_of(fit: Fit) -> dict[str, Any]:
    """What a sheet says about its model."""
    summary = (str(line) for line in fit.scores.get("summary", ()))
    return {
        "study": str(fit.settings.get("study", "")),
        "model_fingerprint": fit.fingerprint,
        "warnings": tuple(line for line in summary if line.startswith("Warning")),
    }


def _table(people: Sequence[str], kinds: Kinds, gains: Array, later: Array, reasons: Sequence[Reason]) -> pd.DataFrame:
    """One row per person; gains, `later` and `reasons` are by kind (of answers and coupons)."""
    coupons, kind = kinds.rows[:, -1], kinds.kind
    used = np.where(np.arange(gains.shape[1]) < coupons[:, None], gains, 0.0)
    chances = [
        " ".join(f"{chance:.0%}" for chance in _padded(row, count))
        for row, count in zip(gains, coupons.tolist(), strict=True)
    ]
    return pd.DataFrame(
        {
            "person": pd.Series(list(people), dtype=object),
            "coupons": coupons[kind],
            "chance_used": pd.Series(np.array(chances, dtype=object)[kind], dtype=object),
            "expected_now": used.sum(axis=1).round(3)[kind],
            "expected_later": later.round(3)[kind],
            "reason": _objects(reasons)[kind],
        }
    )


def _objects(values: Sequence[object]) -> NDArray[np.object_]:
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def _padded(row: Array, count: int) -> list[float]:
    """Chances of `count` coupons; those beyond the table are never used."""
    return [*row[:count].tolist(), *([0.0] * (count - len(row)))]


def _reason_in_stratum(coupons: int, stratum: str, decided_by: str) -> Reason:
    if decided_by == AT_RANDOM:
        return Reason(ReasonCode.RANDOM, coupons)
    code = ReasonCode.STRATUM_LOT if decided_by == BY_LOT else ReasonCode.STRATUM
    return Reason(code, coupons, stratum=stratum)


def _with_draw(reason: Reason, decided_by: str, tied_with: int, order: PlanOrder) -> Reason:
    """The reason, with what was left to chance."""
    if decided_by == BY_LOT:
        return replace(reason, draw=Draw.LOT, tied_with=tied_with)
    if decided_by == BY_PLAN:
        return reason
    return replace(reason, draw=Draw.TO_LEARN) if order.learn is not None else Reason(ReasonCode.RANDOM, reason.coupons)


def _episodes(task: Task) -> int:
    state = task.state
    return int(np.clip(_SIMULATED_PEOPLE // (len(state.frontier) + state.remaining_budget), 40, _EPISODES))


def _simulated(
    fit: Fit, planner: Planner, later: BulkPolicy, task: Task, sheet: Allocation, planned: Allocation
) -> list[StoryResult]:
    """The rest of the study, played to its end by every story; empty if that takes too long.

    `later` decides the rounds after the sheet's.
    """
    state = task.state
    if state.rounds_left > 1 and not can_be_simulated(state):
        return []
    episodes = _episodes(task)
    plan = SheetFirst(planned, planner)
    as_planned = later is planner and (sheet.coupons == planned.coupons).all()
    handed_out = plan if as_planned else SheetFirst(sheet, later)
    alone: dict[str, SheetFirst] = {}
    for name in fit.responses:
        knowing = replace(fit.planner.only(name), least_per_person=planner.least_per_person)
        is_same = [story.name for story in planner.stories] == [name]
        alone[name] = plan if is_same else SheetFirst(knowing.plan(state, every_spend=False).allocation, knowing)
    if state.rounds_left == 1:  # nothing is left to chance but the counts, whose means are known
        return last_round(fit, state, sheet, planned, {name: policy.sheet for name, policy in alone.items()})
    return results_of(fit, state, handed_out, plan, alone, named_luck(("sheet",), episodes))


def _average(results: Sequence[StoryResult]) -> tuple[float, float]:
    """Recruits averaged over the stories, and the standard error; all are played with the same luck."""
    return sum(each.weight * each.expected for each in results), sum(each.weight * each.error for each in results)
