"""Serve the app to this computer, and open the browser."""

import os
import threading
import webbrowser
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from peerfront.foundation.errors import DataFileError, MissingExtra, OutputInUse
from peerfront.foundation.locks import lock_name, locked
from peerfront.web.app.folder import STATE

if TYPE_CHECKING:
    from waitress.server import BaseWSGIServer

    from peerfront.web.app.serving import Serving

ADDRESS = "127.0.0.1"
_THREADS = 8


def serve(folder: Path, port: int, say: Callable[[str], None], *, open_browser: bool) -> None:
    """Serve the folder until Ctrl-C; `port` 0 takes a free one. `say` tells the user the address."""
    try:
        from waitress.server import create_server
    except ImportError:
        raise MissingExtra("peerfront app", "live") from None
    try:
        # The port is known before the pages are made: their cookies carry it.
        server = create_server(
            _late, host=ADDRESS, port=port, threads=_THREADS, ident=None, clear_untrusted_proxy_headers=True
        )
    except OSError as problem:
        raise DataFileError(
            f"Port {port} of this computer cannot be used ({problem.strerror}). Choose another with --port, or leave "
            "it out to take a free one."
        ) from None
    from peerfront.web.app import serving

    now = serving.begin(folder, int(server.effective_port))
    with ExitStack() as held:
        try:
            held.enter_context(locked(now.folder.path / STATE / lock_name(), str(now.folder.path)))
        except OutputInUse:
            raise DataFileError(
                f"{now.folder.path} is open in the app already. Go on in its browser window, or open the link that its "
                "terminal shows; to start it anew, stop it there first with Ctrl-C."
            ) from None
        _serve(server, now, say, open_browser=open_browser)


def _serve(server: "BaseWSGIServer", now: "Serving", say: Callable[[str], None], *, open_browser: bool) -> None:
    _pages.append(_application())
    say(f"The study's folder: {now.folder.path}")
    say(f"Open this link in a browser on this computer:\n\n  {now.link}\n")
    say("Nothing leaves this computer. Stop with Ctrl-C; the folder goes on next time.")
    if open_browser:
        threading.Thread(target=webbrowser.open, args=(now.link_for_browser,), daemon=True).start()
    try:
        server.run()
    finally:
        server.close()
        now.jobs.close()
    say("Stopped. Everything is in the folder.")


_pages: list[Callable[..., object]] = []


def _late(environ: dict[str, object], start_response: Callable[..., object]) -> object:
    """The pages, which are made when the port is known."""
    return _pages[-1](environ, start_response)


def _application() -> Callable[..., object]:
    os.environ["DJANGO_SETTINGS_MODULE"] = "peerfront.web.app.django_settings"
    import django
    from django.core.wsgi import get_wsgi_application

    django.setup(set_prefix=False)
    application: Callable[..., object] = get_wsgi_application()
    return application
