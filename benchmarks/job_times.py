"""Compare the time that the app announces for a fit with the time it takes: `python benchmarks/job_times.py`.

Two sizes of study, each fitted twice in a folder of its own: first nothing is known but the fit's own progress, then
the app remembers the fit before. The table has what was announced when a tenth, a half and four fifths of the time
were over, beside what was left. Times are of this machine, and of what else it does.
"""

import argparse
import tempfile
import time
from pathlib import Path

import peerfront as pf
from peerfront.web.app.app_folder import AppFolder
from peerfront.web.app.app_jobs import Jobs, Order

_MOMENTS = (0.1, 0.5, 0.8)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, nargs="+", default=[60, 800], help="sizes of the study")
    parser.add_argument("--coupons", type=int, default=60)
    asked = parser.parse_args()
    print("| people | fit | seconds | announced (left) at 10% | at 50% | at 80% |\n|---|---|---|---|---|---|")
    for people in asked.people:
        with tempfile.TemporaryDirectory() as own:
            folder = AppFolder(Path(own) / "study")
            content = pf.demo_study(people=people).study.to_csv(index=False).encode()
            file = folder.keep("study.csv", content)
            folder.choose(file=file)
            jobs = Jobs(folder)
            jobs.start(Order("file", "read", {"file": file}, (file,)), wait=600)
            fit = Order("fit", "fit", {"file": file, "budget": asked.coupons, "rounds": 5})
            for name in ("first", "again"):
                announced, seconds = watched(jobs, fit)
                told = [_told(announced, share * seconds, seconds) for share in _MOMENTS]
                print(f"| {people} | {name} | {seconds:.0f} | {' | '.join(told)} |", flush=True)
            jobs.close()


def watched(jobs: Jobs, order: Order) -> tuple[list[tuple[float, int | None]], float]:
    """What the job announces, by the second, and the time it takes."""
    began, announced = time.monotonic(), []
    jobs.start(order)
    while (job := jobs.running) is not None:
        announced.append((time.monotonic() - began, job.seconds_left))
        time.sleep(0.2)
    return announced, time.monotonic() - began


def _told(announced: list[tuple[float, int | None]], moment: float, seconds: float) -> str:
    left = next(left for at, left in announced if at >= moment)
    return f"{'nothing' if left is None else left} ({seconds - moment:.0f})"


if __name__ == "__main__":
    main()
