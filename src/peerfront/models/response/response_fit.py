"""Fit a response model to a history: the settings, and the choice of shape, family and fields.

A row (x, k, y) of somebody with k coupons and y recruits has a censored likelihood (Section 3.1): y < k shows the
capacity, pmf(y); y = k shows only that it is at least k, survival(k).

`ResponseSettings.paper()` is the paper's fit: one network, 200 epochs, all the data. It overfits (docs/deviations.md).
The default trains one network per fold, each stopped on its own held-out fold, and averages their rates: every row
trains four of five members, and the held-out likelihood comes for free. Shape, family and fields are chosen by it
(`response_choice`): "everybody is alike" is the simplest candidate, and wins unless what is known about people helps.
"""

from dataclasses import dataclass
from typing import Any

from peerfront.foundation.counts import FAMILIES
from peerfront.foundation.errors import SettingError, check_extra
from peerfront.foundation.messages import Progress, note, silent
from peerfront.foundation.settings import (
    among,
    check_fields,
    one_or_more,
    optional,
    penalty_list,
    positive,
    seed_number,
    step_size,
    truth,
)
from peerfront.models.response.learned_response import LearnedResponse, refuse_open_coupons
from peerfront.models.response.rates import RateShape
from peerfront.problem import History

NETWORK = RateShape()
LOG_LINEAR = RateShape((), "exp")
LINEAR = RateShape((), "scaled softplus")  # also the formula of the simulated oracle: it flatters fits to it


@dataclass(frozen=True)
class ResponseSettings:
    """How a response model is fitted. The defaults are the best we know; `paper()` is the paper's."""

    family: str = "auto"
    """poisson, zip, nb, zinb, or auto: by held-out likelihood."""
    shapes: tuple[RateShape, ...] = (LINEAR, LOG_LINEAR, NETWORK)
    """Rate networks to choose from by held-out likelihood, simplest first: a later one must be clearly better."""
    folds: int = 5
    """Members of the ensemble, each stopped on the fold it does not see, at most one per row; 1 trains on everything,
    to the last epoch, and takes the first shape and the simplest family where there is a choice."""
    epochs: int = 200
    """Most passes over the data."""
    patience: int = 15
    """Passes without improvement on the held-out fold after which a member stops."""
    batch: int = 128
    learning_rate: float = 1e-3
    penalties: tuple[float, ...] = (100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.003)
    """Ridge penalties a linear shape chooses from, by held-out likelihood, in units of rows."""
    doubt: float | None = 150.0
    """How much to doubt what nobody has shown. However strongly a shape extrapolates, nobody is believed to be able to
    bring the most coupons that people had (`LearnedResponse.most_shown`; 10 if they had fewer, because then saturated
    rows are many, and plans do not go beyond what was shown) with a chance above rows / (rows + doubt), as
    if that many more people had brought fewer; zero inflation aside. None for no limit."""
    drop_fields: bool = True
    """Whether everybody is alike until people left out show otherwise, and fields that do not help are not used (of a
    linear shape; a network keeps all or none)."""
    seed: int = 0

    @classmethod
    def paper(cls) -> "ResponseSettings":
        """Two hidden layers of 64, 200 epochs of batches of 128, Adam with 1e-3, nothing held out."""
        return cls(family="poisson", shapes=(NETWORK,), folds=1, doubt=None, drop_fields=False)

    def __post_init__(self) -> None:
        check_fields(
            self,
            family=among(note("kinds.family"), (*FAMILIES, "auto")),
            shapes=_rate_shapes,
            folds=one_or_more,
            epochs=one_or_more,
            patience=one_or_more,
            batch=one_or_more,
            learning_rate=step_size,
            penalties=penalty_list,
            doubt=optional(positive),
            drop_fields=truth,
            seed=seed_number,
        )


def _rate_shapes(name: str, value: Any) -> tuple[RateShape, ...]:
    """Rule: one or more rate shapes."""
    listed = isinstance(value, tuple | list) and len(value) > 0
    if not listed or not all(isinstance(shape, RateShape) for shape in value):
        raise SettingError("response_model.no_shape", value=value)
    return tuple(value)


def fit_response(
    history: History, settings: ResponseSettings | None = None, progress: Progress = silent
) -> LearnedResponse:
    """Fit a response model; where there is a choice, make it by held-out likelihood and say why.

    Every coupon of the history must be finished: recruits who are still to come are refused, not ignored.
    """
    check_extra("torch", note("extras.learned_response"), "research")
    from peerfront.models.response.response_choice import Search

    refuse_open_coupons(history.exposure_of(history.informative_rows()))
    return Search(history, settings or ResponseSettings(), progress).learned()
