"""Readers, writers and validators of the field's file formats."""

from peerfront.data.frontier_file import frontier_from_table, read_frontier
from peerfront.data.problems import FaultyStudy, Problem
from peerfront.data.read_settings import FORMATS, ReadSettings, parse_columns
from peerfront.data.reading import detect, read_study, study_from_table
from peerfront.data.schema_file import parse_schema, read_schema, schema_text
from peerfront.data.schema_guess import Guess, GuessSettings, guess_schema
from peerfront.data.study import Study
from peerfront.data.study_schema import EVERYBODY, FieldRule, StudySchema, encode_study, frontier_of, history_of
from peerfront.data.summary import Summary, summarise
from peerfront.data.writers import study_text, write_study

__all__ = [
    "EVERYBODY",
    "FORMATS",
    "FaultyStudy",
    "FieldRule",
    "Guess",
    "GuessSettings",
    "Problem",
    "ReadSettings",
    "Study",
    "StudySchema",
    "Summary",
    "detect",
    "encode_study",
    "frontier_from_table",
    "frontier_of",
    "guess_schema",
    "history_of",
    "parse_columns",
    "parse_schema",
    "read_frontier",
    "read_schema",
    "read_study",
    "schema_text",
    "study_from_table",
    "study_text",
    "summarise",
    "write_study",
]
