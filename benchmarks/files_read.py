"""How many files of the field are read without help, or with one line that the program offers.

python benchmarks/files_read.py

Reads every study in ../shared/data, raw files too, and every export that tests/data/made_exports.py makes. A file is
read if who recruited whom, the seeds and the coupons issued are right; "one line" means that the first attempt was
refused with a line to paste, and that the file was read right with it.
"""

import json
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from peerfront.data.read.read_settings import ReadSettings
from peerfront.data.reading import read_study
from peerfront.data.study import Study, summarise
from peerfront.foundation.errors import PeerfrontError

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from data.made_exports import EXPORTS, made_study, pasted  # noqa: E402

NAMELESS = 40  # made studies whose columns have names that say nothing
REAL = (
    "nyjazz/raw/nyjazz.csv",
    "nyjazz/raw/nyjazz.rdsat",
    "nyjazz/participants.csv",
    "rdstools_toy/raw/rdstools_toy.csv",
    "rdstools_toy/participants.csv",
    "fauxmadrona/raw/fauxmadrona.RData",
    "fauxmadrona/participants.csv",
    "fauxtime/raw/fauxtime.RData",
    "fauxtime/participants.csv",
)
NO_STUDY = ("korean_family_planning/raw/kfamily.rdata", "korean_family_planning/nodes.csv", "fauxmadrona/edges.csv")


def attempt(path: Path) -> tuple[Study | None, str]:
    """Read a file as somebody would who pastes what an error offers, once."""
    try:
        return read_study(path), "without help"
    except PeerfrontError as refused:
        settings = pasted(refused)
    if settings == ReadSettings():
        return None, "not read"
    try:
        return read_study(path, settings), "one line"
    except PeerfrontError:
        return None, "not read"


def is_recorded(study: Study, folder: Path) -> bool:
    """Whether a real study agrees with the numbers recorded beside it, and with everybody's recruiter."""
    known = json.loads((folder / "stats.json").read_text())
    summary = summarise(study)
    recorded = pd.read_csv(folder / "participants.csv", dtype=str, keep_default_na=False)
    by_id = dict(zip(recorded["id"], recorded["recruiter_id"], strict=True))
    coupons = known.get("coupons_issued")
    return (
        (summary.people, summary.seeds, summary.pairs) == (known["n"], known["seeds"], known["dyads"])
        and dict(zip(study.ids, study.recruiter_ids(), strict=True)) == by_id
        and (coupons is None or {str(k): v for k, v in summary.coupons_per_person.items()} == coupons)
    )


def nameless() -> int:
    """Count made studies, with columns called v1, v2, ... in any order, that are read right with the line offered."""
    right = 0
    with tempfile.TemporaryDirectory() as folder:
        for number in range(NAMELESS):
            truth = made_study(seed=number, people=40 + 5 * number)
            columns = {
                "id": [p.id for p in truth.people],
                "own": [p.own for p in truth.people],
                **{f"c{slot}": [p.slots[slot] for p in truth.people] for slot in range(3)},
                "sex": [p.sex for p in truth.people],
                "age": [str(p.age) for p in truth.people],
                "district": [p.district for p in truth.people],
                "date": [p.date for p in truth.people],
                "phone": [str(70000000 + 7919 * n) for n in range(len(truth.people))],
            }
            order = np.random.default_rng(number).permutation(list(columns))
            table = pd.DataFrame({f"v{n}": columns[name] for n, name in enumerate(order)})
            path = Path(folder) / f"{number}.csv"
            table.to_csv(path, index=False)
            study, _ = attempt(path)
            # Nothing tells an id from a phone number where nobody names recruiters by id, so rows are compared.
            wanted = [next((n for n, q in enumerate(truth.people) if q.id == p.recruiter), -1) for p in truth.people]
            right += study is not None and study.recruiter.tolist() == wanted
    return right


def main() -> None:
    lines = ["| file | read | people | seeds | pairs | right |", "| --- | --- | ---: | ---: | ---: | --- |"]
    counts: dict[str, int] = {}

    def tell(name: str, study: Study | None, how: str, right: bool) -> None:
        counts[how if right else "wrong"] = counts.get(how if right else "wrong", 0) + 1
        numbers = ("", "", "")
        if study is not None:
            summary = summarise(study)
            numbers = (f"{summary.people}", f"{summary.seeds}", f"{summary.pairs}")
        lines.append(f"| {name} | {how} | {' | '.join(numbers)} | {'yes' if right else 'no'} |")

    shared = ROOT.parent / "shared" / "data"
    if shared.is_dir():
        for name in REAL:
            study, how = attempt(shared / name)
            tell(name, study, how, study is not None and is_recorded(study, shared / name.split("/")[0]))
    made = made_study()
    coded = made_study(seed_codes=("1", "2", "3", "4", "5"))
    with tempfile.TemporaryDirectory() as folder:
        for name, export in EXPORTS.items():
            for version, truth in ((name, made), (f"seeds-with-codes-{name}", coded)):
                if version != name and name == "recruiter-ids.csv":
                    continue  # it has no codes
                path = Path(folder) / version
                path.write_bytes(export(truth))
                study, how = attempt(path)
                right = study is not None and int(study.seed.sum()) == 5
                if study is not None:
                    ids = [str(person).removeprefix("uuid:") for person in study.ids]
                    found = dict(zip(ids, (r.removeprefix("uuid:") for r in study.recruiter_ids()), strict=True))
                    right &= found == {p.id: p.recruiter for p in truth.people}
                    if name != "recruiter-ids.csv":
                        right &= dict(zip(ids, study.issued.tolist(), strict=True)) == {
                            p.id: len(p.coupons) for p in truth.people
                        }
                tell(version, study, how, right)
    print("\n".join(lines))
    print("\n" + ", ".join(f"{how}: {count}" for how, count in counts.items()))
    print(f"names that say nothing: the line offered is right for {nameless()} of {NAMELESS} made studies")
    if shared.is_dir():
        for name in NO_STUDY:
            study, _ = attempt(shared / name)
            print(f"no study, {'READ ALL THE SAME' if study else 'refused'}: {name}")


if __name__ == "__main__":
    main()
