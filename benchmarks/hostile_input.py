"""Run every command, and the library, on malformed and hostile input, and count what comes of it.

python benchmarks/hostile_input.py                    # the cases of the tests, a minute or two
python benchmarks/hostile_input.py --generated 1      # and all that are generated, half an hour; 10: every tenth
python benchmarks/hostile_input.py --faults           # and say what is wrong with each that fails
python benchmarks/hostile_input.py --only JSON        # one kind

A case is a command line with its files (or a call of the library), and what must come of it; generated cases may be
refused or accepted, but say so clearly, print no nonsense, and change no file they were given. Columns of the table:

- cases: how many there are of the kind;
- clear: refused with exit code 2 and the expected words, and nothing on the screen that acts on a terminal;
- accepted: carried out, as expected;
- tracebacks, hangs (more than 60 seconds);
- nonsense: accepted though it should be refused, or the other way round, without the words that are expected, with
  numbers that are none or negative counts, or with a changed input.
"""

import argparse
import resource
import shutil
import sys
import tempfile
from collections import Counter
from itertools import chain
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[0] = str(ROOT / "tests")  # in place of this folder, whose files would hide tests of the same name

from hostile.cases import CASES, sample  # noqa: E402
from hostile.runner import ACCEPTED, REFUSED, Call, run_call, run_case  # noqa: E402
from study.small_advice import a_fit  # noqa: E402

HANG = 60  # seconds
COLUMNS = ("cases", "clear", "accepted", "tracebacks", "hangs", "nonsense")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--faults", action="store_true", help="say what is wrong with each case that fails")
    parser.add_argument("--generated", type=int, default=0, help="run every nth generated case, too")
    parser.add_argument("--only", help="run one kind of case")
    chosen = parser.parse_args()
    counts: dict[str, Counter[str]] = {}
    slowest = (0.0, "")
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "model"
        a_fit().save(model)
        for number, case in enumerate(chain(CASES, sample(chosen.generated) if chosen.generated else ())):
            if chosen.only not in (None, case.kind):
                continue
            place = Path(folder) / str(number)
            place.mkdir()
            outcome = run_call(case, place, HANG) if isinstance(case, Call) else run_case(case, place, model, HANG)
            shutil.rmtree(place, ignore_errors=True)
            verdict = _verdict(outcome.what, outcome.fault)
            counts.setdefault(case.kind, Counter()).update(("cases", verdict))
            slowest = max(slowest, (outcome.seconds, str(case)))
            if chosen.faults and outcome.fault:
                print(f"{case}: {outcome.fault}", flush=True)
    print("| kind | " + " | ".join(COLUMNS) + " |")
    print("| --- |" + " ---: |" * len(COLUMNS))
    for kind, count in counts.items():
        print(f"| {kind} | " + " | ".join(f"{count[column]:,}" for column in COLUMNS) + " |")
    total = sum(counts.values(), Counter())
    print("| all | " + " | ".join(f"{total[column]:,}" for column in COLUMNS) + " |")
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"\nThe slowest took {slowest[0]:.1f} s ({slowest[1]}); memory at most {memory:.1f} GB.")
    sys.exit(total["cases"] != total["clear"] + total["accepted"])


def _verdict(what: str, fault: str) -> str:
    if what in ("traceback", "hang"):
        return f"{what}s"
    if fault:
        return "nonsense"
    return {REFUSED: "clear", ACCEPTED: "accepted"}[what]


if __name__ == "__main__":
    main()
