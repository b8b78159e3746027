"""A language in which every translated sentence stands in brackets: ⟦Give out ⟦3 coupons⟧.⟧

What is left outside brackets was not translated, or is not to be: names, codes, numbers, what people typed.
"""

import re

from peerfront.words.language import Medium, Speaker

_INNERMOST = re.compile("⟦[^⟦⟧]*⟧")
_WORD = re.compile(r"[A-Za-z]{3,}")


def bracketed(sentence: str) -> str:
    return f"⟦{sentence}⟧"


def bracketing(medium: Medium = Medium.TERMINAL) -> Speaker:
    """Somebody who speaks it."""
    return Speaker("xx", medium, bracketed, lambda one, many, n: bracketed(one if n == 1 else many))


def outside_brackets(text: str) -> str:
    """The text without everything in brackets."""
    while _INNERMOST.search(text):
        text = _INNERMOST.sub(" ", text)
    return text


def untranslated(text: str, names: str) -> list[str]:
    """Words outside brackets that are no names; `names` is a pattern of those that may stand there."""
    left = re.sub(names, " ", outside_brackets(text))
    return [line.strip() for line in left.splitlines() if _WORD.search(line)]
