"""Whether forecasts of a horizon can be relied on, by those of the past: each by its own band and its own factor.

The factor of a forecast is its middle over what came, or the other way round, whichever is above 1, with 1 added to
both; that of a horizon is the geometric mean. Errors of opposite sign never cancel, as they do in sums.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

HELD = 0.6
"""Share of 8-of-10 bands that must hold what came, for forecasts to be relied on."""
CLOSE = 2.0
"""The largest factor of forecasts to be relied on: twice as many, or half."""
FEWEST_FORECASTS, FEWEST_PEOPLE = 3, 5
"""The least number of forecasts, each of at least this number of people (expected, or who came), to conclude from."""
POOLED = 6
"""Forecasts of other studies, with errors as large as promised (docs/results/forecasts.md), that weigh against a
study's own."""
WIDEST = 3.0
"""The most by which bands are widened."""
_WORTH_IT = 1.05  # widening by less is not done
_BAND = 2.563  # standard deviations between the ends of an 80% band
_LEAST_SPREAD = 0.1  # of a forecast, on the log scale
BETTER = 0.05
"""Share by which a score must be below a simple forecast's to be called better."""


@dataclass(frozen=True)
class HorizonTrust:
    """How forecasts of one horizon fared."""

    horizon: str
    days: int
    """Days ahead, or waves; of forecasts to the end those of the longest."""
    forecasts: int
    held: int
    """Forecasts whose 8-of-10 band held what came."""
    factor: float
    """By which forecasts were typically off, either way; 1 or more."""
    ratio: float
    """Geometric mean of forecast over what came: above 1 where they promised too much. As far from 1 as `factor` if
    all erred on the same side."""
    score: float
    """Mean score; smaller is better (`simple_forecasts`)."""
    rival: str
    """The simple forecast with the best score."""
    rival_score: float
    wider: float
    """How many times as wide bands must be to hold what came, as far as the study's own forecasts show; 1 or more."""
    judged: bool
    """Whether there were enough forecasts and people to say something."""
    relied_on: bool
    """Whether enough bands held and the factor is small enough; False if not judged."""
    rival_relied_on: bool = False
    """The same of the best simple forecast."""

    @property
    def gain(self) -> float:
        """Share by which the score is better (smaller) than the best simple forecast's; negative where it is worse."""
        return 1.0 - self.score / self.rival_score if self.rival_score > 0 else 0.0


def ratio_of(middle: float, came: float) -> float:
    """A forecast over what came, 1 added to both."""
    return (middle + 1.0) / (came + 1.0)


def trust_of(forecasts: pd.DataFrame, simple: pd.DataFrame) -> tuple[HorizonTrust, ...]:
    """What forecasts of the past say about each horizon; both tables are described at `Backtest`."""
    result = []
    for horizon, own in forecasts.groupby("horizon", sort=False):
        simple_ones = simple[simple["horizon"] == horizon]
        scores = simple_ones.groupby("forecast", sort=False)["score"].mean()
        best = simple_ones[simple_ones["forecast"] == scores.idxmin()]
        enough = np.maximum(own["median"], own["realised"]) >= FEWEST_PEOPLE
        judged = bool(enough.sum() >= FEWEST_FORECASTS)
        result.append(
            HorizonTrust(
                str(horizon), int(own["days"].max()), len(own), int(own["inside"].sum()), factor_of(own),
                float(np.exp(np.log(own["ratio"]).mean())), float(own["score"].mean()), str(scores.idxmin()),
                float(scores.min()), _wider(own), judged, judged and _holds(own), judged and _holds(best),
            )
        )  # fmt: skip
    return tuple(sorted(result, key=lambda trust: trust.days))


def factor_of(forecasts: pd.DataFrame) -> float:
    """By which forecasts were typically off, either way."""
    return float(np.exp(np.abs(np.log(forecasts["ratio"])).mean()))


def _holds(forecasts: pd.DataFrame) -> bool:
    return bool(forecasts["inside"].mean() >= HELD and factor_of(forecasts) <= CLOSE)


def _wider(own: pd.DataFrame) -> float:
    """By errors in units of the spread that each forecast promised, and `POOLED` of other studies whose bands held."""
    low, high = (np.log1p(own[name].to_numpy(dtype=np.float64)) for name in ("p10", "p90"))
    errors = np.log(own["ratio"].to_numpy(dtype=np.float64)) / np.maximum((high - low) / _BAND, _LEAST_SPREAD)
    wider = np.sqrt((POOLED + np.square(errors).sum()) / (POOLED + len(errors)))
    return 1.0 if wider < _WORTH_IT else float(min(wider, WIDEST))


@dataclass(frozen=True)
class PastForecasts:
    """How forecasts of this study fared in the past, as a fit keeps it."""

    by_waves: bool = False
    horizons: tuple[HorizonTrust, ...] = ()

    def at(self, days: int, *, by_waves: bool) -> HorizonTrust | None:
        """The verdict on a forecast with this horizon, in days or waves; None where nothing can be concluded."""
        return trust_at(self.horizons, days) if by_waves == self.by_waves else None

    def stored(self) -> dict[str, Any]:
        rows = [asdict(each) for each in self.horizons]
        rounded = [{key: round(x, 2) if isinstance(x, float) else x for key, x in row.items()} for row in rows]
        return {"by_waves": self.by_waves, "horizons": rounded}

    @classmethod
    def restored(cls, data: Mapping[str, Any]) -> "PastForecasts":
        return cls(bool(data["by_waves"]), tuple(HorizonTrust(**row) for row in data["horizons"]))


def trust_at(trust: Sequence[HorizonTrust], days: int) -> HorizonTrust | None:
    """The verdict on a forecast with this horizon, in days or waves; None where nothing can be concluded.

    It is that of the first horizon at least as long, otherwise of the longest.
    """
    reaching = [each for each in trust if each.days >= days] or list(trust[-1:])
    return reaching[0] if reaching and reaching[0].judged else None
