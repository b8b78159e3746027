"""What commands print, taken apart for pages: sentences below the tables, and the sections of a week's summary."""

from dataclasses import dataclass

WARNING = "Warning"


@dataclass(frozen=True)
class Section:
    """Sentences below a title."""

    title: str
    lines: tuple[str, ...]


def below_the_sheet(printed: str) -> list[str]:
    """The sentences that `peerfront plan` prints between its table and the files it wrote."""
    words = printed.partition("\n\nWritten:")[0]
    return [line.rstrip() for line in words.rpartition("\n\n")[2].splitlines() if line.strip()]


def below_the_forecast(printed: str, policies: int) -> list[str]:
    """The sentences of `peerfront forecast` by rounds, below its table of so many policies."""
    words = printed.partition("\n\nWritten to ")[0].partition("The plan and others")[2].splitlines()
    return [line.rstrip() for line in words[2 + policies :] if line.strip()]


def below_the_weeks(printed: str) -> list[str]:
    """The sentences of `peerfront forecast` by date, below its table of weeks."""
    words = printed.partition("\n\nWritten to ")[0].rpartition("given: coupons at the week's start")[2]
    return [line.rstrip() for line in words.splitlines()[1:] if line.strip()]


def of_the_fit(printed: str) -> list[str]:
    """The sentences of a model's summary."""
    return [line.rstrip() for line in printed.partition("\n\nWritten to ")[0].splitlines() if line.strip()]


def warnings_in(lines: list[str]) -> list[str]:
    return [line for line in lines if line.startswith(WARNING)]


def without_warnings(lines: list[str]) -> list[str]:
    return [line for line in lines if not line.startswith(WARNING)]


def sections_of(summary: str) -> list[Section]:
    """The summary of a week: its first sentences, then a section for each title."""
    sections: list[Section] = []
    for block in summary.split("\n\n"):
        lines = [line for line in block.splitlines() if line.strip()]
        if lines and not sections:
            sections.append(Section("", tuple(lines)))
        elif lines:
            sections.append(Section(lines[0].strip(), tuple(line.strip() for line in lines[1:])))
    return sections
