"""A whole study in memory, as a server keeps it in a database: the chain of its events and the state that follows."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from peerfront.web.live.rules.chain import FIRST, Link, checked, erased, linked
from peerfront.web.live.rules.codes import new_code
from peerfront.web.live.rules.deciding import Answer, decide
from peerfront.web.live.rules.effects import Contradiction
from peerfront.web.live.rules.events import AnswersErased, Event
from peerfront.web.live.rules.requests import Request
from peerfront.web.live.rules.state import State, rebuild


class Journal:
    """Links and state, added to by one request at a time."""

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
        """Decide on a request and record what follows: what a server does in one transaction."""
        answer = decide(self.state, request, now, draw_code)
        if not answer.repeated:
            self.add(answer.events, self.head)
        return answer

    def add(self, events: Sequence[Event], head: str) -> None:
        """Add events that were decided on when the chain ended with `head`; all of them or none."""
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
