"""Capacity families and generators on real referral data (the public sets described in docs/results.md).

python benchmarks/real_data.py PATH_TO_DATA
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd

from peerfront.foundation.covariates import UNKNOWN, Codes, Field, Schema, categories_in
from peerfront.models.model_diagnostics import response_report
from peerfront.models.offspring.generator_choice import fit_offspring
from peerfront.models.response.response_fit import LOG_LINEAR, ResponseSettings, fit_response
from peerfront.problem import History

STUDIES = {
    "nyjazz": ["gender", "race", "airplay", "union", "age_band"],
    "rdstools_toy": ["Sex", "Race"],
}


def codes_of(table: pd.DataFrame, schema: Schema) -> Codes:
    """The categories of a table as codes, [people, fields]; empty cells are unknown."""
    columns = [[field.code_of.get(value, UNKNOWN) for value in table[field.name]] for field in schema.fields]
    return np.array(columns, dtype=np.int16).T


def study(folder: Path, fields: list[str]) -> History:
    """People with the coupons they were given; people with more recruits than coupons are left out."""
    people = pd.read_csv(folder / "participants.csv", dtype=str, keep_default_na=False)
    schema = Schema(tuple(Field(name, categories_in([v for v in people[name] if v])) for name in fields))
    codes = codes_of(people, schema)
    coupons, recruits = (people[name].astype(int).to_numpy() for name in ("n_coupons_issued", "n_recruits"))
    usable = recruits <= coupons
    row = {person: number for number, person in enumerate(people["id"])}
    pairs = [(row[r], i) for i, r in enumerate(people["recruiter_id"]) if r in row]
    parents, children = (codes[[pair[end] for pair in pairs]] for end in (0, 1))
    left_out = f"{(~usable).sum()} with more recruits than coupons left out"
    print(f"\n{folder.name}: {len(people)} people ({left_out}), {len(pairs)} pairs")
    return History(schema, codes[usable], coupons[usable], recruits[usable], parents, children)


def villages(folder: Path) -> History:
    """The ties of the Korean villages as recruiter-recruit pairs; they say nothing about capacities."""
    nodes, edges = (
        pd.read_csv(folder / f"{name}.csv", dtype=str, keep_default_na=False) for name in ("nodes", "edges")
    )
    fields = [name for name in nodes.columns if name not in ("id", "village", "time_of_adoption")]
    schema = Schema(tuple(Field(name, categories_in([v for v in nodes[name] if v])) for name in fields))
    codes = codes_of(nodes, schema)
    row = {person: number for number, person in enumerate(nodes["id"])}
    parents, children = (codes[[row[person] for person in edges[end]]] for end in ("source", "target"))
    print(f"\n{folder.name}: {len(nodes)} people, {len(edges)} ties, {len(fields)} fields")
    nothing = np.zeros(0, dtype=np.int64)
    return History(schema, codes[:0], nothing, nothing, parents, children)


def main() -> None:
    for name, fields in STUDIES.items():
        history = study(Path(sys.argv[1]) / name, fields)
        model = fit_response(history, ResponseSettings(shapes=(LOG_LINEAR,)))
        base = model.candidates[0]
        for candidate in model.candidates:
            gain = candidate.held_out - base.held_out
            margin = 1.96 * gain.std(ddof=1) * np.sqrt(len(gain))
            print(
                f"  {candidate.label!s:45} held-out {candidate.held_out.sum():9.1f}  "
                f"above Poisson {gain.sum():+6.1f} ± {margin:.1f}"
            )
        print(f"  chosen: {model.reason}")
        for family in ("poisson", model.family):
            fitted = fit_response(history, ResponseSettings(family=family, shapes=(LOG_LINEAR,)))
            report = response_report(fitted, history, parameters=2)
            print(f"  {family}: chi-square {report.chi_square:.1f} on {report.degrees}, p = {report.p_value:.2g}")
        print(report.rootogram.round(1).to_string(index=False))
        print(fit_offspring(history).rivals.round(3).to_string(index=False))
    history = villages(Path(sys.argv[1]) / "korean_family_planning")
    judged = fit_offspring(history, rivals=("inheritance", "softmax", "masked", "diffusion"))
    print(judged.rivals.round(3).to_string(index=False))


if __name__ == "__main__":
    main()
