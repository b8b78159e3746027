"""Serve a study from the command line: checks before, a log, plans at night, a clear end."""

import logging
import webbrowser
from collections.abc import Callable
from contextlib import suppress

from django.core.checks import run_checks

from peerfront.foundation.errors import SettingError
from peerfront.web.live.folder import LiveFolder
from peerfront.web.live.operations.middleware import write_log_to
from peerfront.web.live.operations.server import THREADS, Server, listen, stopped_by_signals

_log = logging.getLogger("peerfront.web.live.server")
_THIS_COMPUTER = ("127.0.0.1", "::1", "localhost")


def serve(
    folder: LiveFolder,
    host: str,
    port: int,
    *,
    say: Callable[[str], None],
    threads: int = THREADS,
    proxy: str = "127.0.0.1",
    browser: bool = False,
) -> None:
    """Serve until Ctrl-C or SIGTERM; Django is set up and the tables are up to date."""
    if not 1 <= threads <= 256:
        raise SettingError(f"--threads is {threads}; it must be 1 to 256.")
    serious = [str(each) for each in run_checks() if each.is_serious()]
    if serious:
        raise SettingError("The server cannot start: " + " ".join(serious))
    listening = listen("127.0.0.1" if host == "localhost" else host, port)
    from peerfront.web.live.wsgi import application

    serving = folder.serving
    server = Server(application, listening, threads=threads, proxy=proxy if serving.tls else None)
    write_log_to(folder.logs)
    here = f"http://127.0.0.1:{server.port}" if host in _THIS_COMPUTER else serving.address(server.port)
    say(_words(folder, here, host))
    from peerfront.web.live.planning import nightly  # loads what plans need, which the checks above can do without

    nights = nightly.start()
    with stopped_by_signals(server.stop):
        _log.info("started")
        if browser:
            with suppress(webbrowser.Error):
                webbrowser.open(here)
        server.run()
    nights.stop()
    _log.info("stopped")
    say("Stopped; everything that was answered is recorded.")


def _words(folder: LiveFolder, here: str, host: str) -> str:
    serving = folder.serving
    words = [f"The study is served at {serving.address() if serving.tls else here}. Stop with Ctrl-C."]
    if serving.tls:
        words.append(f"Browsers reach it through the proxy that speaks HTTPS; here it listens at {here}.")
    elif host not in _THIS_COMPUTER:
        words.append(
            "It is not encrypted (no --tls): use it in a private network only. Whoever listens in can read everything."
        )
    return "\n".join(words)


def deployment_checks() -> list[str]:
    """What Django's own checks for a server find (`manage check --deploy`)."""
    return [f"{each.id}: {each.msg}" for each in run_checks(include_deployment_checks=True) if not each.is_silenced()]
