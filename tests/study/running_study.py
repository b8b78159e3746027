"""A study that runs for some weeks, with small fits."""

import shutil
from collections.abc import Mapping
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from peerfront.foundation.covariates import Field, Schema
from peerfront.models.returns.return_times import ReturnTimes
from peerfront.problem import BranchingWorld
from peerfront.simulation.demo_study import _Anybody
from peerfront.simulation.icpsr22140 import Inheritance, calibrated
from peerfront.study import week_model
from peerfront.study.week import WeekRequest, WeekResult, run_week
from simulation.calendar_study import CalendarStudy

FIRST = date(2026, 3, 2)
ORDER = {"budget": 120, "deadline": "2026-05-25", "target": 90, "valid_days": 40}


def small_world() -> BranchingWorld:
    """People of two districts who bring about 1.5 each."""
    import numpy as np

    schema = Schema((Field("district", ("North", "South")),))
    everybody = np.array([[0], [1]], dtype=np.int16)
    response = calibrated(schema, np.array([0.3, -0.3]), everybody, 1.5)
    return BranchingWorld("two districts", schema, response, Inheritance(schema, np.array([0.6])), _Anybody(schema))


def quick_fits(patch: pytest.MonkeyPatch) -> None:
    """Real fits with few simulations."""
    real = week_model.fit
    patch.setattr(
        week_model,
        "fit",
        lambda study, schema, settings, **others: real(study, schema, replace(settings, effort=0.02), **others),
    )


class Running:
    """A study whose sheets are followed, week after week."""

    def __init__(self, folder: Path, seeds: int = 24) -> None:
        self.folder, self.file = folder / "study", folder / "harbour.csv"
        self.field = CalendarStudy(small_world(), ReturnTimes("lognormal", 6.0, 0.7), FIRST, seeds, valid_days=40.0)
        self.number = 0

    def copied_to(self, folder: Path) -> "Running":
        """The same study in another place, to be changed there."""
        copy = Running(folder)
        shutil.copytree(self.folder, copy.folder)
        shutil.copy(self.file, copy.file)
        copy.field, copy.number = self.field, self.number
        return copy

    def day(self, number: int | None = None) -> date:
        return FIRST + timedelta(weeks=self.number if number is None else number)

    def write(self) -> None:
        """The study's file as it is this week."""
        self.field.table(self.day()).to_csv(self.file, index=False)

    def make(self, given: Mapping[str, Any] | None = None, **request: Any) -> WeekResult:
        """Make this week from the file as it is."""
        return run_week(self.file, self.folder, WeekRequest(day=self.day(), given=given or {}, studies=20, **request))

    def week(self, given: Mapping[str, Any] | None = None, *, follow: bool = True, **request: Any) -> WeekResult:
        """Write the file, make the week, hand out what it says, and let a week pass."""
        self.write()
        made = self.make(given, **request)
        if follow and made.plan is not None:
            table = made.plan.table
            self.field.hand_out(self.day(), dict(zip(table["person"], table["coupons"].tolist(), strict=True)))
        self.number += 1
        return made
