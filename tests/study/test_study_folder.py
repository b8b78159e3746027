"""A study's folder: weeks are added and undone, nothing is overwritten, and a log that was edited stops everything."""

import pytest

from peerfront.foundation.errors import DataFileError, SettingError
from peerfront.study.decision_log import recorded_strata
from peerfront.study.log_lines import PEOPLE, SCHEMA
from peerfront.study.study_folder import LOG, LOGGED, UNDONE, StudyFolder

PLAN = ({"person": "P1", "planned": 2, "probability": 1.0}, {"person": "P2", "planned": 0, "probability": 0.5})
TABLE = b"id,recruiter,seed,issued,recruits\nP1,,1,0,0\nP2,P1,0,0,0\n"


def add(folder: StudyFolder, number: int, day: str, given=(), plan=PLAN, **changed) -> str:
    name = folder.free_name(number, day)
    (folder.path / SCHEMA).write_text("# nothing\n")
    facts = {
        "number": number, "day": day, "study": "Harbour", "file": "harbour.csv", "digest": "0" * 16, "people": 2,
        "last_date": "", "coupons_left": 10, "model": "", "model_folder": "", "refitted": False,
        "fitted": {"day": "", "holders": 0, "recruits": 0, "chosen_at": 0}, "order": {"budget": 10},
    }  # fmt: skip
    folder.add_week(name, {PEOPLE: TABLE, "model/part": b"y"}, facts | changed, plan, given)
    return name


@pytest.fixture
def place(tmp_path):
    (tmp_path / "harbour").mkdir()
    return tmp_path / "harbour"


def test_weeks_are_read_back(place) -> None:
    folder = StudyFolder(place)
    assert folder.last is None
    add(folder, 1, "2026-03-02")
    add(folder, 2, "2026-03-09", [{"week": 1, "person": "P1", "planned": 2, "given": 3}])
    again = StudyFolder(place)
    assert [(week.number, week.day, week.decisions) for week in again.weeks] == [
        (1, "2026-03-02", PLAN),
        (2, "2026-03-09", PLAN),
    ]
    assert [entry["given"] for entry in again.given()] == [3]
    assert (place / "week-02_2026-03-09" / "model" / "part").read_bytes() == b"y"


def test_undo_takes_back_the_last_week_and_removes_nothing(place) -> None:
    folder = StudyFolder(place)
    add(folder, 1, "2026-03-02")
    first = add(folder, 2, "2026-03-09", [{"week": 1, "person": "P1", "planned": 2, "given": 3}])
    assert folder.undo().number == 2
    assert [week.number for week in StudyFolder(place).weeks] == [1]
    assert (place / first / UNDONE).exists()
    assert (place / first / PEOPLE).read_bytes() == TABLE
    assert add(folder, 2, "2026-03-09") == f"{first}_2"
    folder.undo()
    folder.undo()
    with pytest.raises(SettingError, match="no week to undo"):
        folder.undo()
    assert len(StudyFolder(place).log.entries) == 1 + 2 * 3 + 6 + 2 - 2


def test_a_killed_run_leaves_a_folder_that_nothing_reads(place, monkeypatch) -> None:
    folder = StudyFolder(place)
    monkeypatch.setattr(folder.log, "append", lambda entries: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        add(folder, 1, "2026-03-02")
    monkeypatch.undo()
    again = StudyFolder(place)
    assert again.last is None
    assert add(again, 1, "2026-03-02") == "week-01_2026-03-02_2"


def test_a_log_that_was_edited_is_refused(place) -> None:
    add(StudyFolder(place), 1, "2026-03-02")
    log = place / LOG
    log.write_text(log.read_text().replace('"planned": 2', '"planned": 3'))
    with pytest.raises(DataFileError, match="line 2: the log was changed after it was written .its hash is"):
        StudyFolder(place)


def test_a_lost_folder_and_a_file_in_its_place(place) -> None:
    folder = StudyFolder(place)
    (place / add(folder, 1, "2026-03-02")).rename(place / "elsewhere")
    with pytest.raises(DataFileError, match="lacks the folder week-01_2026-03-02"):
        StudyFolder(place)
    (place / "file").write_text("")
    with pytest.raises(DataFileError, match="is a file. Name a folder"):
        StudyFolder(place / "file")


def test_estimates_take_people_and_strata_from_the_log(place) -> None:
    folder = StudyFolder(place)
    plan = (
        {"person": "P1", "planned": 2, "stratum": "North", "probability": 1.0},
        {"person": "P2", "planned": 1, "stratum": "South", "probability": 0.5},
    )
    add(folder, 1, "2026-03-02", plan=plan)
    again = ({"person": "P2", "planned": 3, "stratum": "South", "probability": 1.0},)
    given = (
        {"week": 1, "person": "P1", "planned": 2, "given": 3},
        {"week": 1, "person": "P2", "planned": 1, "given": 0},
    )
    add(folder, 2, "2026-03-09", given, again)
    assert folder.decided().to_numpy().tolist() == [["P1", 3, "North", 1.0], ["P2", 3, "South", 1.0]]
    for named in (place, place / LOG):
        assert recorded_strata([named], "decision log").of_person == {"P1": "North", "P2": "South"}
    (place / "empty").mkdir()
    with pytest.raises(DataFileError, match="holds no log of a running study"):
        recorded_strata([place / "empty"], "decision log")


def cut_lines(place, count: int) -> None:
    lines = (place / LOG).read_text().splitlines(keepends=True)
    (place / LOG).write_text("".join(lines[:-count]))


@pytest.mark.parametrize("count", [1, 2, 3, 5, 6])
@pytest.mark.parametrize("noted", [True, False])
def test_a_log_without_its_last_lines_is_refused(place, count, noted) -> None:
    folder = StudyFolder(place)
    add(folder, 1, "2026-03-02")
    last = add(folder, 2, "2026-03-09")
    if not noted:  # a run that was killed just before it noted the hash
        (place / last / LOGGED).unlink()
    cut_lines(place, count)
    if not noted and count == 3:  # all of that week is gone, as if it had never been logged
        assert StudyFolder(place).last.number == 1
        return
    with pytest.raises(DataFileError, match="lines at the end of the log are missing"):
        StudyFolder(place)


def test_a_log_that_is_deleted_or_lacks_an_undo_is_refused(place) -> None:
    folder = StudyFolder(place)
    add(folder, 1, "2026-03-02")
    folder.undo()
    cut_lines(place, 1)
    with pytest.raises(DataFileError, match="lacks the undo of week-01_2026-03-02"):
        StudyFolder(place)
    (place / LOG).unlink()
    with pytest.raises(DataFileError, match="lacks the lines of week-01_2026-03-02"):
        StudyFolder(place)
