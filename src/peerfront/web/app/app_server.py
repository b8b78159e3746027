"""Serve the app to this computer, open the browser, and hold the state of this run for the pages."""

import hmac
import os
import secrets
import threading
import webbrowser
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from peerfront.foundation.errors import DataFileError, MissingExtra, OutputInUse
from peerfront.foundation.locks import lock_name, locked
from peerfront.foundation.messages import Remedy, note
from peerfront.web.app.app_folder import STATE, AppFolder
from peerfront.web.app.app_jobs import Jobs
from peerfront.words.language import Text, say

HOSTS = ("127.0.0.1", "localhost")
"""Names of this computer that requests may use; the server listens on the first."""
_THREADS = 8


@dataclass(frozen=True, eq=False)
class Serving:
    """One run of the app. Its secrets are drawn anew each time and never written to disk."""

    folder: AppFolder
    jobs: Jobs
    port: int
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)
    """The token in the link that opens the app."""
    secret_key: str = field(default_factory=lambda: secrets.token_urlsafe(48), repr=False)
    """The key that signs cookies."""

    once: list[str] = field(default_factory=lambda: [secrets.token_urlsafe(24)], repr=False)
    """The token, valid once, in the link that the app opens: other users can read a browser's command line."""

    @property
    def link(self) -> str:
        return f"http://127.0.0.1:{self.port}/open/{self.token}"

    @property
    def link_for_browser(self) -> str:
        return f"http://127.0.0.1:{self.port}/open/{self.once[0]}"

    def opens(self, token: str) -> bool:
        """Whether a token is valid; the one of the app's own link is valid once."""
        if hmac.compare_digest(token.encode("utf-8", "replace"), self.token.encode()):
            return True
        try:
            self.once.remove(token)
        except ValueError:
            return False
        return True


_now: list[Serving] = []  # set once, before Django starts


def serving() -> Serving:
    return _now[0]


def app_folder() -> AppFolder:
    return _now[0].folder


def jobs() -> Jobs:
    return _now[0].jobs


def serve(folder: Path, port: int, show: Callable[[Text], None], *, open_browser: bool) -> None:
    """Serve the folder until Ctrl-C; `port` 0 takes a free one. `show` prints the address."""
    try:
        from waitress.server import create_server
    except ImportError:
        raise MissingExtra(note("app.the_app"), "live") from None
    try:
        # The port must be known before Django starts: the names of cookies contain it.
        server = create_server(
            _late, host=HOSTS[0], port=port, threads=_THREADS, ident=None, clear_untrusted_proxy_headers=True
        )
    except OSError as problem:
        raise DataFileError("app.port_taken", port=port, problem=problem.strerror, remedy=Remedy("port")) from None
    opened = AppFolder(folder)
    now = Serving(opened, Jobs(opened), int(server.effective_port))
    _now[:] = [now]
    with ExitStack() as held:
        try:
            held.enter_context(locked(now.folder.path / STATE / lock_name(), str(now.folder.path)))
        except OutputInUse:
            raise DataFileError("app.open_already", path=now.folder.path) from None
        _pages.append(_application())
        show(say("The study's folder: {path}", path=now.folder.path))
        show(say("Open this link in a browser on this computer:\n\n  {link}\n", link=now.link))
        show(say("Nothing leaves this computer. Stop with Ctrl-C; the folder goes on next time."))
        if open_browser:
            threading.Thread(target=webbrowser.open, args=(now.link_for_browser,), daemon=True).start()
        try:
            server.run()
        finally:
            server.close()
            now.jobs.close()
        show(say("Stopped. Everything is in the folder."))


_pages: list[Callable[..., object]] = []


def _late(environ: dict[str, object], start_response: Callable[..., object]) -> object:
    """Load the pages, which need to know the port."""
    return _pages[-1](environ, start_response)


def _application() -> Callable[..., object]:
    os.environ["DJANGO_SETTINGS_MODULE"] = "peerfront.web.app.django_settings"
    import django
    from django.core.wsgi import get_wsgi_application

    django.setup(set_prefix=False)
    application: Callable[..., object] = get_wsgi_application()
    return application
