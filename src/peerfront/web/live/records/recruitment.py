"""Who recruited whom, and how many people and coupons there are by day: kept in memory, as of the last event.

Progress and trees need all people, which a large study reads in a second. So each process reads them once, and then
only the events that are new (`recruitment_now`). What is kept is always what the tables say: a test compares them.
"""

import threading
from bisect import insort
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from zoneinfo import ZoneInfo

from django.db import DatabaseError, connections

from peerfront.web.live.records.database import DatabaseRecords, link_of, one_moment
from peerfront.web.live.records.models import HANDED_OUT, Coupon, Person
from peerfront.web.live.records.models import Event as StoredEvent
from peerfront.web.live.records.recording import last_event
from peerfront.web.live.rules import events
from peerfront.web.live.rules.chain import kind_name
from peerfront.web.live.rules.events import Event
from peerfront.web.live.rules.records import StudyRow


@dataclass(frozen=True, slots=True)
class Recruited:
    """Somebody in a chain."""

    person: str
    recruiter: str | None
    site: str
    enrolled_at: datetime
    withdrawn: bool = False


@dataclass(slots=True)
class Chain:
    """Everybody whom one person recruited, directly or through others."""

    root: str
    people: int
    waves: int
    """Of the deepest person; the root is wave 0."""
    newest: datetime


class Forest:
    """People by recruiter. People whose recruiter is not among them begin a chain, as seeds do."""

    def __init__(self, people: Iterable[Recruited] = ()) -> None:
        self.people = {each.person: each for each in people}
        self.recruits: dict[str, list[str]] = {}
        """Recruits of each person in the order in which they came."""
        self.waves: dict[str, int] = {}
        """Recruitments between the beginning of the chain and each person."""
        self._chain: dict[str, Chain] = {}
        """The chain of each person."""
        self._chains: list[Chain] = []
        roots = []
        for each in sorted(self.people.values(), key=lambda person: (person.enrolled_at, person.person)):
            if each.recruiter in self.people:
                self.recruits.setdefault(str(each.recruiter), []).append(each.person)
            else:
                roots.append(each.person)
        for root in roots:
            for person, wave in self.below(root):
                self._place(self.people[person], wave)

    def add(self, each: Recruited) -> None:
        """Add somebody who came after the others."""
        self.people[each.person] = each
        wave = 0
        if each.recruiter in self.people:
            wave = self.waves[str(each.recruiter)] + 1
            siblings = self.recruits.setdefault(str(each.recruiter), [])
            insort(siblings, each.person, key=lambda person: (self.people[person].enrolled_at, person))
        self._place(each, wave)

    def _place(self, each: Recruited, wave: int) -> None:
        self.waves[each.person] = wave
        if wave == 0:
            self._chain[each.person] = Chain(each.person, 0, 0, each.enrolled_at)
            self._chains.append(self._chain[each.person])
        chain = self._chain[each.person] = self._chain[each.person if wave == 0 else str(each.recruiter)]
        chain.people += 1
        chain.waves, chain.newest = max(chain.waves, wave), max(chain.newest, each.enrolled_at)

    def chains(self) -> list[Chain]:
        """All chains, the largest first."""
        return sorted(self._chains, key=lambda chain: (-chain.people, chain.root))

    def below(self, root: str) -> Iterator[tuple[str, int]]:
        """Everybody of a chain with their wave, wave by wave."""
        wave, number = [root], 0
        while wave:
            yield from ((person, number) for person in wave)
            wave = [each for person in wave for each in self.recruits.get(person, ())]
            number += 1


@dataclass
class Counts:
    """People and coupons of the study or of a site. Days are those of the study's time zone."""

    days: Counter[date] = field(default_factory=Counter)
    """People by the day on which they came."""
    seeds: int = 0
    waves: Counter[int] = field(default_factory=Counter)
    unused: Counter[date] = field(default_factory=Counter)
    """Coupons that are neither used nor void, by the day on which they were handed out."""
    used: Counter[int] = field(default_factory=Counter)
    """Used coupons, by the days between handing out and use."""
    void: Counter[int] = field(default_factory=Counter)
    """Void coupons, by the days for which they were out."""


class Recruitment:
    """All people and coupons as of one event."""

    def __init__(self, study: StudyRow) -> None:
        """Read the tables, in a transaction that sees one moment."""
        self._zone = ZoneInfo(study.settings.timezone)
        self.counts: dict[str | None, Counts] = defaultdict(Counts)
        """By site; by None of the whole study."""
        self.forests: dict[str | None, Forest] = defaultdict(Forest)
        """The people of a site; by None all people."""
        self.last = last_event()
        columns = ("person", "recruiter_id", "site_id", "enrolled_at", "withdrawn_at")
        rows = Person.objects.order_by().values_list(*columns).iterator(chunk_size=2_000)
        people = [
            Recruited(person, recruiter, site, at, withdrawn is not None)
            for person, recruiter, site, at, withdrawn in rows
        ]
        dates = ("site_id", "issued_at", "redemption__at", "voided_at")
        coupons = Coupon.objects.filter(HANDED_OUT).order_by().values_list(*dates)
        for site, issued, used, void in coupons.iterator(chunk_size=2_000):
            self._count_coupons(site, issued, used, void)
        self.forests[None] = Forest(people)
        for site in {each.site for each in people}:
            self.forests[site] = Forest(each for each in people if each.site == site)
        for each in people:
            self._count_person(each)

    def update(self, new: Iterable[Event]) -> None:
        """Apply events of `_KINDS` that were recorded since."""
        new = list(new)
        codes = {
            fact.code for each in new if isinstance(fact := each.fact, events.PersonEnrolled | events.CouponVoided)
        }
        issued_at = dict(Coupon.objects.filter(pk__in=codes).values_list("pk", "issued_at"))  # which never changes
        site_of = dict(Coupon.objects.filter(pk__in=codes).values_list("pk", "site_id"))
        for event in new:
            fact, at, site = event.fact, event.stamp.server_time, event.stamp.site or ""
            match fact:
                case events.SeedAdded():
                    self._add(Recruited(fact.person, None, site, at))
                case events.PersonEnrolled():
                    self._add(Recruited(fact.person, fact.recruiter, site, at))
                    self._count_coupons(site_of[fact.code], issued_at[fact.code], used=at, was_unused=True)
                case events.PersonWithdrawn():
                    gone = replace(self.forests[None].people[fact.person], withdrawn=True)
                    for forest in (self.forests[None], self.forests[gone.site]):
                        forest.people[fact.person] = gone
                case events.CouponsIssued():
                    own = self.forests[None].people[fact.person].site
                    self._count_coupons(own, at, number=len(fact.codes))
                case events.CouponVoided():
                    self._count_coupons(site_of[fact.code], issued_at[fact.code], void=at, was_unused=True)

    def _add(self, each: Recruited) -> None:
        for forest in (self.forests[None], self.forests[each.site]):
            forest.add(each)
        self._count_person(each)

    def _count_person(self, each: Recruited) -> None:
        for counts in (self.counts[None], self.counts[each.site]):
            counts.days[self._day(each.enrolled_at)] += 1
            counts.seeds += each.recruiter is None
            counts.waves[self.forests[None].waves[each.person]] += 1

    def _count_coupons(
        self,
        site: str,
        issued: datetime,
        used: datetime | None = None,
        void: datetime | None = None,
        *,
        was_unused: bool = False,
        number: int = 1,
    ) -> None:
        begin, end = self._day(issued), used or void
        age = None if end is None else max((self._day(end) - begin).days, 0)
        for counts in (self.counts[None], self.counts[site]):
            if was_unused:
                counts.unused[begin] -= number
            if age is None:
                counts.unused[begin] += number
            else:
                (counts.void if used is None else counts.used)[age] += number

    def _day(self, at: datetime) -> date:
        return at.astimezone(self._zone).date()


_KINDS = (events.SeedAdded, events.PersonEnrolled, events.PersonWithdrawn, events.CouponsIssued, events.CouponVoided)
_READ_AGAIN = (events.StudyBegun, events.SettingsChanged, events.PersonImported)
"""After these, which are rare, the tables are read again."""
_MOST_NEW = 5_000
"""With more new events reading the tables is faster."""
_lock = threading.RLock()
_kept: Recruitment | None = None


@contextmanager
def recruitment_now(study: StudyRow) -> Iterator[Recruitment]:
    """The people and coupons as of the last event; what is read from the database meanwhile is of the same moment."""
    global _kept  # one for the process
    with _lock, one_moment():
        new = None if _kept is None else _new_events(_kept)
        if _kept is None or new is None:
            _kept = None
            _kept = Recruitment(study)
        else:
            (number, hashed), stored = new
            try:
                _kept.update(link_of(each).event for each in stored)
            except BaseException:
                _kept = None  # updated in part
                raise
            _kept.last = number, hashed
        yield _kept


def _new_events(kept: Recruitment) -> tuple[tuple[int, str], list[StoredEvent]] | None:
    """The last event, and those of `_KINDS` since; None if the tables must be read again."""
    number, hashed = kept.last
    last = last_event()
    if last == kept.last:
        return last, []
    same = StoredEvent.objects.filter(number=number, hash=hashed).exists()  # otherwise it is another study
    if not same or not 0 < last[0] - number <= _MOST_NEW:
        return None
    kinds = [kind_name(kind) for kind in (*_KINDS, *_READ_AGAIN)]
    stored = StoredEvent.objects.filter(number__gt=number, number__lte=last[0], kind__in=kinds).order_by("number")
    new = list(stored)
    return None if {each.kind for each in new} & {kind_name(kind) for kind in _READ_AGAIN} else (last, new)


def read_ahead() -> threading.Thread:
    """Read the tables in the background, so that nobody waits for it."""

    def read() -> None:
        try:
            if (study := DatabaseRecords().study()) is not None:
                with recruitment_now(study):
                    pass
        except DatabaseError:  # the first page that needs it says what is wrong
            pass
        finally:
            connections.close_all()

    thread = threading.Thread(target=read, name="recruitment", daemon=True)
    thread.start()
    return thread
