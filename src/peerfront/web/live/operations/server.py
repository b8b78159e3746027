"""Serve a study to browsers: waitress, which finishes what it has begun when it is told to stop."""

import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

import waitress
from waitress import wasyncore

from peerfront.foundation.errors import SettingError
from peerfront.web.live.operations.middleware import LARGEST_RECEIVED

THREADS = 8
LONGEST_STOP = 30
"""Seconds in which requests that have begun may end after the server was told to stop."""


def listen(host: str, port: int) -> socket.socket:
    """Take a port; 0 for any that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    if not 0 <= port <= 65_535:
        raise SettingError(f"There is no port {port}. Choose a --port from 1 to 65535.")
    try:
        return socket.create_server((host, port), family=family, backlog=1024)
    except (OSError, UnicodeError) as problem:  # the latter for names that no computer can have
        why = getattr(problem, "strerror", None) or problem
        raise SettingError(
            f"{host} port {port} cannot be used ({why}). Another server may run there: choose another --port. A --host "
            "must be an address of this computer."
        ) from None


class Server:
    """A server that can be told to stop."""

    def __init__(
        self, application: Any, listening: socket.socket, *, threads: int = THREADS, proxy: str | None = None
    ) -> None:
        behind_proxy: dict[str, Any] = {}
        if proxy is not None:  # which tells whether browsers speak HTTPS, and their addresses for the limit of logins
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
        """Take no more requests; `run` returns when those that have begun are answered."""
        self._stopping = True
        with suppress(OSError):  # it has stopped already
            self._server.pull_trigger()

    def run(self) -> None:
        """Serve until `stop` is called, perhaps by another thread or a signal."""
        server = self._server
        while not self._stopping:
            wasyncore.loop(timeout=1, map=server._map, use_poll=True, count=1)
        wasyncore.dispatcher.close(server)  # no new connections; those that are open go on
        deadline = time.monotonic() + LONGEST_STOP
        while _busy(server) and time.monotonic() < deadline:
            wasyncore.loop(timeout=0.2, map=server._map, use_poll=True, count=1)
        server.task_dispatcher.shutdown(timeout=1)
        wasyncore.close_all(server._map)


def _busy(server: Any) -> bool:
    """Whether somebody waits for an answer that is being made or sent."""
    return any(channel.requests or channel.total_outbufs_len for channel in list(server.active_channels.values()))


@contextmanager
def stopped_by_signals(stop: Callable[[], None]) -> Iterator[None]:
    """Let Ctrl-C and SIGTERM stop a server; the second one ends it at once."""

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
