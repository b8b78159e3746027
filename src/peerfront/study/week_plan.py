"""The plan of a week: the standing order, the sheet (with open coupons counted), and the forecast by date."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerfront.data.study import Study
from peerfront.data.study_schema import encode_study
from peerfront.foundation.errors import SettingError
from peerfront.foundation.messages import Message, Progress, Remedy, n_coupons
from peerfront.foundation.settings import (
    among,
    at_least,
    between,
    check_fields,
    one_or_more,
    optional,
    optional_day,
    positive,
    seed_number,
)
from peerfront.foundation.spreadsheets import csv_text
from peerfront.gfp.lottery import person_luck
from peerfront.models.belief.prior import Prior, prior_belief
from peerfront.problem import Frontier
from peerfront.problem.state import MOST_COUPONS, MOST_ROUNDS_LEFT
from peerfront.study.advice import advise
from peerfront.study.coupon_sheet import CouponSheet, Heading
from peerfront.study.decisions import BY_LOT
from peerfront.study.model import Model
from peerfront.study.orders import RESPONSES, PlanOrder, texts
from peerfront.study.outlook import Outlook
from peerfront.study.reasons import Reason, ReasonCode
from peerfront.study.study_state import standing_today

USUAL_EACH = 3
"""Coupons that everybody gets while a study is too small for a model."""
SHEET, PRINTED, FORECAST, PICTURE = "sheet.csv", "sheet.xlsx", "forecast.csv", "forecast.png"
_SAME_FOR_ALL = "same for all"
_FOR_ONE_WEEK = ("spend", "rounds_left")
_MOST = 0.9  # the summary warns if a smaller share of the recruits of today's coupons comes in time


@dataclass(frozen=True)
class WeekOrder:
    """The standing order of a study. Its fields are kept in the log, and hold until another value is given.

    >>> from peerfront.study.week_plan import WeekOrder
    >>> order = WeekOrder(budget=200, deadline="2026-06-30", target=300)
    >>> order.changed(target=320).target
    320
    """

    budget: int
    """Coupons left to give out on the day of the first week."""
    deadline: str = ""
    """The study's last day, year-month-day; empty if it has none."""
    target: int | None = None
    """People wanted in all."""
    max_per_person: int | None = None
    min_per_person: int = 0
    round_cap: int | None = None
    """Most coupons in one week."""
    reserve: int = 0
    response: str = "average"
    at_least: tuple[str, ...] = ()
    valid_days: float | None = None
    """Days from issue until coupons expire; None: as the schema file or a column says."""
    interviews_per_week: float | None = None
    population: tuple[str, ...] = ()
    """People in the population, as in `PlanOrder`; empty if it is not known."""
    strata: tuple[str, ...] = ()
    """The only fields by which coupons may differ, as in `PlanOrder`."""
    spend: int | None = None
    """Coupons to give out in this week, exactly; None: the best number. Not kept for the next week."""
    rounds_left: int | None = None
    """Rounds left, this week included, if there is no deadline; None: as the model. Not kept for the next week."""
    randomise: float = 0.0
    """The least chance that everybody has of each allowed number."""
    prior: tuple[str, ...] = ()
    """Folders of models of earlier studies, which help as far as they agree."""
    prior_belief: Prior | Path | str | None = None
    """What is believed about coupons before any data, as in `FitSettings`; the log keeps what the file said."""
    seed: int = 0

    def __post_init__(self) -> None:
        check_fields(
            self,
            budget=at_least(0, MOST_COUPONS),
            deadline=optional_day,
            target=optional(one_or_more),
            max_per_person=optional(one_or_more),
            min_per_person=at_least(0),
            round_cap=optional(at_least(0)),
            reserve=at_least(0, MOST_COUPONS),
            response=among("response", RESPONSES),
            at_least=texts,
            valid_days=optional(positive),
            interviews_per_week=optional(positive),
            population=texts,
            strata=texts,
            spend=optional(at_least(0, MOST_COUPONS)),
            rounds_left=optional(at_least(0, MOST_ROUNDS_LEFT)),
            prior=texts,
            prior_belief=prior_belief,
            randomise=between(0.0, 0.5),
            seed=seed_number,
        )
        if self.max_per_person is not None and self.min_per_person > self.max_per_person:
            most = n_coupons(self.max_per_person)
            raise SettingError("orders.least_above_most", least=self.min_per_person, most=most)

    def changed(self, **given: Any) -> "WeekOrder":
        """The order with this week's changes; None leaves a field unchanged, unless it is for one week only."""
        changes = {name: value for name, value in given.items() if value is not None}
        return replace(self, **{**dict.fromkeys(_FOR_ONE_WEEK), **changes})

    def as_of_week(self, order: "WeekOrder") -> "WeekOrder":
        """This order, with what another has for one week only where it is not given."""
        return replace(self, **{name: getattr(order, name) for name in _FOR_ONE_WEEK if getattr(self, name) is None})

    @classmethod
    def from_log(cls, entry: dict[str, Any]) -> "WeekOrder":
        """Read an order from a week's entry; fields that this version does not know are left out."""
        names = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in entry.items() if name in names})

    def for_log(self) -> dict[str, Any]:
        """The order as JSON can hold it."""
        texts = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}
        return {**texts, "prior_belief": self.prior_belief.table() if isinstance(self.prior_belief, Prior) else None}

    def check_deadline(self, today: date) -> None:
        """Refuse a deadline that has passed."""
        if self.deadline and date.fromisoformat(self.deadline) <= today:
            raise SettingError(
                "week.deadline_passed",
                deadline=self.deadline, today=today.isoformat(),
                later=Remedy("deadline", "DATE"), earlier=Remedy("date", "DATE"),
            )  # fmt: skip

    def plan_order(self, left: int, number: int, people: int = 1, *, with_deadline: bool = True) -> PlanOrder:
        """The order for the sheet of week `number`, with the coupons that are left for the people who wait.

        Everybody's minimum is as high as they suffice for. Every week draws its lots with a seed of its own, so that
        the same people do not lose every time.
        """
        spendable = max(left - self.reserve, 0)
        if self.round_cap is not None:
            spendable = min(spendable, self.round_cap)
        both = {each.name for each in fields(self)} & {each.name for each in fields(PlanOrder)}
        asked = {
            **{name: getattr(self, name) for name in both},
            "budget": left,
            "min_per_person": min(self.min_per_person, spendable // max(people, 1)),
            "reserve": min(self.reserve, left),
            "seed": self.seed + number - 1,
        }
        return PlanOrder(**asked if with_deadline else {**asked, "deadline": ""})


@dataclass(frozen=True, eq=False)
class WeekPlan:
    """This week's sheet and what to expect."""

    table: pd.DataFrame
    """person, coupons, decided_by, probability, reason, and whatever else the sheet has."""
    sheet: CouponSheet
    """The coupon sheet; without a model it holds the table but no expected numbers."""
    outlook: Outlook | None = None
    """What to expect; None without a model, or if nobody can come."""
    by_rounds_because: Message | None = None
    """Why the outlook is by rounds and not by date."""
    in_time: float = 1.0
    """Share of the recruits of this week's coupons who come by the last day."""
    same_for_all: "SameForAll | None" = None
    """The sheet of a study that is too small for a model."""

    @property
    def late(self) -> bool:
        """Whether many recruits of this week's coupons come after the last day."""
        return self.in_time < _MOST

    @property
    def decisions(self) -> list[dict[str, Any]]:
        """Lines for the log: who gets how many coupons, and how that was decided."""
        model, seed = self.sheet.model_fingerprint[:16], self.sheet.order.seed
        strata = self.table["stratum"].tolist() if "stratum" in self.table else [None] * len(self.table)
        return [
            {
                "person": str(person),
                "planned": int(coupons),
                "decided_by": str(by),
                "probability": float(probability),
                "stratum": stratum,
                "seed": seed,
                "model": model,
                "reason": str(reason),
            }
            for person, coupons, by, probability, reason, stratum in zip(
                *(self.table[name].tolist() for name in ("person", "coupons", "decided_by", "probability", "reason")),
                strata,
                strict=True,
            )
        ]

    def files(self, heading: Heading) -> dict[str, bytes]:
        """The files of the plan in a week's folder, by name."""
        table = self.table.assign(reason=self.table["reason"].map(str))
        files = {SHEET: csv_text(table, float_format="%.6g").encode()}
        if len(self.table):
            files[PRINTED] = self.sheet.excel(heading)
        if self.outlook is not None:
            from peerfront.foundation.pictures import rendered  # only here: it needs matplotlib

            files[FORECAST] = self.outlook.steps.to_csv(index=False, lineterminator="\n", float_format="%.4f").encode()
            files[PICTURE] = rendered(self.outlook.plot(), "png")
        return files


@dataclass(frozen=True)
class SameForAll:
    """The sheet of a study too small for a model: the same number each, and one more for some, drawn by lot."""

    people: int
    available: int
    """Coupons that may be given out this week."""
    wanted: int
    """Coupons wanted for each person."""
    each: int
    one_more: int
    """People who get one more, by lot."""


def planned_week(
    model: Model | None,
    study: Study,
    waits: NDArray[np.bool_],
    order: WeekOrder,
    left: int,
    number: int,
    studies: int,
    progress: Progress,
    given: Mapping[str, int] | None = None,
) -> WeekPlan:
    """Plan week `number` for the people who wait (a mask, [people]) with the coupons that are left.

    `studies` is the number of simulated studies of the outlook. `given` are everybody's numbers where somebody chose
    some by hand.
    """
    if model is None:
        return _same_for_all(study, waits, order, left, number)
    people = Frontier(study.ids[waits], encode_study(study, model.schema)[waits])
    standing, times, why = standing_today(model.fit, study, model.schema)
    standing = replace(standing, waiting=people)
    asked = order.plan_order(left, number, len(people), with_deadline=why is None)
    chosen = None if given is None else np.array([given[str(person)] for person in people.ids], dtype=np.int64)
    advice = advise(model.fit, standing, asked, times, study, given=chosen, studies=studies, progress=progress)
    return WeekPlan(advice.sheet.table, advice.sheet, advice.outlook, why, advice.in_time)


def _same_for_all(study: Study, waits: NDArray[np.bool_], order: WeekOrder, left: int, number: int) -> WeekPlan:
    """The sheet of a study too small for a model: everybody gets the same, as far as coupons last.

    If coupons are too few for the wanted number, lots decide who gets one more.
    """
    people, available = study.ids[waits], max(left - order.reserve, 0)
    if order.round_cap is not None:
        available = min(available, order.round_cap)
    wanted = max(min(USUAL_EACH, order.max_per_person or USUAL_EACH), order.min_per_person)
    each = min(wanted, available // len(people)) if len(people) else 0
    more = available - each * len(people) if len(people) and each < wanted else 0  # people who get one more, by lot
    asked = order.plan_order(left, number, len(people))
    place = np.argsort(
        np.argsort(person_luck(people.tolist(), asked.seed).uniform("lot"), kind="stable"), kind="stable"
    )
    coupons = each + (place < more).astype(np.int64)
    code = ReasonCode.SAME_FOR_ALL_LOT if more else ReasonCode.SAME_FOR_ALL
    others = len(people) - 1 if more else 0
    table = pd.DataFrame(
        {
            "person": pd.Series(people, dtype=object),
            "coupons": coupons,
            "chance_used": "",
            "expected_now": 0.0,
            "expected_later": 0.0,
            "decided_by": BY_LOT if more else _SAME_FOR_ALL,
            "probability": np.where(coupons > each, more, len(people) - more) / max(len(people), 1) if more else 1.0,
            "reason": pd.Series([Reason(code, own, tied_with=others) for own in coupons.tolist()], dtype=object),
        }
    )
    curve = pd.DataFrame({"spend": [int(coupons.sum())], "value": [0.0]})
    sheet = CouponSheet(
        table, int(coupons.sum()), asked, curve, {}, (), 0.0, 1.0, 1, (), study=study.source
    )  # fmt: skip
    return WeekPlan(table, sheet, same_for_all=SameForAll(len(people), available, wanted, each, more))
