"""Count made leaks and identities that are caught, and innocent columns that are refused.

python benchmarks/columns.py
"""

import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "data"))

from made_columns import (
    BORDER,
    CAPACITY,
    IDENTITIES,
    INNOCENT,
    LEAKS,
    LOOKALIKES,
    PER_COUPON,
    identifying,
    innocent,
    leaking,
    leaking_like,
)

from peerfront.data.columns.column_findings import Against, column_findings
from peerfront.data.columns.schema_guess import guess_schema
from peerfront.data.read.read_settings import ReadSettings
from peerfront.data.reading import read_study

FILES = {
    "nyjazz": ("raw/nyjazz.csv", {}),
    "rdstools_toy": ("raw/rdstools_toy.csv", {}),
    "fauxtime": ("participants.csv", {"coupons_each": 3}),
    "fauxmadrona": ("participants.csv", {"coupons_each": 2}),
}
SIZES = (50, 100, 300, 1000)
DRAWS = range(100, 110)  # thresholds were chosen by looking at draws 0 to 9, which therefore prove nothing


def main() -> None:
    """Print two tables: of so many draws, how many leaks were caught, and how many innocent columns were refused."""
    print("| leak | " + " | ".join(f"{n} people" for n in SIZES) + " |")
    print("| --- |" + " ---: |" * len(SIZES))
    strangers: Counter[int] = Counter()
    every: Counter[int] = Counter()
    all_caught: Counter[int] = Counter()
    for name in LEAKS:
        cells = []
        for size in SIZES:
            caught = 0
            for draw in DRAWS:
                study, columns = leaking(name, size, draw, (PER_COUPON, CAPACITY)[draw % 2])
                found = column_findings(study)
                caught += all(column in found for column in columns)
                strangers[size] += len(_refused(found) - {*columns, "date"})
            cells.append(caught)
            all_caught[size] += caught
            every[size] += caught == len(DRAWS)
        print(f"| {name} | " + " | ".join(map(str, cells)) + " |", flush=True)
    print("| draws caught, of 200 | " + " | ".join(str(all_caught[size]) for size in SIZES) + " |")
    print("| kinds caught in every draw, of 20 | " + " | ".join(str(every[size]) for size in SIZES) + " |")
    print("| usual columns beside them refused | " + " | ".join(str(strangers[size]) for size in SIZES) + " |")
    print("\n| innocent | " + " | ".join(f"{n} people" for n in SIZES) + " |")
    print("| --- |" + " ---: |" * len(SIZES))
    ever: Counter[int] = Counter()
    total: Counter[int] = Counter()
    for name in (*INNOCENT, *BORDER):
        cells = []
        for size in SIZES:
            refused = 0
            for draw in DRAWS:
                study, _ = innocent(name, size, draw)
                refused += bool(_refused(column_findings(study)) - {"date"})
            cells.append(refused)
            ever[size] += refused > 0 and name in INNOCENT
            total[size] += refused * (name in INNOCENT)
        print(f"| {name} | " + " | ".join(map(str, cells)) + " |", flush=True)
    print("| draws refused, of 200, border cases apart | " + " | ".join(str(total[size]) for size in SIZES) + " |")
    print("| kinds refused in any draw, of 20 | " + " | ".join(str(ever[size]) for size in SIZES) + " |")


def identities() -> None:
    """Print two tables: draws in which a column that names somebody was left out, and one that only looks so."""
    for title, kinds in (("names somebody", IDENTITIES), ("only looks so", LOOKALIKES)):
        print(f"\n| {title} | " + " | ".join(f"{n} people" for n in SIZES) + " |\n| --- |" + " ---: |" * len(SIZES))
        total: Counter[int] = Counter()
        for name in kinds:
            cells = []
            for size in SIZES:
                left_out = 0
                for draw in DRAWS:
                    study, columns = identifying(name, size, draw)
                    used = guess_schema(study).schema.schema.names
                    left_out += not set(columns) & set(used) if kinds is IDENTITIES else not set(columns) <= set(used)
                cells.append(left_out)
                total[size] += left_out
            print(f"| {name} | " + " | ".join(map(str, cells)) + " |", flush=True)
        of = len(kinds) * len(DRAWS)
        print(f"| draws left out, of {of} | " + " | ".join(str(total[size]) for size in SIZES) + " |")


def real_studies(folder: Path) -> None:
    """Print how many draws of each leak are caught among the columns and recruits of real files."""
    studies = {}
    for name, (file, settings) in FILES.items():
        studies[name] = read_study(folder / name / file, ReadSettings(**settings))
    print("\n| leak | " + " | ".join(studies) + " |\n| --- |" + " ---: |" * len(studies))
    total: Counter[str] = Counter()
    strangers: Counter[str] = Counter()
    for leak in LEAKS:
        cells = []
        for name, study in studies.items():
            before, caught = _refused(column_findings(study)), 0
            for draw in DRAWS:
                added, columns = leaking_like(study, leak, draw)
                found = column_findings(added)
                caught += all(column in found for column in columns)
                strangers[name] += len(_refused(found) - before - set(columns))
            cells.append(caught)
            total[name] += caught
        print(f"| {leak} | " + " | ".join(map(str, cells)) + " |", flush=True)
    print("| draws caught, of 200 | " + " | ".join(str(total[name]) for name in studies) + " |")
    print("| other columns refused | " + " | ".join(str(strangers[name]) for name in studies) + " |")


def _refused(found: dict) -> set[str]:
    return {name for name, finding in found.items() if finding.against is not Against.SENSITIVE}


if __name__ == "__main__":
    main()
    identities()
    shared = Path(__file__).parents[2] / "shared" / "data"
    if shared.is_dir():
        real_studies(shared)
