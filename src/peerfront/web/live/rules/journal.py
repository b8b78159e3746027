"""A whole study in memory: the chain of its events, and the records that follow from them.

Used in tests, and to verify a database: `rebuild` the state from the events and compare its tables.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TypeVar, cast

from peerfront.web.live.rules.chain import FIRST, Link, checked, erased, linked
from peerfront.web.live.rules.codes import new_code
from peerfront.web.live.rules.deciding import Answer, decide
from peerfront.web.live.rules.effects import Contradiction, effects, key_of
from peerfront.web.live.rules.events import AnswersErased, Event, PaymentKind
from peerfront.web.live.rules.records import (
    CouponRow,
    DecisionRow,
    Key,
    OverrideRow,
    PaymentRow,
    PersonRow,
    PlanLineRow,
    PlanRow,
    RedemptionRow,
    Row,
    SiteRow,
    StudyRow,
)
from peerfront.web.live.rules.requests import Request

R = TypeVar("R", bound=Row)


class State:
    """Rows by class and key, and the events of each request; changed only by `add`."""

    def __init__(self) -> None:
        self._tables: dict[type, dict[Key, Row]] = {}
        self._requests: dict[str, list[Event]] = {}
        self._coupons_of: dict[str, list[str]] = {}
        self._lines_of: dict[int, list[str]] = {}
        self._plans_for: dict[str, list[int]] = {}
        self._rounds_of: dict[str, list[int]] = {}

    def add(self, event: Event) -> None:
        """Apply the next event; if it contradicts earlier ones, raise `Contradiction` and change nothing."""
        before = self._requests.get(event.stamp.request_key, ())
        if event.part != len(before) + 1:
            raise Contradiction(f"Request {event.stamp.request_key} has a part {event.part} after {len(before)} parts.")
        change = effects(self, event)
        for row in change.new:
            if key_of(row) in self._tables.get(type(row), ()):
                raise Contradiction(f"There is {type(row).__name__} {key_of(row)} already.")
        for row in change.changed:
            if key_of(row) not in self._tables.get(type(row), ()):
                raise Contradiction(f"There is no {type(row).__name__} {key_of(row)} to change.")
        keys = [(type(row), key_of(row)) for row in (*change.new, *change.changed)]
        if len(keys) != len(set(keys)):
            raise Contradiction("An event makes or changes a row twice.")
        for row in (*change.new, *change.changed):
            self._tables.setdefault(type(row), {})[key_of(row)] = row
        for row in change.new:
            if isinstance(row, CouponRow) and row.holder is not None:
                self._coupons_of.setdefault(row.holder, []).append(row.code)
            elif isinstance(row, PlanLineRow):
                self._lines_of.setdefault(row.plan, []).append(row.person)
                self._plans_for.setdefault(row.person, []).append(row.plan)
            elif isinstance(row, DecisionRow):
                self._rounds_of.setdefault(row.person, []).append(row.round)
        self._requests.setdefault(event.stamp.request_key, []).append(event)

    def copy(self) -> "State":
        """Copy the state."""
        other = State()
        other._tables = {kind: dict(rows) for kind, rows in self._tables.items()}
        other._requests = {key: list(recorded) for key, recorded in self._requests.items()}
        other._coupons_of = {key: list(codes) for key, codes in self._coupons_of.items()}
        other._lines_of = {key: list(people) for key, people in self._lines_of.items()}
        other._plans_for = {key: list(plans) for key, plans in self._plans_for.items()}
        other._rounds_of = {key: list(rounds) for key, rounds in self._rounds_of.items()}
        return other

    def table(self, kind: type[R]) -> Mapping[Key, R]:
        """Return all rows of a class by their keys."""
        return cast(Mapping[Key, R], self._tables.get(kind, {}))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, State) and (self._tables, self._requests) == (other._tables, other._requests)

    __hash__ = None  # type: ignore[assignment]  # it changes

    def study(self) -> StudyRow | None:
        return self.table(StudyRow).get(())

    def site(self, site: str) -> SiteRow | None:
        return self.table(SiteRow).get((site,))

    def person(self, person: str) -> PersonRow | None:
        return self.table(PersonRow).get((person,))

    def people(self, people: Collection[str]) -> Mapping[str, PersonRow]:
        return {name: row for name in people if (row := self.person(name)) is not None}

    def coupon(self, code: str) -> CouponRow | None:
        return self.table(CouponRow).get((code,))

    def coupons(self, codes: Collection[str]) -> Mapping[str, CouponRow]:
        return {code: row for code in codes if (row := self.coupon(code)) is not None}

    def coupons_of(self, person: str) -> Sequence[CouponRow]:
        coupons = self.table(CouponRow)
        return [coupons[(code,)] for code in sorted(self._coupons_of.get(person, ()))]

    def redemption(self, code: str) -> RedemptionRow | None:
        return self.table(RedemptionRow).get((code,))

    def plan(self, plan: int) -> PlanRow | None:
        return self.table(PlanRow).get((plan,))

    def plan_line(self, plan: int, person: str) -> PlanLineRow | None:
        return self.table(PlanLineRow).get((plan, person))

    def plan_lines(self, plan: int) -> Sequence[PlanLineRow]:
        lines = self.table(PlanLineRow)
        return [lines[plan, person] for person in sorted(self._lines_of.get(plan, ()))]

    def plan_lines_of(self, person: str) -> Sequence[PlanLineRow]:
        lines = self.table(PlanLineRow)
        return [lines[plan, person] for plan in sorted(self._plans_for.get(person, ()))]

    def override(self, round: int, person: str) -> OverrideRow | None:
        return self.table(OverrideRow).get((round, person))

    def decision(self, round: int, person: str) -> DecisionRow | None:
        return self.table(DecisionRow).get((round, person))

    def decisions_of(self, person: str) -> Sequence[DecisionRow]:
        decisions = self.table(DecisionRow)
        return [decisions[round, person] for round in sorted(self._rounds_of.get(person, ()))]

    def payment(self, code: str, kind: PaymentKind) -> PaymentRow | None:
        return self.table(PaymentRow).get((code, kind.value))

    def events_of(self, request_key: str) -> Sequence[Event]:
        return tuple(self._requests.get(request_key, ()))


def rebuild(events: Iterable[Event]) -> State:
    """Build the state from events; the same events always give the same state."""
    state = State()
    for event in events:
        state.add(event)
    return state


class Journal:
    """The chain and its state, extended by one request at a time."""

    def __init__(self, links: Iterable[Link] = ()) -> None:
        self.links: list[Link] = []
        self.state = State()
        stored = list(links)
        for event in checked(stored):
            self.state.add(event)
        self.links = stored

    @property
    def head(self) -> str:
        """The hash of the last event, which stands for everything before it."""
        return self.links[-1].hash if self.links else FIRST

    def answer(self, request: Request, now: datetime, draw_code: Callable[[str], str] = new_code) -> Answer:
        """Decide on a request and record its events, as a server does in one transaction."""
        answer = decide(self.state, request, now, draw_code)
        if not answer.repeated:
            self.add(answer.events, self.head)
        return answer

    def add(self, events: Sequence[Event], head: str) -> None:
        """Add all events, or none, if the chain still ends with `head`, the hash at which they were decided."""
        if head != self.head:
            raise Contradiction("Something was recorded since this was decided. Decide again.")
        state = self.state.copy() if len(events) > 1 else self.state  # `State.add` alone is all or nothing
        links: list[Link] = []
        for event in events:
            link = linked(len(self.links) + len(links) + 1, links[-1].hash if links else head, event)
            state.add(event)
            links.append(link)
        self.state = state
        self.links.extend(links)
        for event in events:
            if isinstance(event.fact, AnswersErased):
                self.links = [erased(link, event.fact.person) for link in self.links]
                self.state = rebuild(checked(self.links))
