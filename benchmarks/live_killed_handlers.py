"""Processes that do one request each and are killed in the midst of it; for `live_faults.py handlers`.

A process that has everything loaded is forked for each request. It opens its own connection to the database, sends the
prepared form through all middleware and views, and is killed (SIGKILL) at a moment drawn evenly over the time that this
step takes. Then the same form is sent again, and must succeed and be recorded once.
"""

import os
import random
import select
import signal
import statistics
import time
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from live_steps import Sending, Work

VERIFIED_EVERY = 100
LATEST = 1.1
"""Kills are drawn up to so many times the usual length of a step."""


@dataclass
class Killed:
    """What came of it."""

    kills: Counter[str] = field(default_factory=Counter)
    """By step."""
    answered_first: int = 0
    """Requests that were done before their kill; they are sent a second time as well, and are not counted as kills."""
    recorded: int = 0
    """Killed requests whose events were all recorded before the kill."""
    in_part: int = 0
    """Killed requests of several transactions, some of whose events were recorded."""
    verified: int = 0
    lost: list[str] = field(default_factory=list)


def kill_handlers(work: Work, kills: int, luck: random.Random) -> Killed:
    """Kill processes until so many were killed in the midst of a request."""
    from django.db import connections

    lengths = _usual_lengths(work)
    found, steps = Killed(), sorted(work.steps)
    while found.kills.total() < kills:
        step = luck.choice(steps)
        sending = work.steps[step]()
        connections.close_all()  # a process of its own has a connection of its own
        answered, took = _alone(sending, luck.uniform(0, LATEST * statistics.median(lengths[step][-9:])))
        if took is not None:
            lengths[step].append(took)
        _judge(sending, answered, found)
        if answered:
            found.answered_first += 1
            continue
        found.kills[step] += 1
        if found.kills.total() % VERIFIED_EVERY == 0:
            _verify(work, found)
    _verify(work, found)
    return found


def _usual_lengths(work: Work) -> dict[str, list[float]]:
    """Seconds that each step takes in a process of its own; everything is loaded afterwards."""
    from django.db import connections

    lengths: dict[str, list[float]] = defaultdict(list)
    for step, prepare in work.steps.items():
        for rehearsal in (True, False, False):
            sending = prepare()
            if rehearsal:
                page = sending.send()
                assert sending.succeeded(page), (step, page.status, page.path, page.text[:3000])
                continue
            connections.close_all()
            _, took = _alone(sending, 60)
            assert took is not None, f"{step} takes more than a minute"
            lengths[step].append(took)
    return lengths


def _alone(sending: Sending, seconds: float) -> tuple[str, float | None]:
    """Send a form in a process of its own, which is killed after so many seconds.

    Gives its answer, if there was one before, and how long it took.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reading)
            _send_and_tell(sending, writing)
        finally:
            os._exit(0)
    os.close(writing)
    try:
        begun = os.read(reading, 1)
        began = time.monotonic()
        assert begun == b"b", "the process ended before it began"
        select.select([reading], [], [], seconds)  # `sleep`, unless it answers first
        took = time.monotonic() - began
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        answered = os.read(reading, 1000).decode()
    finally:
        os.close(reading)
    return answered, took if answered else None


def _send_and_tell(sending: Sending, writing: int) -> None:
    from django.db import connection

    from peerfront.web.live.operations import tries

    tries._hashing = ThreadPoolExecutor(tries.HASHES_AT_ONCE)  # the threads of the first process are not in this one
    connection.ensure_connection()
    os.write(writing, b"b")
    page = sending.send()
    os.write(writing, f"{page.status} {'done' if sending.succeeded(page) else 'refused'} {page.path}".encode())


def _judge(sending: Sending, answered: str, found: Killed) -> None:
    """Compare what is recorded with what was answered; send it again, and compare once more."""
    before = sending.recorded()
    if answered:
        if " done " not in answered:
            found.lost.append(f"{sending.step}: answered {answered}")
        if sending.events is not None and (problem := sending.problem()):
            found.lost.append(f"acknowledged and lost: {problem}")
    elif sending.events:
        found.recorded += sorted(before) == sorted(sending.events)
        found.in_part += 0 < len(before) < len(sending.events)
    if answered and not sending.key:
        return  # a login ends the form by which it was made
    page = sending.send()
    if not sending.succeeded(page):
        found.lost.append(f"{sending.step}: the second sending gave {page.status} at {page.path}")
    if problem := sending.problem():
        found.lost.append(f"after the second sending: {problem}")


def _verify(work: Work, found: Killed) -> None:
    found.verified += 1
    faults = [f"verify: {fault}" for fault in work.faults()]
    found.lost += [each for each in faults if each not in found.lost]
