"""Files as coordinators keep them: how many are read right, with which help, and whether any is silently wrong.

python benchmarks/messy_files.py                       # every habit alone and 60 combinations, two minutes
python benchmarks/messy_files.py --seed 7 --count 200  # other studies, other combinations
python benchmarks/messy_files.py --only dates          # one kind
python benchmarks/messy_files.py --every               # what came of each file

The files are made by tests/data/messy_files.py, each with its truth; tests/data/messy_judging.py reads them, accepts
every offer, and compares the tree, seeds, coupons, dates and network sizes of everybody. Columns of the table:

- right at once; right after offers: mends accepted, lines pasted;
- refused in words: an error that says why;
- in doubt, and said: values differ, and problems name their rows or columns;
- HALF READ: the same for so many people (a tenth; for dates, half) that it should have been refused;
- SILENTLY WRONG: a value of more than 1% of the people differs, and nothing says so;
- CRASHED: any other exception, or more than 30 seconds.
"""

import argparse
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[0] = str(ROOT / "tests")  # in place of this folder, whose files would hide tests of the same name

from data.messy_files import messy_files  # noqa: E402
from data.messy_judging import CRASHED, HALF_READ, OUTCOMES, SILENT, judged  # noqa: E402
from data.near_matches import NEAR, RIGHT, near_offer  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seed", type=int, default=1, help="which studies and combinations")
    parser.add_argument("--count", type=int, default=60, help="how many combinations")
    parser.add_argument("--only", default="", help="one kind of mess")
    parser.add_argument("--every", action="store_true", help="say what came of each file")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    counts: dict[str, Counter[str]] = {}
    bad: list[str] = []
    for file in messy_files(chosen.seed, chosen.count, chosen.only):
        started = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            verdict = judged(file, Path(folder))
        counts.setdefault(file.kind, Counter()).update(("files", verdict.outcome))
        line = f"{file.name}: {verdict.outcome}. {verdict.detail}"
        if chosen.every:
            print(f"{line} [{time.monotonic() - started:.1f} s, {verdict.offers} offers]", flush=True)
        if verdict.outcome in (HALF_READ, SILENT, CRASHED):
            bad.append(f"{line}\n    {file.mess}" if file.kind == "combinations" else line)
    columns = ("files", *OUTCOMES)
    print("| kind | " + " | ".join(columns) + " |")
    print("| --- |" + " ---: |" * len(columns))
    for kind, count in (*counts.items(), ("all", sum(counts.values(), Counter()))):
        print(f"| {kind} | " + " | ".join(f"{count[column]:,}" for column in columns) + " |")
    print("\nHalf read, silently wrong, or crashed:" if bad else "\nNone is half read, silently wrong or crashed.")
    print("\n".join(f"- {line}" for line in bad))
    if not chosen.only:
        offers = {name: near_offer(name) for name in NEAR}
        told = ", ".join(f"{number} {what}" for what, number in Counter(offers.values()).items())
        print(f"\nNear matches, {len(offers)} cases: {told}")
        print("\n".join(f"- {name}: {what}" for name, what in offers.items() if what != RIGHT))
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
