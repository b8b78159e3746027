"""List the people of a study's file, whatever it is: a workbook, a table of text, an RDSAT file or a survey app's
JSON.
"""

import dataclasses
import re
from dataclasses import dataclass
from pathlib import Path

from peerfront.data.listing import Listing, list_table
from peerfront.data.problems import Problem, noted
from peerfront.data.rdsat import list_rdsat
from peerfront.data.read_settings import APP, AUTO, RDSAT, ReadSettings
from peerfront.data.recognition import layout_in, recognised
from peerfront.data.shaping import shape
from peerfront.data.survey_app import list_app
from peerfront.foundation.errors import PeerfrontError, SettingError
from peerfront.foundation.messages import Message, Remedy
from peerfront.foundation.r_data import is_r_data
from peerfront.foundation.text_files import decoded, file_bytes, is_workbook
from peerfront.foundation.text_tables import TextTable, read_table


@dataclass(frozen=True)
class Listed:
    """The people of a file, and how they were found."""

    listing: Listing
    settings: ReadSettings
    """Those that read the file again in the same way: with the sheet, preset and checkboxes that were found."""
    steps: tuple[Message, ...] = ()
    """What was done and assumed."""


def list_file(path: Path, settings: ReadSettings) -> Listed:
    """List the people of a file."""
    content = file_bytes(path)
    if not (is_workbook(content) or is_r_data(content)):
        text, notes = decoded(path, content)
        return list_text(path, text, settings, noted(notes))
    from peerfront.data.sheets import sheet_of  # only here: openpyxl takes a while to load

    if settings.format in (RDSAT, APP):
        raise SettingError(
            "recognition.is_workbook", source=path.name, format=settings.format, wrong=Remedy("format", settings.format)
        )
    table, steps = sheet_of(path, content, settings.sheet, lambda table: misfit(table, settings, path))
    return _list_table(path, table, settings, (), steps)


def list_text(path: Path, text: str, settings: ReadSettings, problems: tuple[Problem, ...]) -> Listed:
    """List the people of a text; `problems` are those of the file itself, and messages call it `path`."""
    format = settings.format if settings.format != AUTO else format_by_beginning(text)
    if format == RDSAT:
        return Listed(list_rdsat(path, text, settings, problems), settings)
    if format == APP:
        return Listed(list_app(path, text, settings, problems), settings)
    return _list_table(path, read_table(path, text), settings, problems, ())


def _list_table(
    path: Path, table: TextTable, settings: ReadSettings, problems: tuple[Problem, ...], steps: tuple[Message, ...]
) -> Listed:
    shaped = shape(table, settings, path.name)
    columns, assumed = recognised(shaped, path.name)
    format = layout_in(shaped, columns, settings.format if settings.format != AUTO else "", path)
    used = {name for names in columns.values() for name in names}
    frame = shaped.table.frame
    unused = [name for name in frame.columns if name in shaped.own and name not in used]
    kept = dataclasses.replace(shaped.table, frame=frame.drop(columns=unused))
    listing = list_table(kept, columns, format, settings, path.name)
    listing = dataclasses.replace(listing, problems=(*problems, *shaped.problems, *listing.problems))
    found = dataclasses.replace(
        settings, sheet=table.sheet or settings.sheet, preset=shaped.preset, checkboxes=shaped.checkboxes
    )
    return Listed(listing, found, (*steps, *shaped.steps, *assumed))


def misfit(table: TextTable, settings: ReadSettings, path: Path) -> Message | None:
    """Say why a table does not tell who recruited whom; None if it does."""
    try:
        shaped = shape(table, settings, path.name)
        columns, _ = recognised(shaped, path.name)
        layout_in(shaped, columns, settings.format if settings.format != AUTO else "", path)
    except PeerfrontError as problem:
        return fault_of(problem)
    return None


def fault_of(error: PeerfrontError) -> Message:
    """What is wrong with a table, without the name of its file."""
    fault = error.message.arguments.get("fault", error.message)
    assert isinstance(fault, Message)
    return fault


def detect(path: Path | str) -> str:
    """Detect the format of a file: coupons, recruiter, rdsat or app."""
    path = Path(path)
    content = file_bytes(path)
    if not (is_workbook(content) or is_r_data(content)):
        format = format_by_beginning(decoded(path, content)[0])
        if format:
            return format
    return list_file(path, ReadSettings(coupons_each=None)).listing.format


def format_by_beginning(text: str) -> str:
    """Recognise RDSAT and JSON by their first characters; return "" for tables, whose columns decide."""
    beginning = text.lstrip()
    if re.match(r"rds[ \t]*(?:\r|\n|$)", beginning[:100], flags=re.IGNORECASE):
        return RDSAT
    return APP if beginning.startswith(("[", "{")) else ""
