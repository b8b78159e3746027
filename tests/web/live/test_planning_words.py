"""Sentences of the library in a browser, where there is no command line."""

import pytest

from peerfront.web.live.planning.plain_words import all_without_commands, without_commands


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("Nothing is left out (8 of 10: 3 to 5).", "Nothing is left out (8 of 10: 3 to 5)."),
        ("Until May (as far as is looked ahead; give --deadline if there is one) 5 fit.",
         "Until May (as far as is looked ahead) 5 fit."),
        ("At most 3 each (--max-per-person 3) is safe.", "At most 3 each is safe."),
        ("It changes (`peerfront backtest` shows how).", "It changes."),
        ("No forecast by date. `peerfront forecast` looks ahead by rounds.", "No forecast by date."),
        ("It is less sure. Fitting again with --people 30 repairs that.", "It is less sure."),
        ("A number of +-3 -- perhaps.", "A number of +-3 -- perhaps."),
    ],
)  # fmt: skip
def test_options_and_commands_are_left_out(text, plain) -> None:
    assert without_commands(text) == plain


def test_lines_of_which_nothing_is_left_are_dropped() -> None:
    assert all_without_commands(["Use --this.", "Read that."]) == ("Read that.",)
