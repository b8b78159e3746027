"""What a running app knows of itself: its folder, its jobs, and the secrets of this run. Set once, before Django."""

import hmac
import secrets
from dataclasses import dataclass, field
from pathlib import Path

from peerfront.web.app.folder import AppFolder
from peerfront.web.app.jobs import Jobs


@dataclass(frozen=True, eq=False)
class Serving:
    """One run of the app. Its secrets are drawn anew each time and are nowhere on the disk."""

    folder: AppFolder
    jobs: Jobs
    port: int
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)
    """In the link that opens the app."""
    secret_key: str = field(default_factory=lambda: secrets.token_urlsafe(48), repr=False)
    """Signs cookies."""

    once: list[str] = field(default_factory=lambda: [secrets.token_urlsafe(24)], repr=False)
    """In the link that the app itself opens, until it is used: a browser's command line can be read by other users."""

    @property
    def link(self) -> str:
        return f"http://127.0.0.1:{self.port}/open/{self.token}"

    @property
    def link_for_browser(self) -> str:
        return f"http://127.0.0.1:{self.port}/open/{self.once[0]}"

    def opens(self, token: str) -> bool:
        """Whether a token is that of a link; the browser's own works once."""
        if hmac.compare_digest(token.encode("utf-8", "replace"), self.token.encode()):
            return True
        try:
            self.once.remove(token)
        except ValueError:
            return False
        return True


_now: list[Serving] = []


def begin(folder: Path, port: int) -> Serving:
    """Open a folder and remember it for the pages."""
    opened = AppFolder(folder)
    _now[:] = [Serving(opened, Jobs(opened), port)]
    return _now[0]


def serving() -> Serving:
    return _now[0]


def app_folder() -> AppFolder:
    return _now[0].folder


def jobs() -> Jobs:
    return _now[0].jobs
