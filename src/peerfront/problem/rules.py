"""The rules of the game: how many coupons there are, who starts, how long it lasts, and what is too much."""

from dataclasses import dataclass

from peerfront.foundation.settings import whole_number


@dataclass(frozen=True, slots=True)
class Rules:
    """One episode's protocol. The defaults are the paper's (Section 5.3): 100 coupons, 10 people, 50 rounds."""

    budget: int = 100
    """Coupons for the whole study, B."""
    people: int = 10
    """People on the first frontier, |F0|."""
    rounds: int = 50
    """Rounds after which the study ends, whatever is left."""
    max_per_person: int | None = None
    """Most coupons one person may get in a round; None for no cap."""
    max_per_round: int | None = None
    """Most coupons that may be given out in a round; None for no cap."""

    def __post_init__(self) -> None:
        for name, least in (("budget", 0), ("people", 0), ("rounds", 1), ("max_per_person", 1), ("max_per_round", 1)):
            value = getattr(self, name)
            if value is not None or name in ("budget", "people", "rounds"):
                object.__setattr__(self, name, whole_number(name.replace("_", " "), value, least))

    @classmethod
    def checked(
        cls,
        budget: float,
        people: float,
        rounds: float,
        max_per_person: float | None = None,
        max_per_round: float | None = None,
    ) -> "Rules":
        """Rules from numbers somebody typed; fractions and the like are errors that say so."""
        return cls(budget, people, rounds, max_per_person, max_per_round)  # type: ignore[arg-type] # __post_init__ checks
