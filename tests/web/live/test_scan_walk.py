"""What one scan of a coupon costs: few files, few SQL statements, and the study is read once."""

import sys
from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from field_study import FieldStudy

import peerfront
from peerfront.web.live.rules.actions import Role

SOURCE = str(Path(peerfront.__file__).parent)
MOST_FILES = 16
MOST_STATEMENTS = 8


def files_called(action) -> set[str]:
    """Files of the package whose functions run."""
    files = set()

    def note(frame, event, argument) -> None:
        if event == "call" and frame.f_code.co_name != "<module>" and frame.f_code.co_filename.startswith(SOURCE):
            files.add(frame.f_code.co_filename.removeprefix(SOURCE))

    sys.setprofile(note)
    try:
        action()
    finally:
        sys.setprofile(None)
    return files


@pytest.mark.usefixtures("one_database")
@pytest.mark.parametrize("site", ["north", None])
def test_a_scan_reads_the_study_once_and_takes_few_statements(site) -> None:
    study = FieldStudy()
    first, second = study.coupons(2)
    client = study.client(Role.INTERVIEWER, site)
    client.post("/arrive/", {"typed": first, "key": "k1"})  # what is loaded once is not of one scan
    with CaptureQueriesContext(
        connection,
    ) as queries:
        files = files_called(lambda: client.post("/arrive/", {"typed": second, "key": "k2"}))
    statements = [each["sql"] for each in queries]
    assert len(statements) <= MOST_STATEMENTS, statements
    assert sum('FROM "records_study"' in each for each in statements) == 1
    assert not any('UPDATE "records_study"' in each and '"settings" =' in each for each in statements)
    assert len(files) <= MOST_FILES, "\n".join(sorted(files))
