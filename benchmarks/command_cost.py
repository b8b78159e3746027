"""Time and memory of the commands a coordinator waits for, in two versions, interleaved in one run.

python benchmarks/command_cost.py OLD/src [NEW/src] [--repeats 7]
python benchmarks/command_cost.py OLD/src [NEW/src] --fits PATH [--repeats 1]     (PATH holds nyjazz/)

Each repeat runs `--help`, `example`, `check` and `plan` once in the old and once in the new version, in turns, so that
a busy machine is busy for both. Printed are the medians of seconds and of the process's peak memory (MiB), and new over
old. A first round, not counted, compiles and fills the caches. Each version fits the model that its `plan` reads.

With --fits: seconds of the processor of `fit` and `week`, for the example (517 people), nyjazz, and made-up studies of
1,000 and 10,000 people.

To get an older version: `git worktree add OLD COMMIT` (version 0.1 is commit 1a9252c).
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
START = "import sys; sys.argv[0] = 'peerfront'; from peerfront.cli.main import main; main()"
COMMANDS = {
    "--help": "--help",
    "example": "example --out made",
    "check": "check example/study.csv --out checked",
    "plan": "plan model example/frontier.csv --budget 60 --out sheet.csv",
}
FITS = {
    "fit, example": "fit example/study.csv --out example/model --budget 60",
    "week, example": "week example/study.csv --folder example/folder --budget 60 --date 2024-04-29",
    "fit, nyjazz": "fit nyjazz/nyjazz.csv --out nyjazz/model --budget 60",
    "fit, 1,000 people": "fit 1000/study.csv --out 1000/model --budget 60",
    "fit, 10,000 people": "fit 10000/study.csv --out 10000/model --budget 200",
}
MADE = ("example --out example", "example --out 1000 --people 1000", "example --out 10000 --people 10000")
PREPARATION = (
    "example --out example",
    "check example/study.csv --out checked",
    "fit example/study.csv --schema checked/schema.toml --out model --budget 60 --people 41",
)


def run(source: Path, folder: Path, command: str, *, worked: bool = False) -> tuple[float, float]:
    """Run one command of one version; return its seconds (`worked`: of the processor) and its peak memory in MiB."""
    begun = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-c", START, *command.split()],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(source)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    seconds = usage.ru_utime + usage.ru_stime if worked else time.perf_counter() - begun
    if status != 0:
        sys.exit(f"peerfront {command} failed in {source}. Run it by hand with PYTHONPATH={source} to see why.")
    unit = 1024**2 if sys.platform == "darwin" else 1024  # ru_maxrss: bytes on macOS, KiB elsewhere
    return seconds, usage.ru_maxrss / unit


def clear(folder: Path) -> None:
    """Remove what the measured commands write, so that each repeat starts alike."""
    for name in ("made", "checked"):
        shutil.rmtree(folder / name, ignore_errors=True)
    for file in folder.glob("sheet*"):
        file.unlink()


def fits(sources: dict[str, Path], data: Path, repeats: int) -> None:
    """Seconds of the processor of `fit` and `week` in both versions."""
    with tempfile.TemporaryDirectory() as name:
        for version, source in sources.items():
            folder = Path(name) / version
            (folder / "nyjazz").mkdir(parents=True)
            shutil.copy(data / "nyjazz" / "raw" / "nyjazz.csv", folder / "nyjazz")
            for command in MADE:
                run(source, folder, command)
        for label, command in FITS.items():
            costs: dict[str, list[float]] = {version: [] for version in sources}
            for _ in range(repeats):
                for version, source in sources.items():
                    folder = Path(name) / version
                    for made in (
                        "example/folder",
                        *(each.split("--out ")[1].split()[0] for each in FITS.values() if "--out" in each),
                    ):
                        shutil.rmtree(folder / made, ignore_errors=True)
                    costs[version].append(run(source, folder, command, worked=True)[0])
            old, new = (statistics.median(costs[version]) for version in sources)
            print(f"{label}: {old:.1f} and {new:.1f} seconds of the processor, ratio {new / old:.2f}", flush=True)


def main() -> None:
    options = argparse.ArgumentParser(description="Time and memory of the commands in two versions.")
    options.add_argument("old", type=Path, help="the source folder of the old version")
    options.add_argument("new", type=Path, nargs="?", default=ROOT / "src", help="that of the new one (default: this)")
    options.add_argument("--repeats", type=int, default=7)
    options.add_argument("--fits", type=Path, metavar="PATH", help="time fit and week instead; PATH holds nyjazz/")
    given = options.parse_args()
    sources = {"old": given.old.resolve(), "new": given.new.resolve()}
    if given.fits is not None:
        fits(sources, given.fits, given.repeats)
        return
    costs: dict[tuple[str, str], list[tuple[float, float]]] = {}
    with tempfile.TemporaryDirectory() as name:
        folders = {version: Path(name) / version for version in sources}
        for version, source in sources.items():
            folders[version].mkdir()
            for command in PREPARATION:
                run(source, folders[version], command)
        for repeat in range(given.repeats + 1):
            for label, command in COMMANDS.items():
                for version, source in sources.items():
                    if label == "--help":
                        clear(folders[version])
                    cost = run(source, folders[version], command)
                    if repeat > 0:
                        costs.setdefault((label, version), []).append(cost)
    print(f"{'':10}{'seconds':>24}{'':8}{'peak memory, MiB':>24}")
    print(f"{'command':10}" + f"{'old':>12}{'new':>12}{'ratio':>8}" * 2)
    for label in COMMANDS:
        line = f"{label:10}"
        for quantity, digits in ((0, 2), (1, 0)):
            old, new = (statistics.median(cost[quantity] for cost in costs[label, version]) for version in sources)
            line += f"{old:>12.{digits}f}{new:>12.{digits}f}{new / old:>8.2f}"
        print(line)
    print(f"Medians of {given.repeats} repeats.")


if __name__ == "__main__":
    main()
