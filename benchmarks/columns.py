"""Count made leaks that are caught, and innocent strong predictors that are refused: `python benchmarks/columns.py`."""

import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "data"))

from made_columns import BORDER, CAPACITY, INNOCENT, LEAKS, PER_COUPON, innocent, leaking

from peerfront.data.column_findings import Against, column_findings

SIZES = (50, 100, 300, 1000)
DRAWS = 10


def main() -> None:
    """Print two tables: of so many draws, how many leaks were caught, and how many innocent columns were refused."""
    print("| leak | " + " | ".join(f"{n} people" for n in SIZES) + " |")
    print("| --- |" + " ---: |" * len(SIZES))
    strangers: Counter[int] = Counter()
    every: Counter[int] = Counter()
    for name in LEAKS:
        cells = []
        for size in SIZES:
            caught = 0
            for draw in range(DRAWS):
                study, columns = leaking(name, size, draw, (PER_COUPON, CAPACITY)[draw % 2])
                found = column_findings(study)
                caught += all(column in found for column in columns)
                strangers[size] += len(_refused(found) - {*columns, "date"})
            cells.append(caught)
            every[size] += caught == DRAWS
        print(f"| {name} | " + " | ".join(map(str, cells)) + " |", flush=True)
    print("| caught in every draw, of 20 | " + " | ".join(str(every[size]) for size in SIZES) + " |")
    print("| usual columns beside them refused | " + " | ".join(str(strangers[size]) for size in SIZES) + " |")
    print("\n| innocent | " + " | ".join(f"{n} people" for n in SIZES) + " |")
    print("| --- |" + " ---: |" * len(SIZES))
    ever: Counter[int] = Counter()
    for name in (*INNOCENT, *BORDER):
        cells = []
        for size in SIZES:
            refused = 0
            for draw in range(DRAWS):
                study, _ = innocent(name, size, draw)
                refused += bool(_refused(column_findings(study)) - {"date"})
            cells.append(refused)
            ever[size] += refused > 0 and name in INNOCENT
        print(f"| {name} | " + " | ".join(map(str, cells)) + " |", flush=True)
    print("| refused in any draw, of 20 | " + " | ".join(str(ever[size]) for size in SIZES) + " |")


def _refused(found: dict) -> set[str]:
    return {name for name, finding in found.items() if finding.against is not Against.SENSITIVE}


if __name__ == "__main__":
    main()
