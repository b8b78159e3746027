"""The plan of a week: the sheet for who waits, with open coupons counted, and the forecast by date."""

from dataclasses import dataclass, replace
from datetime import date
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerfront.data.study import Study
from peerfront.data.study_schema import encode_study
from peerfront.foundation.progress import Progress
from peerfront.foundation.spreadsheets import csv_text
from peerfront.foundation.words import counted, n_coupons, n_people, percent
from peerfront.gfp.lottery import person_luck
from peerfront.problem import Frontier
from peerfront.study.coupon_calendar import why_undated
from peerfront.study.date_forecast import DateForecast, forecast_by_date
from peerfront.study.day_policies import coming_of
from peerfront.study.decisions import BY_LOT
from peerfront.study.heading import Heading
from peerfront.study.model import Model
from peerfront.study.orders import PlanOrder
from peerfront.study.sheet import CouponSheet, plan_coupons
from peerfront.study.standing import generation_days, rounds_until
from peerfront.study.study_standing import share_left_of, standing_of, times_of
from peerfront.study.week_order import WeekOrder

USUAL_EACH = 3
"""Coupons that everybody gets while a study is too small for a model."""
SHEET, PRINTED, FORECAST, PICTURE = "sheet.csv", "sheet.xlsx", "forecast.csv", "forecast.png"
_SAME_FOR_ALL = "same for all"
_MOST = 0.9  # share of the recruits of today's coupons that must come in time, or it is said


@dataclass(frozen=True, eq=False)
class WeekPlan:
    """This week's sheet and what to expect."""

    table: pd.DataFrame
    """person, coupons, decided_by, probability, reason, and whatever else the sheet has."""
    sheet: CouponSheet
    """Without a model it holds the table and nothing that is expected."""
    forecast: DateForecast | None
    """None where nothing says when people return."""
    words: tuple[str, ...]
    """What to hand out, in sentences."""
    ahead: tuple[str, ...] = ()
    """What to expect, in sentences."""
    details: tuple[str, ...] = ()
    """What only somebody who asks needs to know: other numbers of coupons, bounds, what was assumed."""

    @property
    def decisions(self) -> list[dict[str, Any]]:
        """Lines for the log: who is to get how many, and how that came about."""
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
        """What is kept of it."""
        files = {SHEET: csv_text(self.table, float_format="%.6g").encode()}
        if len(self.table):
            files[PRINTED] = self.sheet.excel(heading)
        if self.forecast is not None:
            from peerfront.foundation.figures import rendered  # only here: it needs matplotlib

            files[FORECAST] = self.forecast.weeks.to_csv(index=False, lineterminator="\n", float_format="%.4f").encode()
            files[PICTURE] = rendered(self.forecast.plot(), "png")
        return files

    def written(self) -> list[tuple[str, str]]:
        """The files of the week's folder, and what each is."""
        files = [(SHEET, "who gets how many coupons, and why")]
        if len(self.table):
            files.append((PRINTED, "the same to print and fill in"))
        if self.forecast is not None:
            files += [(FORECAST, "interviews by week, with bands"), (PICTURE, "the same as a picture")]
        return [*files, ("summary.txt", "everything above"), ("people.csv", "who was in the file, for next week")]


def planned_week(
    model: Model | None,
    study: Study,
    waits: NDArray[np.bool_],
    order: WeekOrder,
    left: int,
    day: date,
    number: int,
    studies: int,
    progress: Progress,
) -> WeekPlan:
    """Plan for the people who wait (a mask, [people]), with so many coupons left on this day of week `number`.

    The forecast by date is of so many simulated `studies`; none for 0.
    """
    if model is None:
        return _same_for_all(study, waits, order, left, number)
    schema = model.schema
    people = Frontier(study.ids[waits], encode_study(study, schema)[waits])
    until = order.last_day(day)
    undated = why_undated(study) if model.fit.returns is None else ""
    if study.day is None or undated or not study.settings.open_by_dates:
        sheet = plan_coupons(model.fit, people, order.plan_order(left, None, len(study), number))
        why = undated or "the file has no dates" if study.day is None or undated else "its schema sets still_open"
        note = f"No forecast by date: {why}. `peerfront forecast` looks ahead by rounds."
        words, details = _sheet_words(sheet)
        return WeekPlan(sheet.table, sheet, None, words, (note,), details)
    times = times_of(model.fit, study)
    standing = replace(standing_of(study, schema, times), waiting=people)
    days = (until - day).days
    rounds = rounds_until(days, generation_days(times, standing.valid_days), model.fit.rules.rounds)
    asked = order.plan_order(left, rounds, len(study), number)
    sheet = plan_coupons(model.fit, people, asked, coming_of(model.fit.planner, standing.open, times, days))
    words, details = _sheet_words(sheet)
    if not studies:
        return WeekPlan(sheet.table, sheet, None, words, (), details)
    progress(0.3, "looking ahead by date")
    forecast = forecast_by_date(
        model.fit,
        standing,
        replace(asked, strata=(), randomise=0.0),
        times,
        until,
        target=order.target,
        interviews_per_week=order.interviews_per_week,
        studies=studies,
        seed=order.seed,
        share_left=share_left_of(model.fit, standing, asked, order.target),
        progress=progress,
    )
    in_time = float(times.cdf(days, standing.valid_days))
    ahead = (_rounds_line(rounds, until, bool(order.deadline)), *str(forecast).splitlines(), *_restricted(asked))
    if in_time < _MOST:
        late = f"Of the recruits whom this week's coupons bring, {percent(in_time)} come by then."
        ahead = (ahead[0], late, *ahead[1:])
    return WeekPlan(sheet.table, sheet, forecast, words, ahead, details)


def _sheet_words(sheet: CouponSheet) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What a coordinator must read of a sheet, and the rest."""
    lines = sheet.lines()
    first = lines[:2] if sheet.certificate is not None else lines
    warnings = [line for line in lines[len(first) :] if line.startswith("Warning")]
    return (*first, *warnings), tuple(line for line in lines[len(first) :] if line not in warnings)


def _rounds_line(rounds: int, until: date, is_deadline: bool) -> str:
    left = counted(rounds, "generation of recruits fits", "generations of recruits fit")
    which = "the deadline" if is_deadline else "as far as is looked ahead; give --deadline if there is one"
    return f"Until {until.isoformat()} ({which}) {left} in, by how long people take to return."


def _restricted(order: PlanOrder) -> list[str]:
    if not order.strata and not order.randomise:
        return []
    return ["The forecast by date is of the plan without strata and random numbers; the sheet says what these cost."]


def _each_of(people: int) -> str:
    return f"each of the {n_people(people)} who wait" if people != 1 else "the 1 person who waits"


def _same_for_all(study: Study, waits: NDArray[np.bool_], order: WeekOrder, left: int, number: int) -> WeekPlan:
    """The sheet of a study that is too small for a model: everybody gets the same, as far as coupons last.

    Where they do not suffice for as many as wanted, who gets one more is drawn by lot.
    """
    people, available = study.ids[waits], max(left - order.reserve, 0)
    if order.round_cap is not None:
        available = min(available, order.round_cap)
    wanted = max(min(USUAL_EACH, order.max_per_person or USUAL_EACH), order.min_per_person)
    each = min(wanted, available // len(people)) if len(people) else 0
    more = available - each * len(people) if len(people) and each < wanted else 0  # people who get one more, by lot
    asked = order.plan_order(left, None, len(study), number)
    place = np.argsort(
        np.argsort(person_luck(people.tolist(), asked.seed).uniform("lot"), kind="stable"), kind="stable"
    )
    coupons = each + (place < more).astype(np.int64)
    alike = "as for everybody: the study is too small to tell people apart"
    drawn = f"drawn by lot: {n_coupons(available)} for {n_people(len(people))} who cannot be told apart yet"
    table = pd.DataFrame(
        {
            "person": pd.Series(people, dtype=object),
            "coupons": coupons,
            "chance_used": "",
            "expected_now": 0.0,
            "expected_later": 0.0,
            "decided_by": BY_LOT if more else _SAME_FOR_ALL,
            "probability": np.where(coupons > each, more, len(people) - more) / max(len(people), 1) if more else 1.0,
            "reason": [f"{n_coupons(own)}, {drawn if more else alike}." for own in coupons.tolist()],
        }
    )
    if not len(people):
        words = "Nobody waits for coupons."
    elif not available and wanted:
        words = f"{n_people(len(people))} waiting, and no coupon for this week."
    elif more:
        words = f"Give {n_coupons(each + 1)} to {n_people(more)}, drawn by lot, and {each} to the others who wait."
    else:
        words = f"Give {n_coupons(each)} to {_each_of(len(people))}."
    curve = pd.DataFrame({"spend": [int(coupons.sum())], "value": [0.0]})
    sheet = CouponSheet(
        table, int(coupons.sum()), asked, curve, {}, (), 0.0, None, 0.0, 1.0, 1, (words,), study=study.source
    )  # fmt: skip
    return WeekPlan(table, sheet, None, (words,))
