"""Limits of guessing: wrong passwords, unknown coupon codes, and how many passwords are hashed at once.

Counts are kept in the memory of the process and forgotten when it ends; django-axes keeps the wrong passwords of a name
from one address in the database. All limits only slow down: nobody has to be let in again by somebody else.
"""

import ipaddress
import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from enum import StrEnum
from time import monotonic
from typing import TypeVar

from django.contrib.auth.hashers import Argon2PasswordHasher
from django.http import HttpRequest

MOST_KEYS = 10_000
"""Of one limit; beyond that, the ones that were least recently used are forgotten."""
LONGEST_KEY = 150


class About(StrEnum):
    """What there was too much of."""

    LOGINS = "logins"
    PRESENT_PASSWORD = "present_password"
    CODES = "codes"
    AT_ONCE = "at_once"


class TooMany(Exception):
    """There were too many tries: the next may come after `seconds`."""

    def __init__(self, about: About, seconds: float) -> None:
        super().__init__(about, seconds)
        self.about, self.seconds = about, max(math.ceil(seconds), 1)

    @property
    def minutes(self) -> int:
        return math.ceil(self.seconds / 60)

    @property
    def status(self) -> int:
        """The HTTP status of the page that says so."""
        return 503 if self.about is About.AT_ONCE else 429


class Limit:
    """At most `at_once` tries for each key; after that, one more every `every` seconds."""

    def __init__(self, about: About, at_once: int, every: float) -> None:
        self.about, self.at_once, self.every = about, at_once, every
        self._full_at: OrderedDict[str, float] = OrderedDict()  # when all tries of a key are there again
        self._lock = threading.Lock()

    def check(self, key: str) -> None:
        """Raise `TooMany` if there is no try left at the moment."""
        with self._lock:
            full_at = self._full_at.get(key[:LONGEST_KEY], 0.0)
        wait = full_at - monotonic() - (self.at_once - 1) * self.every
        if wait > 0:
            raise TooMany(self.about, wait)

    def count(self, key: str, tries: int = 1) -> None:
        """Count a try; -1 takes one back."""
        key, now = key[:LONGEST_KEY], monotonic()
        with self._lock:
            full_at = max(self._full_at.pop(key, 0.0), now) + tries * self.every
            if full_at > now:
                self._full_at[key] = full_at
            while len(self._full_at) > MOST_KEYS:
                self._full_at.popitem(last=False)


# Wrong passwords: five of a name from an address in a quarter of an hour are the limit of django-axes (settings).
OF_ADDRESS = Limit(About.LOGINS, 20, every=30)
"""Whatever the names; a clinic's tablets may share an address."""
OF_NAME = Limit(About.LOGINS, 10, every=90)
"""From whatever addresses."""
OF_ALL = Limit(About.LOGINS, 40, every=2)
"""Whoever tries in a browser in which this user has not logged in before: many addresses together."""
OF_OWN_BROWSER = Limit(About.LOGINS, 5, every=180)
"""Of a name in a browser in which this user has logged in before: guesses of others do not lock them out there."""
OF_PRESENT_PASSWORD = Limit(About.PRESENT_PASSWORD, 5, every=180)
"""Of somebody who is logged in and changes the password."""
OF_CODES = Limit(About.CODES, 20, every=10)
"""Codes of coupons that are not in the study, shown by one user."""


class Tries:
    """One try that counts for several limits, each with its key; `succeeded` takes it back."""

    def __init__(self, counted: Sequence[tuple[Limit, str]]) -> None:
        """Count a try, or raise `TooMany`."""
        self._counted = counted
        for limit, key in counted:
            limit.check(key)
        for limit, key in counted:
            limit.count(key)

    def succeeded(self) -> None:
        for limit, key in self._counted:
            limit.count(key, -1)


def address_of(request: HttpRequest) -> str:
    """Where a request comes from: the server replaces the address of its proxy (`serving.Server`), nobody else may.

    Of an IPv6 address only the network counts, since one household has all addresses of it.
    """
    try:
        address = ipaddress.ip_address(request.META.get("REMOTE_ADDR", ""))
    except ValueError:
        return "0.0.0.0"  # a socket of this computer
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    return str(address.ipv4_mapped or ipaddress.ip_network((address, 64), strict=False).network_address)


HASHES_AT_ONCE = 2
HASHES_WAITING = 4
"""More than that are refused, so that threads are left for people at work."""
LONGEST_WAIT = 3.0  # seconds in the queue
TRY_AGAIN = 5  # seconds
_hashing = ThreadPoolExecutor(HASHES_AT_ONCE, "password")  # two threads also keep memory for two hashes only
_places = threading.BoundedSemaphore(HASHES_AT_ONCE + HASHES_WAITING)
T = TypeVar("T")


def in_turn(work: Callable[..., T], *arguments: object) -> T:
    """Work that takes much memory, at most two at once; raise `TooMany` if too many wait for it."""
    if not _places.acquire(blocking=False):
        raise TooMany(About.AT_ONCE, TRY_AGAIN)
    try:
        future = _hashing.submit(work, *arguments)
        try:
            return future.result(LONGEST_WAIT)
        except TimeoutError:
            if future.cancel():
                raise TooMany(About.AT_ONCE, TRY_AGAIN) from None
            return future.result()  # it has begun
    finally:
        _places.release()


class SmallArgon2(Argon2PasswordHasher):
    """Argon2 with the least that OWASP advises, two at once; Django writes older hashes anew at the next login."""

    memory_cost = 19_456  # KiB
    time_cost = 2
    parallelism = 1

    def encode(self, password: str, salt: str) -> str:
        return in_turn(super().encode, password, salt)

    def verify(self, password: str, encoded: str) -> bool:
        return in_turn(super().verify, password, encoded)
