"""What a coordinator orders: coupons that are left, limits, a reserve; checked against the model before planning."""

from dataclasses import dataclass
from typing import Any

from peerfront.artifacts import Fit
from peerfront.foundation.errors import SettingError
from peerfront.foundation.settings import whole_number
from peerfront.foundation.words import n_coupons, n_people
from peerfront.problem import Frontier, Rules, State


@dataclass(frozen=True)
class PlanOrder:
    """One sheet's order. What is None is as the model was fitted for."""

    budget: int
    """Coupons that are left for the rest of the study."""
    max_per_person: int | None = None
    """Most coupons for one person this round."""
    min_per_person: int = 0
    """Coupons that everybody gets, in this round and in later ones."""
    round_cap: int | None = None
    """Most coupons in a round, this one and later ones; 0 gives out nothing now."""
    rounds_left: int | None = None
    """Rounds left, this one included."""
    reserve: int = 0
    """Coupons of the budget to keep back for good: neither this round nor a later one counts on them."""

    def __post_init__(self) -> None:
        least: dict[str, int] = {
            "budget": 0, "max_per_person": 1, "min_per_person": 0, "round_cap": 0, "rounds_left": 0, "reserve": 0,
        }  # fmt: skip
        for name, smallest in least.items():
            value: Any = getattr(self, name)
            if value is not None or name in ("budget", "min_per_person", "reserve"):
                object.__setattr__(self, name, whole_number(name.replace("_", " "), value, smallest))
        if self.reserve > self.budget:
            raise SettingError(
                f"A reserve of {self.reserve} is more than the {n_coupons(self.budget)} there are. Lower the reserve."
            )

    @property
    def available(self) -> int:
        """Coupons to plan with."""
        return self.budget - self.reserve


@dataclass(frozen=True, eq=False)
class Task:
    """An order for these people, its gaps filled from the model, possible."""

    order: PlanOrder
    state: State
    """Rounds of its rules are the rounds left."""
    notes: tuple[str, ...]
    """Where the order goes beyond what the model was fitted for."""

    @property
    def over(self) -> bool:
        """Whether there is nothing to decide."""
        return self.state.spendable == 0 or self.order.rounds_left == 0 or self.order.round_cap == 0

    @property
    def spendable(self) -> int:
        return 0 if self.over else self.state.spendable


def task_of(fit: Fit, frontier: Frontier, order: PlanOrder) -> Task:
    """The order as a state to plan, or an error that says what is impossible."""
    fitted, notes = fit.rules, []
    learned = fit.planner.surrogate
    if order.available > learned.budget:
        raise SettingError(
            f"The model was fitted for at most {n_coupons(learned.budget)}; found {order.available:,} to "
            f"plan with. Fit it again with --budget {order.available}, or keep {order.available - learned.budget:,} "
            "more in reserve."
        )
    most = fitted.max_per_person if order.max_per_person is None else order.max_per_person
    cap = fitted.max_per_round if order.round_cap is None else order.round_cap
    if most is not None and order.min_per_person > most:
        raise SettingError(
            f"At least {order.min_per_person} and at most {n_coupons(most)} per person contradict each "
            "other. Lower the minimum, or raise the maximum."
        )
    left = fitted.rounds if order.rounds_left is None else order.rounds_left
    known = learned.rounds if learned.rounds is not None else left
    if left > known:
        notes.append(f"The model tells apart at most {known} rounds left; {left} are treated as {known}.")
    if most != fitted.max_per_person:
        limit = "any number" if fitted.max_per_person is None else f"{fitted.max_per_person}"
        notes.append(f"The model was fitted for at most {limit} per person: later rounds are judged by that limit.")
    if len(frontier) > 3 * fitted.people:
        notes.append(
            f"The model was fitted for about {fitted.people} people at a time, here are {len(frontier):,}: what is "
            f"expected later is less sure. Fitting again with --people {len(frontier)} repairs that."
        )
    gain = fit.scores.get("gain_of_knowing_people", {})
    if gain and gain["log_likelihood"] <= gain["standard_error"]:
        notes.append("The study does not show who brings many: differences between people here are small and unsure.")
    rules = Rules(order.available, len(frontier), max(left, 1), most, cap or None)
    task = Task(order, State(order.available, frontier, rules=rules), tuple(notes))
    needed = order.min_per_person * len(frontier)
    if needed > task.spendable:
        raise SettingError(
            f"At least {order.min_per_person} each for {n_people(len(frontier))} needs {needed:,} "
            f"coupons; {task.spendable:,} can be given out this round. Lower the minimum, or raise the limits."
        )
    return task
