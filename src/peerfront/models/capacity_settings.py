"""How a capacity model is fitted: the choices, ours and the paper's."""

from dataclasses import dataclass

from peerfront.foundation.counts import FAMILIES
from peerfront.foundation.errors import SettingError
from peerfront.foundation.settings import check_fields, one_of, one_or_more, penalty_list, seed_number, step_size
from peerfront.models.rate_network import RateShape

NETWORK = RateShape()
LOG_LINEAR = RateShape((), "exp")
LINEAR = RateShape((), "scaled softplus")  # also the formula of the simulated oracle: it flatters fits to it


@dataclass(frozen=True)
class CapacitySettings:
    """How a capacity model is fitted. The defaults are the best we know; `paper()` is the paper's."""

    family: str = "auto"
    """poisson, zip, nb, zinb, or auto: by held-out likelihood."""
    shapes: tuple[RateShape, ...] = (LINEAR, LOG_LINEAR, NETWORK)
    """Rate networks to choose from, by held-out likelihood, simplest first: it is taken unless another is better."""
    folds: int = 5
    """Members of the ensemble, each stopped on the fold it does not see, at most one per row; 1 trains on everything,
    to the last epoch, and takes the first shape and the Poisson where there is a choice."""
    epochs: int = 200
    """Most passes over the data."""
    patience: int = 15
    """Passes without improvement on the held-out fold after which a member has stopped."""
    batch: int = 128
    learning_rate: float = 1e-3
    penalties: tuple[float, ...] = (1.0, 0.3, 0.1, 0.03, 0.003)
    """Ridge penalties a linear shape chooses from, by held-out likelihood, in units of rows."""
    seed: int = 0

    @classmethod
    def paper(cls) -> "CapacitySettings":
        """Two hidden layers of 64, 200 epochs of batches of 128, Adam with 1e-3, nothing held out."""
        return cls(family="poisson", shapes=(NETWORK,), folds=1)

    def __post_init__(self) -> None:
        one_of("family", self.family, (*FAMILIES, "auto"))
        shapes = self.shapes
        listed = isinstance(shapes, tuple | list) and len(shapes) > 0
        if not listed or not all(isinstance(shape, RateShape) for shape in shapes):
            raise SettingError(f"A capacity fit needs at least one shape, in a tuple of RateShape; found {shapes!r}.")
        object.__setattr__(self, "shapes", tuple(shapes))
        check_fields(
            self,
            folds=one_or_more,
            epochs=one_or_more,
            patience=one_or_more,
            batch=one_or_more,
            learning_rate=step_size,
            penalties=penalty_list,
            seed=seed_number,
        )
