"""Serve a study to browsers with waitress: checks at the start, a log, nightly plans, and a graceful stop."""

import logging
import signal
import socket
import time
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

import waitress
from django.core.checks import run_checks
from django.core.wsgi import get_wsgi_application
from django.db import DatabaseError
from waitress import wasyncore

from peerfront.foundation.errors import SettingError
from peerfront.foundation.messages import Message, Remedy, note
from peerfront.web.live.folder import LiveFolder
from peerfront.web.live.operations.middleware import LARGEST_RECEIVED, write_log_to

THREADS = 8
LONGEST_STOP = 30
"""Seconds that running requests have to end after the server was asked to stop."""


def listen(host: str, port: int) -> socket.socket:
    """Open a port; 0 for any free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    if not 0 <= port <= 65_535:
        raise SettingError("live_server.no_port", port=port, remedy=Remedy("port"))
    try:
        return socket.create_server((host, port), family=family, backlog=1024)
    except (OSError, UnicodeError) as problem:  # a UnicodeError for impossible host names
        why = getattr(problem, "strerror", None) or problem
        remedies = {"other_port": Remedy("port"), "address": Remedy("host")}
        raise SettingError("live_server.unusable", host=host, port=port, problem=str(why), **remedies) from None


class Server:
    """A server that can be stopped."""

    def __init__(
        self, application: Any, listening: socket.socket, *, threads: int = THREADS, proxy: str | None = None
    ) -> None:
        behind_proxy: dict[str, Any] = {}
        if proxy is not None:  # its headers give scheme and addresses of browsers (HTTPS, limit of logins)
            behind_proxy = {
                "trusted_proxy": proxy,
                "trusted_proxy_count": 1,
                "trusted_proxy_headers": {"x-forwarded-for", "x-forwarded-proto"},
            }
        self._server = waitress.create_server(
            application,
            sockets=[listening],
            threads=threads,
            ident=None,
            max_request_body_size=LARGEST_RECEIVED,
            channel_timeout=60,
            connection_limit=1000,
            **behind_proxy,
        )
        self._stopping = False

    @property
    def port(self) -> int:
        return int(self._server.effective_port)

    def stop(self) -> None:
        """Accept no more requests; `run` returns when running ones are answered."""
        self._stopping = True
        with suppress(OSError):  # it has stopped already
            self._server.pull_trigger()

    def run(self) -> None:
        """Serve until `stop` is called, by another thread or a signal."""
        server = self._server
        while not self._stopping:
            wasyncore.loop(timeout=1, map=server._map, use_poll=True, count=1)
        wasyncore.dispatcher.close(server)  # no new connections; open ones go on
        deadline = time.monotonic() + LONGEST_STOP
        while _busy(server) and time.monotonic() < deadline:
            wasyncore.loop(timeout=0.2, map=server._map, use_poll=True, count=1)
        server.task_dispatcher.shutdown(timeout=1)
        wasyncore.close_all(server._map)


def _busy(server: Any) -> bool:
    """Whether an answer is being computed or sent."""
    return any(channel.requests or channel.total_outbufs_len for channel in list(server.active_channels.values()))


@contextmanager
def stopped_by_signals(stop: Callable[[], None]) -> Iterator[None]:
    """Let Ctrl-C and SIGTERM stop a server; a second signal ends it at once."""

    def tell(number: int, frame: FrameType | None) -> None:
        signal.signal(number, former[number])
        stop()

    numbers = [getattr(signal, name) for name in ("SIGINT", "SIGTERM") if hasattr(signal, name)]
    former = {number: signal.getsignal(number) for number in numbers}
    for number in numbers:
        signal.signal(number, tell)
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


_log = logging.getLogger("peerfront.web.live.server")
_THIS_COMPUTER = ("127.0.0.1", "::1", "localhost")


def serve(
    folder: LiveFolder,
    host: str,
    port: int,
    *,
    tell: Callable[[Message], None],
    threads: int = THREADS,
    proxy: str = "127.0.0.1",
    browser: bool = False,
) -> None:
    """Serve until Ctrl-C or SIGTERM; Django must be set up and the tables up to date."""
    # A demo asks for its port (`listen`) before Django is set up, which these need.
    from peerfront.web.live.operations.registers import other_keys_here
    from peerfront.web.live.operations.signed_heads import heads_kept
    from peerfront.web.live.operations.staff import FAILED_LOGINS

    if not 1 <= threads <= 256:
        raise SettingError("live_server.threads", threads=threads, remedy=Remedy("threads"))
    serious = [str(each) for each in run_checks() if each.is_serious()]
    if serious:
        raise SettingError("live_server.checks", faults=serious)
    if other_keys_here(folder):  # events would be signed with the wrong key
        raise SettingError("live_health.other_keys")
    listening = listen("127.0.0.1" if host == "localhost" else host, port)
    serving = folder.serving
    server = Server(get_wsgi_application(), listening, threads=threads, proxy=proxy if serving.tls else None)
    write_log_to(folder.logs)
    here = f"http://127.0.0.1:{server.port}" if host in _THIS_COMPUTER else serving.address(server.port)
    for line in _opening_lines(folder, here, host):
        tell(line)
    # Slow to load, and not needed by the checks above.
    from peerfront.web.live.planning.planning_jobs import start_nights
    from peerfront.web.live.records.recruitment import read_ahead

    stop_nights = start_nights()
    read_ahead()
    with stopped_by_signals(server.stop), heads_kept(folder):
        _log.info("started")
        if browser:
            with suppress(webbrowser.Error):
                webbrowser.open(here)
        server.run()
    stop_nights()
    with suppress(DatabaseError):
        FAILED_LOGINS.note_ended(all_of_them=True)
    _log.info("stopped")
    tell(note("live_server.stopped"))


def _opening_lines(folder: LiveFolder, here: str, host: str) -> list[Message]:
    serving = folder.serving
    lines = [note("live_server.address", address=serving.address() if serving.tls else here)]
    if serving.tls:
        lines.append(note("live_server.behind_proxy", address=here))
    elif host not in _THIS_COMPUTER:
        lines.append(note("live_server.not_encrypted", remedy=Remedy("tls", True)))
    return lines


def deployment_checks() -> list[Message]:
    """What Django's own checks for a server find (`manage check --deploy`)."""
    checks = run_checks(include_deployment_checks=True)
    return [
        note("live_health.django", id=str(each.id), text=str(each.msg)) for each in checks if not each.is_silenced()
    ]
