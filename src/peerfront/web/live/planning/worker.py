"""The process of one planning job: python -m peerfront.web.live.planning.worker FOLDER JOB."""

import logging
import os
import sys

NICER = 10
"""How far this process steps back behind those who serve the site."""


def main(folder: str, job: str) -> None:
    """Do one job for the study in a folder."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "peerfront.web.live.django_settings"
    from peerfront.web.live.folder import FOLDER

    os.environ[FOLDER] = folder
    if hasattr(os, "nice"):
        os.nice(max(NICER - os.nice(0), 0))
    import django

    django.setup()
    from peerfront.web.live.folder import WithoutPersonalData
    from peerfront.web.live.planning.planning_jobs import run

    handler = logging.StreamHandler()
    handler.setFormatter(WithoutPersonalData("%(asctime)sZ %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    try:
        run(int(job))
    except Exception:  # such as a lost database; Python's own traceback might quote somebody's entry
        logging.getLogger(__name__).exception("Job %s could not be ended.", job)
        sys.exit(1)


if __name__ == "__main__":
    main(*sys.argv[1:3])
