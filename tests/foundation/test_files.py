"""Files that are written whole, and never over others without leave."""

import pytest

from peerfront.foundation.errors import DataFileError, OutputExists
from peerfront.foundation.files import check_output, make_folder, write_csv, write_text


def test_a_file_that_exists(tmp_path) -> None:
    path = tmp_path / "a.csv"
    check_output(path, overwrite=False)
    path.write_text("")
    with pytest.raises(OutputExists, match=r"a.csv exists already. Use overwrite=True"):
        check_output(path, overwrite=False)
    check_output(path, overwrite=True)
    with pytest.raises(OutputExists, match="is a folder. Name a file"):
        check_output(tmp_path, overwrite=True)


def test_a_folder_with_files_that_exist(tmp_path) -> None:
    names = ("a.csv", "b.csv", "c.csv")
    check_output(tmp_path / "new", names, overwrite=False)
    (tmp_path / "other.csv").write_text("")
    check_output(tmp_path, names, overwrite=False)
    for name in names[:2]:
        (tmp_path / name).write_text("")
    with pytest.raises(OutputExists, match=r"holds a.csv, b.csv already. Use overwrite=True .* Or this\."):
        check_output(tmp_path, names, overwrite=False, advice="Or this.")
    check_output(tmp_path, names, overwrite=True)
    with pytest.raises(OutputExists, match="is a file. Choose another folder"):
        check_output(tmp_path / "a.csv", names, overwrite=True)


def test_spreadsheets_are_told_about_letters_beyond_ascii(tmp_path) -> None:
    write_csv(tmp_path / "plain.csv", "id\n")
    write_csv(tmp_path / "accents.csv", "âge\n")
    assert (tmp_path / "plain.csv").read_bytes() == b"id\n"
    assert (tmp_path / "accents.csv").read_bytes() == "\ufeffâge\n".encode()


def test_nothing_is_left_behind_where_writing_fails(tmp_path) -> None:
    (tmp_path / "taken").mkdir()
    with pytest.raises(DataFileError, match="Cannot write"):
        write_text(tmp_path / "taken", "x")
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]
    (tmp_path / "file").write_text("")
    with pytest.raises(DataFileError, match="Choose another folder"):
        make_folder(tmp_path / "file" / "below")
