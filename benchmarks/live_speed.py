"""From scan to answer: seconds until a scanned coupon is answered, with many tablets at once.

python benchmarks/live_speed.py --database sqlite
python benchmarks/live_speed.py --database postgresql --think 0

Each of the clients opens the page, shows a coupon, reads the answer for a moment, and shows the next. With `--think 0`
nobody reads: the server is saturated, and a client waits for the work of all others. Seconds are of the wall clock,
clients and server on the same machine.
"""

import argparse
import random
import statistics
import tempfile
import threading
import time
from pathlib import Path

from live_browserless import Browserless
from live_site import PASSWORD, Server, begin, fill


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", choices=("sqlite", "postgresql"), default="sqlite")
    parser.add_argument("--clients", type=int, default=20)
    parser.add_argument("--scans", type=int, default=50, help="scans of each client")
    parser.add_argument("--think", type=float, default=2.0, help="mean seconds between an answer and the next scan")
    parser.add_argument("--coupons", type=int, default=1000)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        begin(Path(folder), chosen.database)
        codes = fill(chosen.coupons, chosen.clients)
        server = Server()
        server.start()
        answered: list[float] = []
        opened: list[float] = []
        barrier = threading.Barrier(chosen.clients)

        def work(number: int) -> None:
            luck, client = random.Random(number), Browserless(server.address)
            client.log_in(f"clerk{number}", PASSWORD)
            barrier.wait()
            for _ in range(chosen.scans):
                time.sleep(luck.expovariate(1 / chosen.think) if chosen.think else 0)
                begun = time.perf_counter()
                page = client.get("/arrive/")
                opened.append(time.perf_counter() - begun)
                form = page.form("typed")
                assert form is not None, page.text[:1000]
                begun = time.perf_counter()
                told = client.send(page, form, typed=luck.choice(codes))
                answered.append(time.perf_counter() - begun)
                assert told.status == 200, told.status

        threads = [threading.Thread(target=work, args=(number,)) for number in range(chosen.clients)]
        begun = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        seconds = time.perf_counter() - begun
        print(f"{chosen.database}, {chosen.clients} clients, {chosen.think} s between scans, {len(answered)} scans:")
        for name, times in (("scan to answer", answered), ("page opened", opened)):
            ordered = sorted(times)
            p95 = ordered[int(0.95 * len(ordered))]
            print(f"  {name}: p50 {1000 * statistics.median(ordered):.0f} ms, p95 {1000 * p95:.0f} ms")
        print(f"  {len(answered) / seconds:.1f} scans a second; memory of the server {server.memory:.0f} MiB")
        server.stop()


if __name__ == "__main__":
    main()
