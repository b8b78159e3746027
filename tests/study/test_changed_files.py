"""A study's folder in which somebody, or the disk, changed a file: refused in words, or as if nothing had been."""

import dataclasses
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from changed_files import SPOILS, mend, spoil, with_others
from peerfront.data.read.read_settings import ReadSettings
from peerfront.foundation.chained_log import ChainedLog
from peerfront.foundation.errors import DataFileError, PeerfrontError, SettingError
from peerfront.models.stored_models import check_scores
from peerfront.study import week_changes
from peerfront.study.artifacts import MANIFEST, WEIGHTS, Fit, load_fit
from peerfront.study.log_lines import PEOPLE, SCHEMA
from peerfront.study.model import FitSummary, Model, load
from peerfront.study.study_folder import LOG, LOGGED, StudyFolder
from peerfront.study.week import _order_of
from peerfront.study.week_changes import coupons_left, people_of_week, read_running_study, with_hand_outs
from peerfront.study.week_model import FittedTo
from peerfront.words.stored_text import restored
from peerfront.words.week_words import stored_sections
from small_artifacts import a_fit
from study.running_study import ORDER, Running, quick_fits
from study.test_artifacts_refused import rewritten


@pytest.fixture(scope="module")
def template(tmp_path_factory) -> Running:
    """A study after its second week, the first with a model."""
    with pytest.MonkeyPatch.context() as patch:
        quick_fits(patch)
        study = Running(tmp_path_factory.mktemp("template"))
        study.week(ORDER)
        study.week()
        study.write()
    return study


@pytest.fixture
def study(template, tmp_path, monkeypatch) -> Running:
    quick_fits(monkeypatch)
    return template.copied_to(tmp_path)


def with_entries(study: Running, entries: list[dict[str, Any]]) -> StudyFolder:
    """The folder as if its log had these entries, with hashes that fit."""
    kept = StudyFolder(study.folder)
    kept.log.entries = entries
    kept.weeks = kept._active()
    return kept


def chained_again(study: Running, entries: list[dict[str, Any]]) -> None:
    """Write the log anew with these entries, hashes and all."""
    (study.folder / LOG).unlink()
    log = ChainedLog(study.folder / LOG)
    log.append(entries)
    for note in study.folder.glob(f"week-*/{LOGGED}"):
        note.write_text(f"{log.head}\n")


def lines_of(kept: StudyFolder) -> dict[str, int]:
    """The last line of each kind, and the first week's."""
    numbers = {str(entry["kind"]): number for number, entry in enumerate(kept.log.entries)}
    return numbers | {"first week": 0}


# The log -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("line", ["first week", "week", "decision", "given"])
def test_a_log_with_any_entry_changed_is_refused_or_its_sums_hold(template, line, monkeypatch) -> None:
    kept = StudyFolder(template.folder)
    people = {week.folder: people_of_week(kept, week) for week in kept.weeks}  # read once
    monkeypatch.setattr(week_changes, "people_of_week", lambda _, week: people[week.folder])
    read = read_running_study(template.file, ReadSettings(valid_days=40), template.folder)
    number, entries = lines_of(kept)[line], kept.log.entries
    refused = 0
    for what, changed in with_others(entries[number]):
        try:
            other = with_entries(template, [*entries[:number], changed, *entries[number + 1 :]])
            order = _order_of(other, other.last)
            left = coupons_left(other, read, order.budget)
            decided = other.decided()
            [FittedTo.restored(week.facts["fitted"]) for week in other.weeks]
            assert 0 <= left.left <= order.budget, what
            assert (decided["coupons"] >= 0).all(), what
            assert len(decided) == len(kept.decided()), what
            assert len(with_hand_outs(read, other)) == len(read)
        except PeerfrontError:
            refused += 1
    assert refused > 60


@pytest.mark.parametrize(
    ("line", "changes", "found"),
    [
        ("decision", {"planned": -54}, "planned is -54; expected a whole number of at least 0"),
        ("decision", {"planned": 121}, "planned is 121; expected a whole number of at least 0 and at most"),
        ("decision", {"week": 1}, "week is 1; expected 2"),
        ("decision", {"probability": 1.5}, "probability is 1.5; expected"),
        ("week", {"coupons_left": 121}, "coupons_left is 121; expected a whole number of at least 0 and at most 120"),
        ("week", {"coupons_left": -1}, "coupons_left is -1"),
        ("week", {"number": 3}, "number is 3; expected 2"),
        ("week", {"day": "2026-03-02"}, "day is '2026-03-02'; expected a day after 2026-03-02"),
        ("week", {"day": "2026-02-30"}, "day is '2026-02-30'; expected a day after"),
        ("week", {"order": {"budget": 100}}, "order.budget is 100; expected a whole number of at least 120"),
        ("week", {"folder": "../elsewhere"}, "folder is '../elsewhere'; expected week-02_2026-03-09"),
        ("week", {"model_folder": "/tmp/model"}, "model_folder is '/tmp/model'; expected 'week-02_2026-03-09/model'"),
        ("given", {"planned": 9}, "planned is 9; expected "),
        ("given", {"given": -2}, "given is -2; expected a whole number"),
        ("given", {"kind": "gift"}, "kind is 'gift'; expected one of 'week', 'decision', 'given', 'undo'"),
    ],
)
def test_a_log_that_was_chained_again_is_refused_in_words(study, line, changes, found) -> None:
    kept = StudyFolder(study.folder)
    number, entries = lines_of(kept)[line], kept.log.entries
    chained_again(study, [*entries[:number], entries[number] | changes, *entries[number + 1 :]])
    with pytest.raises(DataFileError) as refused:
        study.make()
    assert f"line {number + 1}: this cannot have been written by peerfront: {found}" in str(refused.value)
    assert "Restore the file from a copy" in str(refused.value)


def test_a_log_chained_again_as_it_was_is_read(study) -> None:
    before = StudyFolder(study.folder)
    chained_again(study, before.log.entries)
    assert StudyFolder(study.folder).weeks == before.weeks


@pytest.mark.parametrize("order", [(1, 0), (0, 0)])
def test_weeks_out_of_order_are_refused(template, order) -> None:
    entries = StudyFolder(template.folder).log.entries
    second = next(n for n, entry in enumerate(entries) if entry["kind"] == "week" and n)
    weeks = [entries[:second], entries[second:]]
    with pytest.raises(DataFileError, match="line 1: .*(kind|number)|number is 1; expected 2"):
        with_entries(template, [entry for number in order for entry in weeks[number]])


def test_an_undo_of_another_week_is_refused(template) -> None:
    entries = StudyFolder(template.folder).log.entries
    folder = StudyFolder(template.folder).last.folder
    for undo in ({"week": 1, "folder": folder}, {"week": 2, "folder": "week-01"}):
        with pytest.raises(DataFileError, match="expected"):
            with_entries(template, [*entries, {"kind": "undo", **undo}])


# Files beside the log ------------------------------------------------------------------------------------------------


def test_people_that_were_edited_are_refused(study) -> None:
    file = study.folder / StudyFolder(study.folder).last.folder / PEOPLE
    file.write_text(file.read_text().replace(",0\n", ",1\n", 1))
    with pytest.raises(DataFileError, match=r"people.csv cannot be used: it was changed \(its checksum .* from a copy"):
        study.make()
    with pytest.raises(DataFileError, match="it was changed"):
        read_running_study(study.file, ReadSettings(valid_days=40), study.folder)


def without_digests(study: Running) -> None:
    """The folder as version 0.3 left it."""
    old = [{k: each for k, each in entry.items() if k != "sha256"} for entry in StudyFolder(study.folder).log.entries]
    chained_again(study, old)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("recruits", "recruited", 1),
        lambda text: text.replace(",1,", ",x,", 1),
        lambda text: text.replace(",1,", ",-1,", 1),
        lambda text: text.replace(",1,", ",1e9,", 1),
        lambda text: text + text.splitlines()[-1] + "\n",
        lambda text: "id\nA\n",
        lambda text: "\x00" + text,
        lambda text: text[: len(text) // 2],
    ],
)
def test_people_of_an_older_folder_are_read_if_they_can_be(study, change: Callable[[str], str]) -> None:
    without_digests(study)
    file = study.folder / StudyFolder(study.folder).last.folder / PEOPLE
    text = file.read_text()
    file.write_text(change(text))
    with pytest.raises(DataFileError, match="people.csv"):
        study.make()
    file.write_text(text)
    assert len(read_running_study(study.file, ReadSettings(valid_days=40), study.folder)) > 24


def test_the_model_of_another_study_is_refused(study) -> None:
    model = StudyFolder(study.folder).model_of(StudyFolder(study.folder).last)
    shutil.rmtree(model)
    a_fit().save(model)
    with pytest.raises(DataFileError, match=r"it is another fit \(its checksum is \w{16}, expected \w{16}\)"):
        study.make()
    with pytest.raises(DataFileError, match="it is another fit"):
        load(model)
    shutil.copytree(model, study.folder.parent / "elsewhere")
    assert isinstance(load(study.folder.parent / "elsewhere"), Model)


def test_an_edited_schema_is_said_and_a_lost_one_refused(study) -> None:
    schema = study.folder / SCHEMA
    text = schema.read_text()
    schema.unlink()
    with pytest.raises(DataFileError, match="schema.toml cannot be used: it is missing"):
        study.make()
    schema.write_text(text + "# seen by Ana\n")
    made = study.make(refit="never")
    assert [each.code for each in made.new.notes] == ["week.schema_edited"]
    schema.write_text(text)
    with pytest.raises(SettingError, match="was made before .*schema.toml was edited. Undo it first"):
        study.make()


@pytest.mark.parametrize("how", SPOILS)
def test_files_that_are_no_files_are_refused(study, how) -> None:
    """Nothing waits for a pipe, fills the memory, or ends without words."""
    kept = StudyFolder(study.folder)
    last, model = study.folder / kept.last.folder, kept.model_of(kept.last)
    for file in (
        study.folder / LOG, study.folder / SCHEMA, last / PEOPLE, last / LOGGED, model / MANIFEST, model / WEIGHTS,
    ):  # fmt: skip
        if (file.name, how) in ((LOGGED, "cut"), (LOGGED, "gone"), (SCHEMA, "cut")):
            continue  # as a run leaves it that is killed just before; a schema may be edited
        content = file.read_bytes()
        spoil(file, how)
        with pytest.raises(DataFileError, match=f"{file.name}|{LOG}"):
            study.make()
        mend(file, content)
    assert len(StudyFolder(study.folder).weeks) == 2


@pytest.mark.parametrize("how", SPOILS)
def test_the_summary_is_only_shown(study, how) -> None:
    last = study.folder / StudyFolder(study.folder).last.folder
    text = (last / "summary.txt").read_text()
    spoil(last / "summary.json", how)
    assert [str(line) for section in stored_sections(last) for line in section.lines] == text.splitlines()
    spoil(last / "summary.txt", how)
    stored_sections(last)


def test_a_summary_with_any_entry_changed_can_be_shown(study) -> None:
    last = study.folder / StudyFolder(study.folder).last.folder
    data = json.loads((last / "summary.json").read_text())
    for _, changed in with_others(data[:2], (None, "text", -1, [], {})):
        (last / "summary.json").write_text(json.dumps(changed))
        [str(line) for section in stored_sections(last) for line in (section.title, *section.lines)]


# The model -----------------------------------------------------------------------------------------------------------


def test_scores_with_any_entry_changed_are_refused_or_can_be_read(template) -> None:
    kept = StudyFolder(template.folder)
    fit = load(kept.model_of(kept.last)).fit
    scores = json.loads(json.dumps(fit.scores))
    refused = 0
    for what, changed in with_others(scores):
        try:
            check_scores(changed, MANIFEST)
            restored(changed.get("messages", []), Path(MANIFEST))
        except PeerfrontError:
            refused += 1
            continue
        assert_readable(dataclasses.replace(fit, scores=changed), what)
    assert refused > 1000


def assert_readable(fit: Fit, what: str) -> None:
    summary = FitSummary(fit)
    try:
        _ = fit.past_forecasts, fit.given, [str(line) for line in (*summary.lines(), *summary.details())]
    except Exception as problem:
        raise AssertionError(what) from problem


def test_a_manifest_with_any_other_entry_changed_is_refused_or_reads_the_same(tmp_path) -> None:
    a_fit().save(tmp_path / "fit")
    manifest = json.loads((tmp_path / "fit" / MANIFEST).read_text())
    same = {"files": 0, "sha256": 0}
    for what, changed in with_others(manifest, (None, "text", -1, 1e300, [])):
        (tmp_path / "fit" / MANIFEST).write_text(json.dumps(changed))
        try:
            fit = load_fit(rewritten(tmp_path / "fit"))
        except PeerfrontError:
            continue
        assert json.loads(fit.files()[MANIFEST]) | same == changed | same, what
        assert_readable(fit, what)
