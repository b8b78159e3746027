"""Show what people typed, as it is: names, ids and file names never become markup, commands or invisible marks.

Text from files and command lines can hold anything: terminal escapes, right-to-left marks, half of a surrogate pair,
ten million letters. `visible` spells such characters out (`\\x1b`, `\\u202e`) and cuts what is too long. Whatever is
shown to a person goes through it: tables and messages of the commands, figures, and the report.
"""

import codecs
import re
from typing import Any, TextIO

_LONGEST = 300  # characters of one name, id or category that are shown
LONGEST_LINE = 1_000  # characters of a sentence, or of a line of a message
_MOST_LINES = 200  # of a message
# What can be typed only with effort and would be seen as something else, or not at all: control characters, marks of
# direction and of no width, line and paragraph separators, tags, and halves of surrogate pairs. Newlines stay.
_UNSEEN = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
_PLAINLY = {
    "\u00b1": "+/-", "\u2013": "-", "\u2014": "-", "\u2212": "-", "\u2026": "...", "\u2264": "<=", "\u2265": ">=",
    "\u00d7": "x", "\u2192": "->", "\u2588": "#", "\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"',
}  # fmt: skip
_HANDLER = "peerfront.plainly"


def visible(text: str, longest: int = _LONGEST) -> str:
    """Spell out characters that would not be seen or would act on a terminal; keep newlines; cut long text."""
    if len(text) > longest:  # the end stays too: in a message it says what is wrong
        end = longest // 3
        text = f"{text[: longest - end]}[... {len(text) - longest:,} characters ...]{text[-end:]}"
    return _UNSEEN.sub(_spelled, text)


def visible_message(text: str) -> str:
    """Make a message of several lines visible; lines and messages that are too long are cut."""
    lines = text.split("\n")
    left_out = len(lines) - _MOST_LINES
    visible_lines = [visible(line, LONGEST_LINE) for line in lines[:_MOST_LINES]]
    return "\n".join([*visible_lines, f"[... {left_out:,} ...]"] if left_out > 0 else visible_lines)


def visible_on_page(value: Any) -> Any:
    """Make text for a page visible; other values, pictures (`data:image/...`) and HTML of our own stay as they are."""
    typed = isinstance(value, str) and not hasattr(value, "__html__") and not value.startswith("data:image/")
    return visible(value, LONGEST_LINE) if typed else value


def _spelled(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _plainly(problem: UnicodeError) -> tuple[str, int]:
    """Replace characters that an encoding lacks: by signs that mean the same, else by their number (`\\xe9`)."""
    assert isinstance(problem, UnicodeEncodeError)
    unknown = problem.object[problem.start : problem.end]
    replaced = "".join(_PLAINLY.get(c) or c.encode("ascii", "backslashreplace").decode() for c in unknown)
    return replaced, problem.end


def lose_nothing(stream: TextIO) -> None:
    """Let a stream write every character, whatever its encoding (cp1252, ASCII): what it lacks is spelled out."""
    codecs.register_error(_HANDLER, _plainly)
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(errors=_HANDLER)
