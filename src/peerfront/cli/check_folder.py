"""The folder that `peerfront check --out` writes; it holds participants' ids, and lies where the user says."""

from collections.abc import Mapping
from pathlib import Path

from peerfront.data import Study, StudySchema, Summary, schema_text
from peerfront.data.problems import problem_table
from peerfront.data.writers import csv_bytes, dot_text
from peerfront.errors import OutputExists
from peerfront.files import make_folder, write_bytes, write_text

SCHEMA = "schema.toml"


class CheckFolder:
    """Made before work begins, so that a folder that cannot be used is refused at once; touches nothing yet."""

    def __init__(self, path: Path, *, overwrite: bool, with_schema: bool) -> None:
        self.path = path
        self.names = ("problems.csv", "summary.csv", "summary.json", "tree.dot", *((SCHEMA,) if with_schema else ()))
        if path.exists() and not path.is_dir():
            raise OutputExists(f"{path} is a file. Choose another folder.")
        there = [name for name in self.names if (path / name).exists()]
        if there and not overwrite:
            kept = f" An edited schema can be used with --schema {path / SCHEMA}." if SCHEMA in there else ""
            raise OutputExists(
                f"{path} holds {', '.join(there)} already. Use --overwrite to replace them, or choose another folder."
                + kept
            )

    def write(self, study: Study, summary: Summary, schema: StudySchema, reasons: Mapping[str, str]) -> None:
        make_folder(self.path)
        for name, table in (("problems.csv", problem_table(study.problems)), ("summary.csv", summary.table())):
            write_bytes(self.path / name, csv_bytes(table.to_csv(index=False, lineterminator="\n")))
        write_text(self.path / "summary.json", summary.as_json())
        write_text(self.path / "tree.dot", dot_text(study))
        if SCHEMA in self.names:
            write_text(self.path / SCHEMA, schema_text(schema, reasons, study.source))
