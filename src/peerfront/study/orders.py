"""A coordinator's order (coupons left, limits, a reserve), checked against the model and the people who wait.

This is the only place where an order is checked and becomes `Rules`; sheet, forecast and report all start here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from peerfront.data.read.answers import MOST_KNOWN
from peerfront.foundation.checked_calls import checked_settings
from peerfront.foundation.errors import SettingError
from peerfront.foundation.messages import Message, Remedy, n_coupons, n_people, note, warning
from peerfront.foundation.settings import (
    MOST_SEED,
    among,
    at_least,
    between,
    check_fields,
    one_or_more,
    optional,
    optional_day,
    positive,
    proportion,
    text_list,
)
from peerfront.gfp.learning import smaller_problem
from peerfront.problem import Frontier, Rules, State
from peerfront.problem.state import MOST_COUPONS, MOST_ROUNDS_LEFT
from peerfront.study.artifacts import Fit

AUTO = "auto"
AVERAGE, BELIEF = "average", "belief"
RESPONSES = (AVERAGE, BELIEF, "capacity", "per_coupon", "motivate")
_MOST_SIMULATED = 50_000  # people waiting at once; learning a value for more would take hours


@checked_settings
@dataclass(frozen=True)
class PlanOrder:
    """Coupons that are left, and limits for giving them out. None stands for the limit of the fitted model.

    >>> order = pf.PlanOrder(budget=30, max_per_person=2, reserve=5)
    >>> order.available
    25
    """

    budget: int
    """Coupons that are left for the rest of the study."""
    max_per_person: int | None = None
    """Most coupons for one person this round."""
    min_per_person: int = 0
    """Coupons that everybody gets, in this round and in later ones."""
    round_cap: int | None = None
    """Most coupons in a round, this one and later ones; 0 gives out nothing."""
    rounds_left: int | None = None
    """Rounds left, this one included."""
    reserve: int = 0
    """Coupons of the budget to keep back for good: neither this round nor a later one may use them."""
    response: str = "average"
    """What a coupon is believed to do: average (over the whole belief, but the usual number where counts contradict
    it), belief (the average whatever the counts), or one of its parts: capacity, per_coupon, motivate."""
    at_least: tuple[str, ...] = ()
    """Floors by group, such as "district=East:0.2": at least this share of everybody's mean coupons per person."""
    learn: float | str | None = None
    """Give random numbers of coupons to a share of the people, to find out what a coupon does: "auto" chooses the share
    by simulation; None does not."""
    seed: int = 0
    """Names the luck by which ties are drawn and random numbers are handed out."""
    population: tuple[str, ...] = ()
    """People in the population, which then runs out: one number, or "sex=f:300" for every group of one field (with
    ":80" after it, how many of them have taken part); empty if it is not known."""
    already: int | None = None
    """People who have taken part, those who wait included; None: as many as in the study the model was fitted to."""
    acquaintances: int | None = None
    """How many members of the population a person knows; None: as the study shows, or about 10."""
    strata: tuple[str, ...] = ()
    """The only fields by which coupons may differ, such as ("district", "gender") or "district+gender"; empty: coupons
    may differ from person to person."""
    randomise: float = 0.0
    """The least chance that everybody has of each allowed number; 0 for no random numbers."""
    spend: int | None = None
    """Coupons to give out this round, exactly; None: the best number."""
    deadline: str = ""
    """The study's last day, year-month-day, if its file has dates; empty: as many rounds as are left."""
    target: int | None = None
    """People wanted in all."""
    interviews_per_week: float | None = None
    """Interviews that can be held in a week; None for any number."""

    def __post_init__(self) -> None:
        check_fields(
            self,
            budget=at_least(0, MOST_COUPONS),
            max_per_person=optional(one_or_more),
            min_per_person=at_least(0),
            round_cap=optional(at_least(0)),
            rounds_left=optional(at_least(0, MOST_ROUNDS_LEFT)),
            reserve=at_least(0, MOST_COUPONS),
            response=among("response", RESPONSES),
            learn=_auto_or_share,
            strata=_field_names,
            randomise=_chance_of_each,
            seed=at_least(0, MOST_SEED),
            population=texts,
            already=optional(at_least(0)),
            acquaintances=optional(at_least(1, MOST_KNOWN)),
            spend=optional(at_least(0, MOST_COUPONS)),
            deadline=optional_day,
            target=optional(one_or_more),
            interviews_per_week=optional(positive),
        )
        if self.spend is not None and (self.strata or self.randomise or self.learn is not None):
            raise SettingError("orders.spend_and_random", spend=Remedy("spend"), cap=Remedy("round_cap"))
        if not self.population and self.acquaintances is not None:
            raise SettingError(
                "orders.acquaintances_of_whom", acquaintances=Remedy("acquaintances"), population=Remedy("population")
            )
        if self.reserve > self.budget:
            raise SettingError("orders.reserve_too_large", reserve=self.reserve, coupons=n_coupons(self.budget))

    @property
    def available(self) -> int:
        """Coupons to plan with."""
        return self.budget - self.reserve

    def check_study_goes_on(self) -> None:
        """Refuse an order that ends the study at once, before a simulation of it."""
        if self.budget == 0:
            raise SettingError("orders.no_budget_ahead")
        if self.rounds_left == 0:
            raise SettingError("orders.no_rounds_ahead")
        if self.available == 0:
            raise SettingError("orders.all_in_reserve", reserve=self.reserve, budget=self.budget)


def _auto_or_share(name: str, value: Any) -> float | str | None:
    """Rule: "auto", a share from 0 to 1, or None."""
    return (
        value
        if value is None or (isinstance(value, str) and value == AUTO)
        else proportion(f"{name} (a share of the people)", value)
    )


def texts(name: str, value: Any) -> tuple[str, ...]:
    """Rule: one number, one text or several; kept as texts."""
    several = value if isinstance(value, list | tuple) else () if value is None else (value,)
    return tuple(str(each) for each in several)


def _field_names(name: str, value: Any) -> tuple[str, ...]:
    """Rule: names of fields, or one text with + between them."""
    names = (value,) if isinstance(value, str) else text_list(name, value)
    if any(not each.strip() for each in names):
        raise SettingError("strata.no_name")
    return names


_chance_of_each = between(0.0, 0.5)


@dataclass(frozen=True, eq=False)
class Task:
    """A checked order for the people who wait, completed with the model's limits."""

    order: PlanOrder
    state: State
    """The state to plan; its rules are the order's, with the rounds that are left."""
    notes: tuple[Message, ...]
    """Where the order goes beyond what the model was fitted for."""

    @property
    def rules(self) -> Rules:
        return self.state.rules

    @property
    def nothing_because(self) -> Message | None:
        """Why nothing can be given out this round; None if something can."""
        if not len(self.state.frontier):
            return note("nothing_to_give.nobody_waiting")
        if self.order.rounds_left == 0:
            return note("nothing_to_give.no_round_left")
        if self.order.round_cap == 0:
            return note("nothing_to_give.round_limit_is_zero")
        if self.order.available == 0:
            return note("nothing_to_give.all_in_reserve" if self.order.reserve else "nothing_to_give.no_coupons_left")
        return None

    @property
    def spendable(self) -> int:
        """Coupons that can be given out this round."""
        return 0 if self.nothing_because else self.state.spendable

    def check_study_goes_on(self) -> None:
        """Refuse a task in which nobody could ever refer, before a simulation of it."""
        if not len(self.state.frontier):
            raise SettingError("orders.nobody_waiting")
        self.order.check_study_goes_on()


def task_of(fit: Fit, frontier: Frontier, order: PlanOrder) -> Task:
    """Turn an order into a state to plan, or raise an error that says what is impossible."""
    fit.schema.check(frontier.covariates)
    fitted, largest = fit.rules, fit.planner.budget
    if order.available > largest:
        raise SettingError(
            "orders.more_than_fitted",
            most=n_coupons(largest),
            found=order.available,
            budget=Remedy("budget", order.available),
            more=order.available - largest,
        )
    most = fitted.max_per_person if order.max_per_person is None else order.max_per_person
    cap = fitted.max_per_round if order.round_cap is None else order.round_cap
    if most is not None and order.min_per_person > most:
        raise SettingError("orders.least_above_most", least=order.min_per_person, most=n_coupons(most))
    left = fitted.rounds if order.rounds_left is None else order.rounds_left
    rules = Rules(order.available, len(frontier), max(left, 1), most, cap or None)  # `nothing_because` reports zeros
    notes = tuple(_notes(fit, order, len(frontier), left, most))
    task = Task(order, State(order.available, frontier, rules=rules), notes)
    if order.spend is not None and order.spend > task.spendable:
        raise SettingError("orders.spend_too_large", spend=n_coupons(order.spend), most=task.spendable)
    needed = order.min_per_person * len(frontier)
    minimum = {"least": order.min_per_person, "people": n_people(len(frontier)), "needed": needed}
    if order.spend is not None and order.spend < needed:
        raise SettingError("orders.spend_below_least", **minimum, spend=order.spend)
    if needed > task.spendable:
        raise SettingError("orders.least_above_spendable", **minimum, most=task.spendable)
    return task


def beyond_shown(most_shown: int | None, most: int | None) -> Message | None:
    """A warning if plans may give people more coupons than the study shows anything about."""
    if most_shown is None or (most is not None and most <= most_shown):
        return None
    within = Remedy("max_per_person", most_shown)
    return warning("evidence.more_coupons", coupons=n_coupons(most_shown), within=within)


def _can_be_simulated(rules: Rules, n_waiting: int) -> bool:
    return smaller_problem(replace(rules, people=n_waiting)).people <= _MOST_SIMULATED


def usual_instead(fit: Fit, order: PlanOrder) -> int:
    """The study's usual number of coupons, if the plan falls back to it because counts contradict the belief; else 0.

    An order that says by itself how numbers come about is followed.
    """
    stories = fit.scores.get("coupon_stories", {})
    by_itself = order.strata or order.randomise or order.at_least or order.learn is not None or order.spend is not None
    return int(stories["usual"]) if stories.get("misfits") and order.response == AVERAGE and not by_itself else 0


def expected_by(fit: Fit, order: PlanOrder) -> Fit:
    """The fit that expectations come from: not a belief that counts contradict, if the plan falls back for that."""
    return fit.of_usual() if usual_instead(fit, order) else fit


def contradiction(misfit: Mapping[str, Any]) -> Message:
    """What people with one number of coupons brought, and what the model expects nevertheless."""
    code = "evidence.contradicted_lately" if misfit["last_wave"] else "evidence.contradicted"
    values = {name: misfit[name] for name in ("people", "brought", "low", "high")}
    return note(code, coupons=n_coupons(misfit["coupons"]), **values)


def _notes(fit: Fit, order: PlanOrder, n_waiting: int, rounds_left: int, max_per_person: int | None) -> list[Message]:
    """Where a task goes beyond what the model was fitted for, or what its study shows."""
    fitted, notes = fit.rules, []
    most_rounds = fit.planner.rounds
    if most_rounds is not None and rounds_left > most_rounds:
        notes.append(note("beyond_the_fit.rounds", most=most_rounds, left=rounds_left))
    if max_per_person != fitted.max_per_person:
        if fitted.max_per_person is None:
            notes.append(note("beyond_the_fit.no_limit"))
        else:
            notes.append(note("beyond_the_fit.other_limit", most=fitted.max_per_person))
    if n_waiting > 3 * fitted.people:
        values = {"fitted": fitted.people, "waiting": n_waiting}
        if _can_be_simulated(fitted, n_waiting):
            notes.append(note("beyond_the_fit.people", **values, again=Remedy("people", n_waiting)))
        else:
            notes.append(note("beyond_the_fit.too_many_people", **values))
    beyond = beyond_shown(fit.most_shown, max_per_person)
    if beyond is not None:
        notes.append(beyond)
    stories = fit.scores.get("coupon_stories", {})
    for misfit in stories.get("misfits", [])[:1]:
        usual, anyway = usual_instead(fit, order), Remedy("response", BELIEF)
        code = "evidence.usual_instead" if usual else "evidence.misfit"
        notes.append(warning(code, found=contradiction(misfit), usual=usual, anyway=anyway))
    notes += [each for each in fit.messages if each.code == "evidence.against_prior"]
    fewest = stories.get("shown", [1])[0]
    if fewest > 1:
        notes.append(warning("evidence.fewer_coupons", coupons=n_coupons(fewest)))
    if fit.scores.get("all_used"):
        notes.append(warning("evidence.all_used"))
    if not fit.belief.fields:
        notes.append(note("evidence.everybody_alike"))
    return notes
