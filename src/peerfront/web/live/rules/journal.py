"""A whole study in memory: the chain of its events, and the records that follow from them.

Used in tests, and to verify a database: `rebuild` the state from the events and compare its tables.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import cast

from peerfront.web.live.rules.chain import FIRST, Link, checked, erased, linked
from peerfront.web.live.rules.codes import new_code
from peerfront.web.live.rules.deciding import Answer, decide
from peerfront.web.live.rules.effects import Contradiction, effects
from peerfront.web.live.rules.events import AnswersErased, Event
from peerfront.web.live.rules.records import Key, R, Records, Row
from peerfront.web.live.rules.requests import Request


class State(Records):
    """Rows by class and key, and the events of each request; changed only by `add`."""

    def __init__(self) -> None:
        self._tables: dict[type, dict[Key, Row]] = {}
        self._groups: dict[tuple[type, str, str | int], list[Key]] = {}
        self._requests: dict[str, list[Event]] = {}

    def add(self, event: Event) -> None:
        """Apply the next event; if it contradicts earlier ones, raise `Contradiction` and change nothing."""
        before = self._requests.get(event.stamp.request_key, ())
        if event.part != len(before) + 1:
            raise Contradiction(f"Request {event.stamp.request_key} has a part {event.part} after {len(before)} parts.")
        change = effects(self, event)
        for row in change.new:
            if row.key in self._tables.get(type(row), ()):
                raise Contradiction(f"There is {type(row).__name__} {row.key} already.")
        for row in change.changed:
            if row.key not in self._tables.get(type(row), ()):
                raise Contradiction(f"There is no {type(row).__name__} {row.key} to change.")
        keys = [(type(row), row.key) for row in (*change.new, *change.changed)]
        if len(keys) != len(set(keys)):
            raise Contradiction("An event makes or changes a row twice.")
        for row in (*change.new, *change.changed):
            self._tables.setdefault(type(row), {})[row.key] = row
        for row in change.new:
            for name in row.GROUPS:
                self._groups.setdefault((type(row), name, getattr(row, name)), []).append(row.key)
        self._requests.setdefault(event.stamp.request_key, []).append(event)

    def copy(self) -> "State":
        """Copy the state."""
        other = State()
        other._tables = {kind: dict(rows) for kind, rows in self._tables.items()}
        other._groups = {group: list(keys) for group, keys in self._groups.items()}
        other._requests = {key: list(recorded) for key, recorded in self._requests.items()}
        return other

    def table(self, kind: type[R]) -> Mapping[Key, R]:
        """Return all rows of a class by their keys."""
        return cast(Mapping[Key, R], self._tables.get(kind, {}))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, State) and (self._tables, self._requests) == (other._tables, other._requests)

    __hash__ = None  # type: ignore[assignment]  # it changes

    def one(self, kind: type[R], *key: str | int) -> R | None:
        return self.table(kind).get(key)

    def some(self, kind: type[R], keys: Collection[str]) -> Mapping[str, R]:
        return {key: row for key in keys if (row := self.one(kind, key)) is not None}

    def group(self, kind: type[R], field: str, value: str | int) -> Sequence[R]:
        rows = self.table(kind)
        return [rows[key] for key in sorted(self._groups.get((kind, field, value), ()))]

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
        self.links = list(links)
        self.state = rebuild(checked(self.links))

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
