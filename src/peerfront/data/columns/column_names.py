"""What the name of a column says: its words, and whether they are about something sensitive.

Names are compared by whole words (`group_a/HIV-Result2` says group, a, hiv, result), so that `race` is found in
`Race.WBO.` and not in `embrace`. The words stand in `vocabulary.toml`.

Sensitive answers must not decide who gets coupons unless the study says so (`use = true`). They are recognised by the
words of a column's name in seven languages, and by answers that leave no doubt (positive and negative; names of
religions). `docs/reference/sensitive-fields.md` lists them all, and a test holds the two equal.
"""

import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from peerfront.data.read.listing import HIGH, LONGEST_NAME, LOW
from peerfront.data.read.listing import plain as plain
from peerfront.data.read.listing import words_of as words_of
from peerfront.foundation.messages import Message, note

VOCABULARY = tomllib.loads(Path(__file__).with_name("vocabulary.toml").read_text("utf-8"))
_AFTER_CAPITALS = re.compile(rf"(?<={HIGH}{HIGH})(?={LOW})")  # HIVresult is HIV and result, HIVResult too
Phrase = tuple[str, ...]
"""Words that must all stand in a name, in whatever order."""


def phrases(*texts: str) -> tuple[Phrase, ...]:
    """Write phrases as text: `phrases("hiv", "test result")`."""
    return tuple(words_of(text) for text in texts)


def says(name: str, listed: Iterable[Phrase]) -> bool:
    """Tell whether all words of one of the phrases stand in the name, or the name is one of them written together."""
    words = words_of(name)
    spoken, joined = {*words, *words_of(_AFTER_CAPITALS.sub(" ", name[:LONGEST_NAME]))}, "".join(words)
    return any(spoken.issuperset(phrase) or joined == "".join(phrase) for phrase in listed)


def is_called(name: str, listed: Iterable[Phrase]) -> bool:
    """Tell whether the name is one of the phrases and nothing else."""
    joined = "".join(words_of(name))
    return any(joined == "".join(phrase) for phrase in listed)


_CONTAINED, _CALLED = (
    {what: phrases(*names) for what, names in VOCABULARY["collection"][how].items()} for how in ("contained", "called")
)
_UNLESS = {what: set(words) for what, words in VOCABULARY["collection"]["unless"].items()}


def speaks_of(what: str, name: str) -> bool:
    """Tell whether a name contains words of this part of the vocabulary, or is called so and nothing else."""
    speaks = says(name, _CONTAINED[what]) or is_called(name, _CALLED.get(what, ()))
    return speaks and not means_otherwise(what, name)


def means_otherwise(what: str, name: str) -> bool:
    """Tell whether a word of the name makes it mean something else."""
    return not _UNLESS.get(what, set()).isdisjoint(words_of(name))


# Sensitive fields ----------------------------------------------------------------------------------------------------


MEANING = note("sensitive.meaning")
"""What using a sensitive field means, in one sentence."""
_TELLING_ANSWERS = 2  # different answers of a topic from which on the topic is certain
_MOST_ANSWERS = 50  # a column with more different answers is free text


@dataclass(frozen=True)
class Topic:
    """A kind of sensitive answer, and how columns that hold it are usually named."""

    title: Message
    names: dict[str, list[str]]
    """By language; a name of several words is found whatever stands between them and in any order."""
    answers: list[str]
    """Answers that only this topic has."""
    other_answers: list[str]
    """Answers that show that a column is about something else: a third colour beside black and white."""
    unless: Sequence[str] = ()
    """Words of the name or of an answer that make a name mean something else: `union libre`."""

    @cached_property
    def listed(self) -> tuple[Phrase, ...]:
        return tuple(phrase for names in self.names.values() for phrase in phrases(*names))


_TITLES = {
    "tests": note("sensitive.tests"),
    "race": note("sensitive.race"),
    "orientation": note("sensitive.orientation"),
    "religion": note("sensitive.religion"),
    "legal": note("sensitive.legal"),
    "politics": note("sensitive.politics"),
    "union": note("sensitive.union"),
    "drugs": note("sensitive.drugs"),
    "pregnancy": note("sensitive.pregnancy"),
    "disability": note("sensitive.disability"),
}
TOPICS = tuple(Topic(title, **VOCABULARY["sensitive"][name]) for name, title in _TITLES.items())


def sensitive_topic(name: str, answers: Iterable[str] = ()) -> Message | None:
    """Return what a column's name or its different answers say about people that is sensitive, if anything."""
    spoken = [words_of(answer) for _, answer in zip(range(_MOST_ANSWERS + 1), answers, strict=False)]
    words = {*words_of(name), *(word for answer in spoken for word in answer)}
    for topic in TOPICS:
        if says(name, topic.listed) and words.isdisjoint(topic.unless):
            return topic.title
    if len(spoken) > _MOST_ANSWERS:
        return None
    given = {" ".join(answer) for answer in spoken}
    for topic in TOPICS:
        telling = len(given.intersection(map(plain, topic.answers)))
        if telling >= _TELLING_ANSWERS and not given.intersection(topic.other_answers):
            return topic.title
    return None
