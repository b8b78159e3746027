"""From scan to answer: seconds until a scanned coupon is answered, with many tablets at once.

python benchmarks/live_speed.py --database sqlite
python benchmarks/live_speed.py --database postgresql --think 0
python benchmarks/live_speed.py --clients 10 --scans 15 --tries 0 2 10
python benchmarks/live_speed.py --clients 10 --scans 15 --tries 0 2 10 --addresses

Each of the clients opens the page, shows a coupon, reads the answer for a moment, and shows the next. With `--think 0`
nobody reads: the server is saturated, and a client waits for the work of all others. Seconds are of the wall clock,
clients and server on the same machine.

With `--tries` somebody guesses meanwhile: so many logins a second with invented names, one run of scans after the other
for each number; with `--addresses` each from an address of its own, as through a proxy.
"""

import argparse
import random
import statistics
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

from live_browserless import Browserless, LostConnection
from live_site import PASSWORD, Server, begin, fill


class Guesser:
    """Logs in with invented names, so many times a second, whether or not earlier tries are answered."""

    def __init__(self, server: Server, tries_per_second: float, addresses: bool) -> None:
        self.server, self.pace, self.addresses = server, tries_per_second, addresses
        self.answers: Counter[str] = Counter()
        self._end = threading.Event()
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        if self.pace:
            self._threads = [threading.Thread(target=self._guess)]
            self._threads[0].start()

    def stop(self) -> None:
        self._end.set()
        for thread in self._threads:
            thread.join()

    def _guess(self) -> None:
        number, next_try = 0, time.monotonic()
        while not self._end.wait(max(next_try - time.monotonic(), 0)):
            next_try += 1 / self.pace
            number += 1
            self._threads.append(threading.Thread(target=self._try, args=(number,)))
            self._threads[-1].start()

    def _try(self, number: int) -> None:
        luck = random.Random(f"{self.pace} {number}")
        address = f"10.{luck.randrange(256)}.{luck.randrange(256)}.{luck.randrange(256)}" if self.addresses else ""
        client = Browserless(self.server.address, address)
        try:
            page = client.log_in(f"invented{luck.randrange(10**9)}", "a password that is wrong")
            self.answers[str(page.status)] += 1
        except LostConnection:
            self.answers["no answer"] += 1
        client.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", choices=("sqlite", "postgresql"), default="sqlite")
    parser.add_argument("--clients", type=int, default=20)
    parser.add_argument("--scans", type=int, default=50, help="scans of each client")
    parser.add_argument("--think", type=float, default=2.0, help="mean seconds between an answer and the next scan")
    parser.add_argument("--coupons", type=int, default=1000)
    parser.add_argument("--tries", type=float, nargs="*", default=[0.0], help="logins a second with invented names")
    parser.add_argument("--addresses", action="store_true", help="each of these logins from an address of its own")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        begin(Path(folder), chosen.database, behind_proxy=chosen.addresses)
        codes = fill(chosen.coupons, chosen.clients)
        server = Server()
        server.start()
        clients = [Browserless(server.address, f"192.0.2.{n}" * chosen.addresses) for n in range(chosen.clients)]
        for number, client in enumerate(clients):
            assert client.log_in(f"clerk{number}", PASSWORD).status == 200
        print(f"{chosen.database}, {chosen.clients} clients, {chosen.think} s between scans")
        before: tuple[float, float] | None = None
        for tries in chosen.tries:
            guesser = Guesser(server, tries, chosen.addresses)
            server.forget_most_memory()
            guesser.start()
            begun = time.perf_counter()
            answered, opened = scan_all(clients, codes, chosen.scans, chosen.think)
            seconds = time.perf_counter() - begun
            most = server.most_memory
            guesser.stop()
            p50, _ = shown("scan to answer", answered)
            shown("page opened", opened)
            print(f"  {len(answered) / seconds:.1f} scans a second; memory of the server {most:.0f} MiB at most")
            if tries:
                print(f"  while {tries:g} logins a second were tried, answered with {dict(guesser.answers)}")
            if before is not None:
                print(f"  against the first run: scans x {p50 / before[0]:.2f}, memory x {most / before[1]:.2f}")
            before = before or (p50, most)
        server.stop()


def scan_all(clients: list[Browserless], codes: list[str], scans: int, think: float) -> tuple[list[float], list[float]]:
    """Let all clients scan; gives the seconds until each scan was answered, and until each page was opened."""
    answered: list[float] = []
    opened: list[float] = []
    barrier = threading.Barrier(len(clients))

    def work(number: int, client: Browserless) -> None:
        luck = random.Random(number)
        barrier.wait()
        for _ in range(scans):
            time.sleep(luck.expovariate(1 / think) if think else 0)
            begun = time.perf_counter()
            try:
                page = client.get("/arrive/")
                opened.append(time.perf_counter() - begun)
                form = page.form("typed")
                assert form is not None, page.text[:1000]
                begun = time.perf_counter()
                told = client.send(page, form, typed=luck.choice(codes))
                assert told.status == 200, told.status
            except LostConnection:  # after a minute
                pass
            answered.append(time.perf_counter() - begun)

    threads = [threading.Thread(target=work, args=each) for each in enumerate(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answered, opened


def shown(name: str, times: list[float]) -> tuple[float, float]:
    """Print and give the median and the 95th of a hundred."""
    ordered = sorted(times)
    p50, p95 = statistics.median(ordered), ordered[int(0.95 * len(ordered))]
    print(f"  {name}: p50 {1000 * p50:.0f} ms, p95 {1000 * p95:.0f} ms")
    return p50, p95


if __name__ == "__main__":
    main()
