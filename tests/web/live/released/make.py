"""Keep what this version of peerfront writes, so that later versions are tested with it; run once for each release.

    python tests/live/released/make.py

It writes VERSION.sqlite3.gz, a small study in SQLite, and VERSION.backup.zip, a back-up of it.
"""

import gzip
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent


def main() -> None:
    sys.path.insert(0, str(HERE.parent))
    from django_site import STUDY_FOLDER, empty_database, set_up_django, stop_servers, use_database

    set_up_django()
    from django.db import connection, connections
    from live_client import LiveStudy

    from peerfront import __version__
    from peerfront.web.live.operations.backups import back_up_here
    from peerfront.web.live.records import contacts
    from peerfront.web.live.rules.actions import Role
    from peerfront.web.live.rules.events import PaymentKind
    from peerfront.web.live.rules.requests import Pay, ScanCoupon

    settings = empty_database("sqlite")
    use_database(settings)
    study = LiveStudy()
    study.seed("ana")
    study.seed("ben", "south")
    study.approve(ana=2, ben=1)
    study.issue("ana")
    study.do(Pay(study.state.person("ana").code, PaymentKind.INTERVIEW))
    study.ask(ScanCoupon("not a code"))
    contacts.write_contact("ana", {"name": "Somebody"})
    study.user(Role.MANAGER)
    study.user(Role.INTERVIEWER, "south")
    with tempfile.TemporaryDirectory() as folder:
        backup = back_up_here(STUDY_FOLDER, Path(folder) / "backup.zip")
        (HERE / f"{__version__}.backup.zip").write_bytes(backup.read_bytes())
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA journal_mode=DELETE")
    connections.close_all()
    database = Path(settings["NAME"]).read_bytes()
    (HERE / f"{__version__}.sqlite3.gz").write_bytes(gzip.compress(database, 9, mtime=0))
    stop_servers()


if __name__ == "__main__":
    main()
