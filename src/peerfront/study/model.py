"""A model of a study: one object that plans, forecasts, reports, and is saved and loaded."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from peerfront.data.reading import read_frontier
from peerfront.data.schema_file import parse_schema, read_schema
from peerfront.data.study import Study
from peerfront.data.study_schema import StudySchema
from peerfront.foundation.checked_calls import checked, checked_class
from peerfront.foundation.errors import DataFileError, SettingError
from peerfront.foundation.messages import Progress, Readable, note, printed, silent
from peerfront.foundation.settings import whole_number
from peerfront.problem import Frontier
from peerfront.study.artifacts import Fit, load_fit
from peerfront.study.coupon_sheet import Heading
from peerfront.study.orders import PlanOrder, task_of
from peerfront.study.study_folder import logged_checksum
from peerfront.study.study_state import AT_ONCE, Standing, standing_today
from peerfront.study.week_changes import read_running_study

if TYPE_CHECKING:
    from peerfront.data.columns.schema_guess import Guess
    from peerfront.study.advice import Advice
    from peerfront.study.coupon_sheet import CouponSheet
    from peerfront.study.fit_settings import FitSettings
    from peerfront.study.outlook import Outlook

People = Frontier | pd.DataFrame | Path | str
"""The people who wait for coupons: a frontier, or a table or CSV file with an id and the columns of the schema."""
ShowProgress = bool | Progress
"""True to print progress on standard error, or a function that is called with it."""


@dataclass(frozen=True, eq=False)
class FitSummary(Readable):
    """The findings of a fit, for people to read."""

    _in_words = "fit_words.summary_lines"
    _details_in_words = "fit_words.summary_details"

    fit: Fit


@checked_class
@dataclass(frozen=True, eq=False, repr=False)
class Model:
    """How the people of a study refer, and a planner that uses it. `fit` makes a model, `load` reads a saved one.

    >>> model  # pf.fit(study, budget=20, rounds=2)
    Model(budget=20, rounds=2, max_per_person=3)
    >>> sheet = model.plan(study.waiting)  # sheet.table, sheet.why, sheet.curve, sheet.certificate
    >>> sheet.spend <= 20
    True
    """

    fit: Fit
    """The fitted models and the planner, as they are saved."""

    def plan(
        self,
        people: Study | People,
        budget: float | PlanOrder | None = None,
        *,
        as_of: str | None = None,
        **limits: Any,
    ) -> "CouponSheet":
        """Decide who gets how many coupons this round. Arguments as in `advise`.

        >>> sheet = model.plan(study.waiting, budget=12, max_per_person=2)
        >>> sheet.spend <= 12, bool((sheet.table["coupons"] <= 2).all())
        (True, True)
        """
        return self.advise(people, budget, as_of=as_of, **limits).sheet

    def forecast(
        self,
        people: Study | People,
        budget: float | PlanOrder | None = None,
        *,
        already: float = 0,
        as_of: str | None = None,
        episodes: float | None = None,
        progress: ShowProgress = False,
        **limits: Any,
    ) -> "Outlook":
        """Simulate the rest of the study, under the plan and under simple rules. Arguments as in `advise`.

        >>> outlook = model.forecast(study, deadline="2024-12-31", target=130, episodes=20)
        >>> outlook.today is not None and outlook.in_hand >= 0
        True
        """
        advice = self.advise(
            people, budget, already=already, as_of=as_of, episodes=episodes, progress=progress, **limits
        )
        if advice.outlook is None:
            task = task_of(self.fit, advice.standing.waiting, advice.sheet.order)
            task.check_study_goes_on()
            why = task.nothing_because
            raise SettingError("outlook.too_large") if why is None else SettingError("nothing_to_give.so", why=why)
        return advice.outlook

    def advise(
        self,
        people: Study | People,
        budget: float | PlanOrder | None = None,
        *,
        already: float = 0,
        as_of: str | None = None,
        episodes: float | None = None,
        progress: ShowProgress = False,
        **limits: Any,
    ) -> "Advice":
        """Plan this round, and simulate the rest of the study.

        `people` is the study: who waits, which coupons are open and since when, on its last day or an earlier one
        (`as_of`). A list of people who wait will do: then a round counts as a day, open coupons are not counted, and
        `already` is the number of people who have taken part. `budget` is the number of coupons left for
        the rest of the study; otherwise the one the model was fitted for. `limits` are fields of `PlanOrder`:
        deadline, target, max_per_person, min_per_person, round_cap, rounds_left, reserve, population, ... A whole
        `PlanOrder` may replace both. `episodes` is the number of simulated studies.
        """
        from peerfront.study.advice import advise
        from peerfront.study.outlook import STUDIES

        order, studies = self._order(budget, limits), STUDIES if episodes is None else episodes
        if not isinstance(people, Study):
            enrolled = whole_number(note("outlook.already"), already, 0)
            standing, times = Standing.by_rounds(self.frontier(people), enrolled), AT_ONCE
            return advise(self.fit, standing, order, times, studies=studies, progress=_shown(progress))
        study = people if as_of is None else people.as_of(as_of)
        standing, times, _ = standing_today(self.fit, study, self.schema)
        return advise(self.fit, standing, order, times, study, studies=studies, progress=_shown(progress))

    def report(
        self,
        study: Study | Path | str,
        frontier: People | None = None,
        budget: float | PlanOrder | None = None,
        *,
        out: Path | str | None = None,
        episodes: float | None = None,
        seed: int = 0,
        with_ids: bool = False,
        with_trees: bool = True,
        heading: Heading | None = None,
        forecast_before: Path | str | None = None,
        backtest: Path | str | None = None,
        outcome: str | Sequence[str] = (),
        decisions: Path | str | None = None,
        as_of: str | None = None,
        progress: ShowProgress = False,
        **limits: Any,
    ) -> str:
        """Make one HTML page about study, model, plan and forecast; `out` names a file to write it to as well.

        Without a frontier the plan is for the people of the study who wait for coupons. `with_ids` adds the
        coupon sheet; otherwise nobody's id is on the page. Without `with_trees` the recruitment trees are not drawn.
        `heading` says study, date and round. `forecast_before` is the folder of an earlier forecast by date, `backtest`
        that of a back-test: the page shows how they fared. `outcome` names columns to estimate, with diagnostics of the
        sample; `decisions` are those of `estimate`. `as_of` is the day of plan and forecast; `budget` and `limits` as
        in `plan`.

        >>> page = model.report(study, study.waiting, episodes=20, heading=pf.Heading("Harbour study"))
        >>> "<h1>Harbour study</h1>" in page
        True
        """
        from peerfront.foundation.files import write_text
        from peerfront.study.outlook import STUDIES
        from peerfront.study.population import population_total
        from peerfront.study.report import ReportSettings, study_report
        from peerfront.study.report_calendar import read_earlier_backtest, read_earlier_forecast

        order = self._order(budget, limits)
        settings = ReportSettings(
            STUDIES if episodes is None else episodes,  # type: ignore[arg-type] # checked there, as are the others
            seed,
            with_ids,
            with_trees,
            heading or Heading(),
            (outcome,) if isinstance(outcome, str) else tuple(outcome),
            population_total(order, self.fit.schema),
            None if decisions is None else Path(decisions),
            as_of,
        )
        people = None if frontier is None else self.frontier(frontier)
        checked = study if isinstance(study, Study) else read_running_study(study, self.schema.reading)
        before = None if forecast_before is None else read_earlier_forecast(Path(forecast_before))
        tested = None if backtest is None else read_earlier_backtest(Path(backtest))
        report = study_report(self.fit, checked, self.schema, order, people, settings, _shown(progress), before, tested)
        page = str(import_module("peerfront.words.report_page").report_page(report))
        if out is not None:
            write_text(Path(out), page, private=with_ids)
        return page

    @property
    def summary(self) -> "FitSummary":
        """The findings, most important first; `print(model.summary)` prints one statement a line."""
        return FitSummary(self.fit)

    @cached_property
    def schema(self) -> StudySchema:
        """The columns that the model uses: how the files of the study and of its frontier are read."""
        if not self.fit.study_schema:
            raise DataFileError("saved_fits.no_columns")
        schema = parse_schema(self.fit.study_schema.encode(), str(note("saved_fits.their_schema")))
        if schema.schema != self.fit.schema:
            raise DataFileError("saved_fits.other_schema")
        return schema

    def save(self, folder: Path | str, *, overwrite: bool = False) -> None:
        """Save the model in a folder of two files, which hold no ids and no rows of the study."""
        self.fit.save(Path(folder), overwrite=overwrite)

    def frontier(self, people: People, sheet: str = "", left_column: str | None = None) -> Frontier:
        """Read the people who wait for coupons from a table, or from a CSV or Excel file; return a frontier unchanged.

        `left_column` names the column of acquaintances who have not taken part (default `acquaintances left`).
        """
        if isinstance(people, Frontier):
            return people
        return read_frontier(people, self.schema, sheet=sheet, left_column=left_column)

    def _order(self, budget: float | PlanOrder | None, limits: dict[str, Any]) -> PlanOrder:
        if isinstance(budget, PlanOrder):
            return replace(budget, **limits)
        left = self.fit.rules.budget if budget is None else budget
        return PlanOrder(left, **limits)  # type: ignore[arg-type] # checked there

    def __repr__(self) -> str:
        rules = self.fit.rules
        return f"Model(budget={rules.budget}, rounds={rules.rounds}, max_per_person={rules.max_per_person})"

    def _repr_html_(self) -> str:
        return self.summary._repr_html_()


@checked
def fit(
    study: Study,
    schema: "StudySchema | Guess | Path | str | None" = None,
    settings: "FitSettings | None" = None,
    *,
    start: Model | None = None,
    prior: Sequence[Model | Path | str] = (),
    planned: Mapping[str, int] | None = None,
    progress: ShowProgress = False,
    **others: Any,
) -> Model:
    """Learn from a study how people refer, and prepare a planner for the coupons that are left.

    Other settings are those of `FitSettings`; `budget`, the most coupons that are left, must be among them (or in
    `settings`). Without a schema the columns are guessed, as `guess_schema` does. Columns that are known only after
    recruitment are refused, and sensitive ones left out unless the schema says `use = true` of them. `start` is an
    earlier model of the same study: learning starts from its planner, so that a smaller `effort` suffices. `prior` are
    models of other studies (or their folders), which help as far as they agree with each other and with this one.
    `planned` are the numbers of coupons that plans or lots gave, by id: other numbers were staff's choice, and may
    follow who seems keen.

    >>> study = pf.read_study(pf.demo_study(people=60).study)
    >>> model = pf.fit(study, budget=20, rounds=2, effort=0.1)
    >>> print(model.summary.lines()[0])
    Fitted to the table: ... people, ...
    """
    from peerfront.data.columns.column_findings import vetted
    from peerfront.data.columns.schema_guess import Guess, guess_schema
    from peerfront.study.fit_settings import FitSettings
    from peerfront.study.fitting import fit_study

    settings = FitSettings(**others) if settings is None else replace(settings, **others)
    columns = schema.schema if isinstance(schema, Guess) else schema
    if columns is None:
        columns = guess_schema(study).schema
    elif not isinstance(columns, StudySchema):
        columns = read_schema(columns)
    columns.check_columns(study)
    allowed = vetted(study, columns)
    earlier = None if start is None else start.fit.planner
    helping = [each.fit if isinstance(each, Model) else load_fit(Path(each)) for each in prior]
    return Model(fit_study(study, allowed.schema, settings, _shown(progress), allowed, earlier, helping, planned))


@checked
def load(folder: Path | str) -> Model:
    """Read and fully check a saved model; it plans exactly as the saved one did.

    >>> model.save("model")
    >>> pf.load("model").plan(study.waiting).table.equals(model.plan(study.waiting).table)
    True
    """
    return Model(load_fit(Path(folder), logged_checksum(Path(folder))))


def _shown(progress: ShowProgress) -> Progress:
    if isinstance(progress, bool):
        return printed if progress else silent
    return progress
