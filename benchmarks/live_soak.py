"""Put a live study under load: clients at once after the same coupons, a server that is killed, and what is left of it.

python benchmarks/live_soak.py --database sqlite --clients 50 --coupons 1000
python benchmarks/live_soak.py --database postgresql --clients 20 --coupons 500 --kills 100

Each coupon is shown by three clients, each enrols somebody with it, and each asks twice for its payment. What a client
was told is done is noted ("acknowledged"). The server is killed with kill -9 so many times during the load; clients
that lost their connection send the same form again, as a browser does. At the end there must be no coupon redeemed or
paid twice, everything acknowledged must be recorded, and the tables must equal what the events rebuild.
"""

import argparse
import json
import random
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

from live_browserless import Browserless, Form, LostConnection, Page
from live_site import PASSWORD, PostgreSQL, Server, begin, fill

TRIES = 3_000  # a tenth of a second between two: five minutes for a server that is started on a busy machine


class Load:
    """What clients did and were told."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.lock = threading.Lock()
        self.enrolled: list[tuple[str, str]] = []
        self.paid: list[str] = []
        self.counts: Counter[str] = Counter()
        self.faults: list[str] = []
        self.at_work = 0

    def count(self, what: str) -> None:
        with self.lock:
            self.counts[what] += 1

    def again(self, client: Browserless, page: Page, form: Form, **values: str) -> Page:
        """Send a form until it is answered: the same request key each time."""
        for _ in range(TRIES):
            try:
                answered = client.send(page, form, **values)
                if answered.status < 500:
                    return answered
                self.count(f"status {answered.status}")
            except LostConnection:
                self.count("connections lost")
            time.sleep(0.1)
        raise AssertionError("The server did not come back.")

    def open(self, client: Browserless, path: str) -> Page:
        for _ in range(TRIES):
            try:
                page = client.get(path)
                if page.status < 500:
                    return page
                self.count(f"status {page.status}")
            except LostConnection:
                self.count("connections lost")
            time.sleep(0.1)
        raise AssertionError("The server did not come back.")

    def logged_in(self, name: str) -> Browserless:
        client = Browserless(self.server.address)
        for _ in range(TRIES):
            try:
                if client.log_in(name, PASSWORD).status == 200:
                    return client
                time.sleep(1)  # many log in at once
            except (LostConnection, AssertionError):
                time.sleep(0.1)
        raise AssertionError(f"{name} cannot log in.")

    def work(self, number: int, codes: list[str]) -> None:
        """One interviewer and one cashier side by side."""
        try:
            clerk, cashier = self.logged_in(f"clerk{number}"), self.logged_in(f"cash{number}")
            with self.lock:
                self.at_work += 1
            for code in codes:
                self.enrol(clerk, code, number)
                self.pay(cashier, code)
                self.pay(cashier, code)
        except Exception as fault:
            with self.lock:
                self.faults.append(f"{type(fault).__name__}: {fault}")

    def enrol(self, client: Browserless, code: str, number: int) -> None:
        """Show a coupon, and enrol somebody if it can be used."""
        page = self.open(client, "/arrive/")
        form = page.form("typed")
        assert form is not None, page.text[:2000]
        answered = self.again(client, page, form, typed=code)
        enrolment = answered.form("network_size")
        if enrolment is None:
            self.count("scans refused")
            return
        person = f"p{number}-{code}"
        values = {name: options[0] for name, options in enrolment.choices.items() if name != "consent"}
        told = self.again(client, answered, enrolment, **values, person=person, network_size="7")
        if f"/people/{person}/" in told.path:
            with self.lock:
                self.enrolled.append((code, person))
        else:
            self.count("enrolments refused")

    def pay(self, client: Browserless, code: str) -> None:
        page = self.open(client, "/pay/")
        form = page.form("typed")
        assert form is not None, page.text[:2000]
        owed = self.again(client, page, form, typed=code)
        due = next((each for each in owed.forms if each.fields.get("kind") == "interview"), None)
        if due is None:
            self.count("payments refused")
            return
        told = self.again(client, owed, due)
        if "/receipt/" in told.path:
            with self.lock:
                self.paid.append(code)
        else:
            self.count("payments refused")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", choices=("sqlite", "postgresql"), default="sqlite")
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--coupons", type=int, default=1000)
    parser.add_argument("--shown", type=int, default=3, help="how many clients show each coupon")
    parser.add_argument("--kills", type=int, default=0, help="kill -9 of the server during the load")
    parser.add_argument("--json", type=Path, help="write what was found to this file, too")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        begin(Path(folder), chosen.database)
        found = soak(chosen.clients, chosen.coupons, chosen.shown, chosen.kills)
    print(json.dumps(found, indent=2))
    if chosen.json:
        chosen.json.write_text(json.dumps(found, indent=2) + "\n")
    raise SystemExit(1 if wrong(found) else 0)


def soak(
    n_clients: int, n_coupons: int, shown: int, kills: int, database: PostgreSQL | None = None, rest: float = 0.0
) -> dict[str, Any]:
    """Put the study that has just begun under load, and kill the server, or the database that is given, during it.

    The database is down for up to `rest` seconds; the server is not started again then, and has to recover by itself.
    """
    codes = fill(n_coupons, n_clients)
    server = Server()
    server.start()
    try:
        return _soaked(server, codes * shown, n_clients, kills, database, rest)
    finally:
        server.stop()


def _soaked(
    server: Server, codes: list[str], n_clients: int, kills: int, database: PostgreSQL | None, rest: float
) -> dict[str, Any]:
    load = Load(server)
    luck = random.Random(0)
    luck.shuffle(codes)
    begun = time.perf_counter()
    threads = [threading.Thread(target=load.work, args=(n, codes[n::n_clients]), daemon=True) for n in range(n_clients)]
    for thread in threads:
        thread.start()
    killed = 0
    while any(thread.is_alive() for thread in threads):
        time.sleep(luck.uniform(0.2, 1.5))
        if killed < kills and load.at_work == n_clients and any(thread.is_alive() for thread in threads):
            if database is None:
                server.kill()
                server.start()
            else:
                database.kill(at_once=luck.random() < 0.5)
                time.sleep(luck.uniform(0, rest))
                database.start()
            killed += 1
    seconds = time.perf_counter() - begun
    return judged(load) | {"kills": killed, "seconds": round(seconds, 1), "memory_MiB": round(server.memory)}


def wrong(found: dict[str, Any]) -> list[str]:
    """What must not be, and is."""
    names = [name for name in ("redeemed twice", "paid twice", "acknowledged and lost", "faults") if found[name]]
    return [*names, *([] if found["verified"] else ["verify finds faults"])]


def judged(load: Load) -> dict[str, Any]:
    """What the records say, against what clients were told; counted from the events, not from unique tables."""
    from django.db import connections

    from peerfront.web.live.operations.verification import verify
    from peerfront.web.live.records.models import Event

    connections.close_all()  # those from before the database was killed
    redeemed: Counter[str] = Counter()
    paid: Counter[str] = Counter()
    people: dict[str, str] = {}
    for text in Event.objects.filter(kind__in=("person_enrolled", "payment_made")).values_list("data", flat=True):
        event = json.loads(text)
        if event["kind"] == "person_enrolled":
            redeemed[event["fact"]["code"]] += 1
            people[event["fact"]["code"]] = event["fact"]["person"]
        else:
            paid[event["fact"]["code"]] += 1
    verification = verify()
    return {
        "coupons enrolled with": len(redeemed),
        "coupons paid": len(paid),
        "redeemed twice": sum(number > 1 for number in redeemed.values()),
        "paid twice": sum(number > 1 for number in paid.values()),
        "acknowledged": len(load.enrolled) + len(load.paid),
        "acknowledged and lost": sum(people.get(code) != person for code, person in load.enrolled)
        + sum(code not in paid for code in load.paid),
        "verified": verification.whole,
        "events": verification.events,
        "counts": dict(load.counts),
        "faults": load.faults[:5],
    }


if __name__ == "__main__":
    main()
