"""Coupon codes: drawn at random, without look-alikes, with a check character, printed in groups (`K7M-4RT9-XC0`).

A code has ten of 23 characters: two that stand for the study, seven drawn by `secrets`, and a check character. There
are no vowels, so that no code is a word. Of characters that look alike only one is used; the others are read as it.

**Why the check character catches every single wrong character and every swap of neighbours.** Number the characters 0
to 22 and the places 10 down to 1; a code is valid if the sum of place x character is divisible by 23. One wrong
character changes the sum by place x difference, a swap of neighbours by 1 x difference: neither is divisible by 23,
because 23 is a prime and no factor is (all lie between -22 and 22 and are not 0).

A study that began elsewhere has coupons with codes of another system, too: any 1 to 40 visible characters. These are
compared in one spelling (`foreign_code`), and only the list of imported coupons shows whether one is right.
"""

import secrets
import unicodedata
from collections.abc import Callable, Sequence

ALPHABET = "0123456789CFHKMNPRTVWXY"
"""23 characters, a prime number of them: see the module's text."""
PREFIX_LENGTH, LENGTH = 2, 10
LONGEST_FOREIGN = 40
_GROUPS = (3, 4, 3)
_LONGEST_TYPED = 100  # characters; longer text is no code, whatever it is

# Look-alikes that are read as a character of the alphabet, and Cyrillic letters that look like ours.
_LOOK_ALIKES = str.maketrans("OQDILZSGBU", "000112568V") | str.maketrans(
    "\u0421\u041d\u041a\u041c\u0420\u0422\u0425\u0423\u041e\u0412\u0417", "CHKMPTXY083"
)
_VALUES = {character: value for value, character in enumerate(ALPHABET)}

Choose = Callable[[Sequence[str]], str]
"""Draw one of some characters; `secrets.choice` unless a test needs the same codes each time."""


def new_prefix(choose: Choose = secrets.choice) -> str:
    """Draw the two characters with which all coupons of a study begin; there are 529 such prefixes."""
    return "".join(choose(ALPHABET) for _ in range(PREFIX_LENGTH))


def new_code(prefix: str, choose: Choose = secrets.choice) -> str:
    """Draw a code of the study with this prefix: one of 3.4 billion."""
    if not is_prefix(prefix):
        raise ValueError(f"{prefix!r} is no prefix of a study: it needs {PREFIX_LENGTH} characters of {ALPHABET}.")
    body = prefix + "".join(choose(ALPHABET) for _ in range(LENGTH - PREFIX_LENGTH - 1))
    return body + ALPHABET[-_weighted_sum(body) % len(ALPHABET)]


def read_code(typed: str) -> str | None:
    """Read a code as people type it: any case, with blanks and hyphens, with look-alikes; None if it is mistyped.

    >>> read_code(" k7m 4rt9-xco ")
    'K7M4RT9XC0'
    """
    characters = plain_characters(typed)
    if len(characters) != LENGTH or not set(characters) <= _VALUES.keys():
        return None
    return characters if _weighted_sum(characters) % len(ALPHABET) == 0 else None


def plain_characters(typed: str) -> str:
    """Remove blanks, hyphens and invisible marks, and replace look-alikes; other characters stay."""
    if len(typed) > _LONGEST_TYPED:
        return "?" * LENGTH
    if typed.isascii() and typed.isalnum():  # as stored: the rest would change nothing
        return typed.upper().translate(_LOOK_ALIKES)
    kept = []
    for character in unicodedata.normalize("NFKC", typed):  # full-width letters and digits become ordinary ones
        kind = unicodedata.category(character)
        if kind in ("Pd", "Zs", "Cc", "Cf") or character in "_.\u2212":
            continue
        digit = unicodedata.decimal(character, None)  # digits of other scripts
        kept.append(character if digit is None else str(digit))
    return "".join(kept).upper().translate(_LOOK_ALIKES)


def has_code_form(typed: str) -> bool:
    """Whether the text has the length and the characters of a code; it may still be mistyped."""
    characters = plain_characters(typed)
    return len(characters) == LENGTH and set(characters) <= _VALUES.keys()


def foreign_code(typed: str) -> str | None:
    """Normalise a code of another system: capital letters, single blanks; None if it cannot be a code.

    >>> foreign_code("  ab 0012\u200f ")
    'AB 0012'
    """
    if len(typed) > _LONGEST_TYPED:
        return None
    code = typed
    for _ in range(4):  # case folding can give characters that fold again
        before, code = code, _folded(code)
        if code == before:
            break
    unseen = any(unicodedata.category(character) in ("Cs", "Co", "Cn") for character in code)
    return code if 0 < len(code) <= LONGEST_FOREIGN and not unseen else None


def _folded(text: str) -> str:
    plain = unicodedata.normalize("NFKC", text)
    words = "".join(" " if each.isspace() else each for each in plain).split()
    seen = "".join(each for each in " ".join(words) if unicodedata.category(each) not in ("Cc", "Cf"))
    return " ".join(seen.split()).casefold().upper()


def is_prefix(text: str) -> bool:
    """Whether the text can be the prefix of a study."""
    return len(text) == PREFIX_LENGTH and set(text) <= _VALUES.keys()


def shown_code(code: str) -> str:
    """Write a code in groups, as it is printed; leave a code of another system unchanged.

    >>> shown_code("K7M4RT9XC0"), shown_code("0012 AB")
    ('K7M-4RT9-XC0', '0012 AB')
    """
    if read_code(code) != code:
        return code
    groups, start = [], 0
    for size in _GROUPS:
        groups.append(code[start : start + size])
        start += size
    return "-".join(groups)


def _weighted_sum(characters: str) -> int:
    """Sum place x character, with places counting down from LENGTH; the check character has place 1."""
    return sum((LENGTH - index) * _VALUES[character] for index, character in enumerate(characters))
