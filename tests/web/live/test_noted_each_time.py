"""What leaves the server is noted each time: a form that is sent again, days later, sends the study again."""

import pytest
from django_site import STUDY_FOLDER
from field_study import FieldStudy, form_with

from peerfront.web.live.operations.backups import new_name, write_backup
from peerfront.web.live.records import models
from peerfront.web.live.rules.actions import Role


def _notes() -> int:
    return models.Event.objects.filter(kind="action_noted").count()


@pytest.mark.usefixtures("one_database")
def test_every_download_of_the_study_is_noted() -> None:
    study = FieldStudy()
    study.seed("ana")
    analyst = study.client(Role.ANALYST)
    form = form_with(analyst.get("/export/"), "key")
    for sent in (1, 2):
        assert analyst.post("/export/file/", form.fields)["Content-Type"] == "application/zip"
        assert _notes() == sent


@pytest.mark.usefixtures("one_database")
def test_every_download_of_a_backup_is_noted() -> None:
    study = FieldStudy()
    name = new_name(STUDY_FOLDER)
    path = write_backup(STUDY_FOLDER, STUDY_FOLDER.backups / name)
    manager = study.client(Role.MANAGER)
    for sent in (1, 2):
        answer = manager.post(f"/back-ups/{name}/", {"key": "one"})
        assert b"".join(answer.streaming_content)[:2] == b"PK"
        assert _notes() == sent
    path.unlink()
