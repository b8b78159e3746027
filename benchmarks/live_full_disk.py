"""A disk that is full, or so full that only a part of a step finds room; for `live_faults.py disk`.

The study's folder, its database (that of PostgreSQL as well) and temporary files lie on a disk of their own in memory,
which root mounts. For every step of work and every command the disk is filled but for some room, and the step is tried:
it must say clearly that it cannot be done, or be done. Then space is made, and the same step must work.
"""

import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from live_browserless import Page
from live_site import PostgreSQL
from live_steps import InProcess, Sending, Work
from peerfront.web.live.folder import LiveFolder

PAGE = 4096
ROOMS = (0, 4, 16, 40, 100)  # KiB, for a page
ROOMS_OF_COMMANDS = (0, 400)
VERIFIED_EVERY = 10
HEADS = 40
"""Signed heads that are written: some of them do not end where a page of the disk ends."""
MEGABYTES = {"sqlite": 150, "postgresql": 400}
T = TypeVar("T")


class Disk:
    """A small disk, to be filled and emptied."""

    def __init__(self, path: Path) -> None:
        self.path, self.filler = path, path / "filler"

    def fill(self, room: int) -> None:
        """Fill the disk but for so many KiB."""
        self.empty()
        with self.filler.open("wb", buffering=0) as file:
            free = shutil.disk_usage(self.path).free // PAGE * PAGE - room * 1024
            os.posix_fallocate(file.fileno(), 0, max(free, PAGE))

    def empty(self) -> None:
        self.filler.unlink(missing_ok=True)


@contextmanager
def small_disk(folder: Path, database: str) -> Iterator[Disk]:
    """Mount a disk in memory, for everything that this process writes."""
    folder.chmod(0o755)  # PostgreSQL runs as a user of its own
    path = folder / "disk"
    path.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={MEGABYTES[database]}m,mode=755", "tmpfs", str(path)],
        capture_output=True,
        text=True,
    )
    if mounted.returncode:
        raise SystemExit(f"Only root can mount a small disk: {mounted.stderr.strip()}")
    try:
        (path / "tmp").mkdir(mode=0o777)
        os.environ["TMPDIR"] = str(path / "tmp")
        tempfile.tempdir = None
        yield Disk(path)
    finally:
        del os.environ["TMPDIR"]
        tempfile.tempdir = None
        subprocess.run(["umount", "--lazy", str(path)], check=True)


@dataclass
class Filled:
    """What came of it."""

    tried: int = 0
    told: Counter[str] = field(default_factory=Counter)
    """How the full disk was told of, and how often a step was done all the same."""
    lost: list[str] = field(default_factory=list)
    by_step: Counter[str] = field(default_factory=Counter)


class FullDisk:
    """Tries everything on a disk that is full."""

    def __init__(self, disk: Disk, work: Work, luck: random.Random, database: PostgreSQL | None) -> None:
        self.disk, self.work, self.luck, self.database = disk, work, luck, database
        self.found = Filled()

    def try_all(self, most: int | None = None) -> Filled:
        """Try everything, or so many steps and commands that are drawn."""
        self._healthz()
        tries: list[tuple[Callable[[str, int], None], str, int]] = [
            *((self._try_step, step, room) for step in sorted(self.work.steps) for room in ROOMS),
            *((self._try_command, command, room) for command in sorted(self._commands()) for room in ROOMS_OF_COMMANDS),
        ]
        drawn = tries if most is None else sorted(self.luck.sample(tries, most), key=tries.index)  # a link ends a login
        for number, (attempt, name, room) in enumerate(drawn):
            attempt(name, room)
            if number % VERIFIED_EVERY == 0:
                self._verify(name)
        self._heads(HEADS if most is None else min(most, HEADS))
        self._verify("the end")
        return self.found

    def _fault(self, what: str) -> None:
        self.found.lost.append(what)

    def _fill(self, room: int) -> None:
        """Fill the disk, sometimes with connections that are open, and with no room left in the database's log."""
        from django.db import OperationalError, connection, connections

        def end_log() -> None:
            with connection.cursor() as cursor:
                if connection.vendor == "sqlite":
                    cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                else:
                    cursor.execute("CHECKPOINT")  # otherwise its log alone fills the disk
                    if self.luck.random() < 0.3:
                        cursor.execute("SELECT pg_switch_wal()")

        self._ready(end_log)
        if self.luck.random() < 0.5:
            connections.close_all()
        self.disk.fill(room)
        if self.database is not None and self.luck.random() < 0.3:
            try:
                with connection.cursor() as cursor:
                    cursor.execute("SELECT pg_switch_wal()")
            except OperationalError:
                connections.close_all()

    def _empty(self) -> None:
        from django.db import connections

        self.disk.empty()
        if self.database is not None:  # it stops where it cannot write its log, and whoever runs it starts it again
            self.database.start()
            connections.close_all()

    def _ready(self, make: Callable[[], T]) -> T:
        """Prepare something while there is space; PostgreSQL may still be about to stop for want of it."""
        from django.db import OperationalError

        for _ in range(5):
            try:
                return make()
            except (OperationalError, AssertionError):  # a page that is not as expected
                if self.database is None:
                    raise
                self._empty()
        return make()

    def _verify(self, when: str) -> None:
        for fault in self._ready(self.work.faults):
            if (told := f"verify: {fault}") not in self.found.lost:
                self._fault(f"{told} (after {when})")

    # Pages -------------------------------------------------------------------------------------------------------

    def _try_step(self, step: str, room: int) -> None:
        sending = self._ready(self.work.steps[step])
        self.found.tried += 1
        self.found.by_step[sending.step] += 1
        self._fill(room)
        page = sending.send()
        self._empty()
        recorded = sending.recorded()
        told = self._told(sending, page, recorded)
        self.found.told[told] += 1
        name = f"{sending.step} with {room} KiB"
        if told.startswith("?"):
            self._fault(f"{name}: {told}: {_words(page)[:400]}")
        if told == "done" and (sending.events is not None) and (problem := sending.problem()):
            self._fault(f"{name} acknowledged: {problem}")
        if sending.step == "login" and told == "done":
            return
        again = sending.send()
        if not sending.succeeded(again):
            self._fault(f"{name}, sent again: {again.status} at {again.path}: {_words(again)[:400]}")
        if problem := sending.problem():
            self._fault(f"{name}, sent again: {problem}")

    def _told(self, sending: Sending, page: Page, recorded: tuple[str, ...]) -> str:
        """How somebody is told; begins with ? if they are told nothing that helps."""
        words = _words(page)
        if page.status == 503 and "It is not certain" in words:
            return "503"
        if "could not be written" in words or "Free some space" in words or "No space left" in words:
            return "in words on the page"
        if sending.succeeded(page) and (sending.events is None or recorded):
            return "done"
        return f"? {page.status} at {page.path}"

    def _healthz(self) -> None:
        from peerfront.web.live.screens import home

        for room, expected in ((0, 503), (40_000, 503), (None, 200)):
            self.found.tried += 1
            self._empty() if room is None else self._fill(room)
            home._last_look = home._Look()
            page = InProcess().get("/healthz")
            if page.status != expected:
                self._fault(f"/healthz says {page.status} with {room} KiB")
            self.found.told["/healthz"] += 1

    def _heads(self, number: int) -> None:
        """Keep signed heads with the disk full: a line that finds no room is left out, and not cut in two."""
        from peerfront.web.live.operations.signed_heads import keep_head, signed_heads

        for _ in range(number):
            self.found.tried += 1
            self._ready(self.work.step_add_seed).send()
            self._fill(0)
            try:
                keep_head(self.work.folder)
            except Exception as problem:
                from django.db import OperationalError

                if not isinstance(problem, OperationalError):
                    self._fault(f"heads: {type(problem).__name__}: {problem}")
            self._empty()
            self.found.told["signed heads"] += 1
        keep_head(self.work.folder)
        for fault in signed_heads(self.work.folder).faults:
            self._fault(f"heads: {fault}")

    # Commands ----------------------------------------------------------------------------------------------------

    def _commands(self) -> dict[str, tuple[list[str], Path | None]]:
        """Words of each command, and what it makes, which must not be there if it failed."""
        study, top = str(self.work.folder.path), self.disk.path
        backup = top / "kept.zip"
        file = top / "study.csv"
        if not backup.exists():
            from peerfront.web.live.operations.backups import back_up_here, write_backup

            back_up_here(self.work.folder, None)  # for the drill
            write_backup(self.work.folder, backup)
            file.write_text("id,own.coupon,coupon.1,date,site,area,network.size\nz1,,cz1,2026-01-05,north,north,12\n")
        commands: dict[str, tuple[list[str], Path | None]] = {
            "backup": (["backup", study, "--out", str(top / "b.zip")], top / "b.zip"),
            "export": (["export", study, str(top / "e.zip")], top / "e.zip"),
            "export to a folder": (["export", study, str(top / "e")], top / "e"),
            "import": (["import", study, str(file)], None),
            "restore": (["restore", str(backup), str(top / "r")], top / "r"),
            "drill": (["drill", study], None),
            "doctor": (["doctor", study], None),
            "verify": (["verify", study], None),
            "link": (["link", study, "ida"], None),
            "clock": (["clock", study, "--accept", "compared"], None),
            "init": (
                ["init", str(top / "i"), "--name", "N", "--budget", "9", "--cap", "3", "--site", "a=A"],
                top / "i",
            ),
        }
        return commands

    def _try_command(self, name: str, room: int) -> None:
        words, made = self._commands()[name]
        self.found.tried += 1
        self.found.by_step[name] += 1
        environment = dict(os.environ)
        if name in ("restore", "init"):
            environment.pop("DATABASE_URL", None)
        self._fill(room)
        code, told = _run(words, environment)
        self._empty()
        what = f"{name} with {room} KiB"
        if "Traceback" in told or code not in (0, 1, 2) or (code == 1 and name not in ("doctor", "drill", "verify")):
            self._fault(f"{what}: exit code {code}: {told[-1500:]}")
        if code and made is not None and made.exists() and any(made.rglob("*")):
            self._fault(f"{what}: left {sorted(map(str, made.rglob('*')))[:5]}")
        if code and made is not None and made.is_file():
            self._fault(f"{what}: left {made}")
        self.found.told[f"exit code {code}" if code else "done"] += 1
        for path in (made,) if made is not None and made.exists() else ():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        code, told = _run(words, environment)
        if code and not (name == "doctor" and code == 1):
            self._fault(f"{what}, again: exit code {code}: {told[-1500:]}")
        if made is not None and made.exists():
            shutil.rmtree(made) if made.is_dir() else made.unlink()


def _run(words: list[str], environment: dict[str, str]) -> tuple[int, str]:
    command = [sys.executable, "-m", "peerfront", "live", *words]
    ended = subprocess.run(command, capture_output=True, text=True, env=environment, stdin=subprocess.DEVNULL)
    return ended.returncode, ended.stdout + ended.stderr


def _words(page: Page) -> str:
    main = re.search(r"<main.*</main>", page.text, re.S)
    return " ".join(re.sub(r"<[^>]+>", " ", main[0] if main else page.text).split())


def fill_disks(
    folder: Path, database: str, luck: random.Random, begin: Callable[[Path, str], None], most: int | None = None
) -> Filled:
    """Begin a study on a small disk, and try everything."""
    with small_disk(folder, database) as disk:
        begin(disk.path, database)
        postgresql = PostgreSQL(disk.path) if database == "postgresql" else None
        try:
            return FullDisk(disk, Work(LiveFolder(disk.path / "study"), luck), luck, postgresql).try_all(most)
        finally:
            from django.db import connections

            connections.close_all()
            disk.empty()
            if postgresql is not None:
                postgresql.server.cleanup()
