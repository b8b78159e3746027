"""Files as coordinators keep them: none is read wrongly without a word, none half, and most are read right."""

import pytest

from data.messy_files import messy_files
from data.messy_judging import CRASHED, HALF_READ, SILENT, judged
from data.near_matches import NEAR, RIGHT, near_offer

FILES = tuple(messy_files(seed=1, count=12))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_nothing_is_wrong_without_a_word(file, tmp_path) -> None:
    verdict = judged(file, tmp_path)
    assert verdict.outcome not in (HALF_READ, SILENT, CRASHED), f"{verdict}\n{file.mess}"


@pytest.mark.parametrize("name", NEAR)
def test_the_right_offer_is_made_for_what_is_misspelt_and_none_where_two_would_do(name) -> None:
    assert near_offer(name) == RIGHT
