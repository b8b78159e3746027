"""The world `study`: a study's file, read and checked as everywhere, becomes a world like it (`simulation.study_like`).

It stands here because it needs both the reading of files (`data`) and worlds (`simulation`), which do not know each
other; the catalogue of worlds names this module and loads it when such a world is made.
"""

from pathlib import Path
from typing import Any

import numpy as np

from peerfront.data.columns.column_findings import vetted
from peerfront.data.columns.schema_guess import guess_schema
from peerfront.data.reading import read_study
from peerfront.data.schema_file import read_schema
from peerfront.data.study import Study
from peerfront.data.study_schema import StudySchema, encode_study, history_of
from peerfront.foundation.errors import SettingError
from peerfront.foundation.recruitment_trees import NOBODY
from peerfront.simulation.demo_study import demo_study
from peerfront.simulation.study_like import StudyWorld, StudyWorldSettings, study_like


def study_world(draw: int = 0, file: str | None = None, schema: str | None = None, **settings: Any) -> StudyWorld:
    """Make a world like the study in a file; without one, like the made-up study of `peerfront example`.

    `schema` is a schema file, as `peerfront check --out` writes it; without one the columns are guessed. `settings` are
    fields of `StudyWorldSettings`.
    """
    world_settings = StudyWorldSettings(draw=draw, **settings)
    if file is None:
        if schema is not None:
            raise SettingError("study_like_world.schema_without_file")
        return world_like(read_study(demo_study().study), None, world_settings)
    saved = None if schema is None else read_schema(Path(schema))
    return world_like(read_study(Path(file), saved.reading if saved else None), saved, world_settings)


def world_like(study: Study, schema: StudySchema | None, settings: StudyWorldSettings) -> StudyWorld:
    """Make a world like a study that has been read; without a schema the columns are guessed."""
    columns = schema or guess_schema(study).schema
    columns.check_columns(study)
    columns = vetted(study, columns).schema
    recruiter = study.recruiter[np.flatnonzero(study.recruiter != NOBODY)]
    history, people = history_of(study, columns), encode_study(study, columns)
    return study_like(history, people, settings, source=study.source, recruiters=recruiter)
