"""Keep what this version of peerfront writes, so that later versions are tested with it; run once for each release.

    python tests/web/live/released/make.py

It writes VERSION.sqlite3.gz, a small study in SQLite, VERSION.backup.zip, a back-up of it, and VERSION.folder.tar.xz,
the folder of the made-up study of `peerfront live demo` with its keys; somebody's answers were erased in it.
"""

import gzip
import sys
import tarfile
import tempfile
from pathlib import Path

HERE = Path(__file__).parent


def main() -> None:
    sys.path.insert(0, str(HERE.parent))
    from django_site import STUDY_FOLDER, empty_database, set_up_django, stop_servers, use_database

    set_up_django()
    from django.db import connection, connections
    from live_client import LiveStudy, write_contact

    from peerfront import __version__
    from peerfront.web.live.operations.backups import back_up_here
    from peerfront.web.live.operations.demo import make_demo
    from peerfront.web.live.operations.staff import ask_here
    from peerfront.web.live.records import models
    from peerfront.web.live.rules.actions import Role
    from peerfront.web.live.rules.events import PaymentKind
    from peerfront.web.live.rules.requests import EraseAnswers, Pay, ScanCoupon

    settings = empty_database("sqlite")
    use_database(settings)
    study = LiveStudy()
    study.seed("ana")
    study.seed("ben", "south")
    study.approve(ana=2, ben=1)
    study.issue("ana")
    study.do(Pay(study.state.person("ana").code, PaymentKind.INTERVIEW))
    study.ask(ScanCoupon("not a code"))
    write_contact("ana", {"name": "Somebody"})
    study.user(Role.MANAGER)
    study.user(Role.INTERVIEWER, "south")
    with tempfile.TemporaryDirectory() as folder:
        backup = back_up_here(STUDY_FOLDER, Path(folder) / "backup.zip")
        (HERE / f"{__version__}.backup.zip").write_bytes(backup.read_bytes())

    def close() -> None:
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA journal_mode=DELETE")
            cursor.execute("VACUUM")
        connections.close_all()

    close()
    database = Path(settings["NAME"]).read_bytes()
    (HERE / f"{__version__}.sqlite3.gz").write_bytes(gzip.compress(database, 9, mtime=0))
    settings = empty_database("sqlite")
    use_database(settings)
    make_demo()
    withdrawn = models.Person.objects.filter(withdrawn_at__isnull=False)[0]
    ask_here(EraseAnswers(withdrawn.person, "asked to"), role=Role.COORDINATOR)
    close()
    with tarfile.open(HERE / f"{__version__}.folder.tar.xz", "w:xz") as archive:
        archive.add(settings["NAME"], "study.sqlite3")
        for name in ("keys.json", "site.json"):
            archive.add(STUDY_FOLDER.path / name, name)
    stop_servers()


if __name__ == "__main__":
    main()
