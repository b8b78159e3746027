"""Doing many independent tasks at once, here or on a cluster, through joblib."""

import signal
import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, TypeVar

from peerfront.errors import MissingExtra, SettingError, UnknownName
from peerfront.problem import whole_number

BACKENDS = ("loky", "dask", "ray")
T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True)
class Workers:
    """How many processes, of which kind, and where."""

    count: int = 1
    backend: str = "loky"
    """loky: processes on this machine; dask, ray: a cluster (optional extras)."""
    scheduler: str | None = None
    """Address of a running Dask scheduler or Ray head; None starts a local one."""

    def __post_init__(self) -> None:
        whole_number("workers", self.count, 1)
        if self.backend not in BACKENDS:
            raise UnknownName("backend", self.backend, BACKENDS)
        if self.scheduler is not None and self.backend == "loky":
            raise SettingError("A scheduler address is for the backends dask and ray; loky works on this machine.")

    def map_unordered(self, function: Callable[[T], R], items: Sequence[T]) -> Generator[R]:
        """Results as they are done. Closing the iterator (Ctrl-C does) cancels what has not begun."""
        if not items or (self.count == 1 and self.backend == "loky"):
            yield from map(function, items)  # joblib waits for ever after an empty call
            return
        import joblib

        with ExitStack() as stack:
            # A worker that has grown (the first planner it meets loads torch) is replaced, and joblib warns of it.
            stack.enter_context(warnings.catch_warnings())
            warnings.filterwarnings("ignore", "A worker stopped while some jobs", UserWarning)
            if self.backend == "dask":
                stack.enter_context(_dask_client(self))
            if self.backend == "ray":
                _start_ray(self)
            more = {"initializer": _leave_ctrl_c_to_the_parent} if self.backend == "loky" else {}
            stack.enter_context(joblib.parallel_config(backend=self.backend, n_jobs=self.count, **more))
            calls = [joblib.delayed(function)(item) for item in items]
            if self.backend == "ray":
                # Ray's joblib backend hands results back in batches only; small ones keep progress and resuming fine.
                for first in range(0, len(calls), 2 * self.count):
                    yield from joblib.Parallel(batch_size=1)(calls[first : first + 2 * self.count])
            else:
                yield from joblib.Parallel(return_as="generator_unordered", batch_size=1)(calls)


def _leave_ctrl_c_to_the_parent() -> None:
    """A terminal sends Ctrl-C to every process; workers that also obey it only add noise to the parent's message."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _dask_client(workers: Workers) -> Any:
    try:
        from distributed import Client
    except ImportError:
        raise MissingExtra("The dask backend", "dask") from None
    if workers.scheduler is None:
        return Client(n_workers=workers.count, threads_per_worker=1, dashboard_address=None)
    try:
        return Client(workers.scheduler, timeout="10s")
    except (OSError, ValueError) as problem:
        raise SettingError(
            f"No Dask scheduler answers at {workers.scheduler!r} ({problem}). "
            "Start one with `dask scheduler`, or leave the address out for a local cluster."
        ) from None


def _start_ray(workers: Workers) -> None:
    try:
        import ray
        from ray.util.joblib import register_ray
    except ImportError:
        raise MissingExtra("The ray backend", "ray") from None
    if not ray.is_initialized():
        if workers.scheduler is None:
            ray.init(num_cpus=workers.count, log_to_driver=False)
        else:
            try:
                ray.init(address=workers.scheduler, log_to_driver=False)
            except (ConnectionError, ValueError, RuntimeError) as problem:
                raise SettingError(
                    f"No Ray head answers at {workers.scheduler!r} ({problem}). "
                    "Start one with `ray start --head`, or leave the address out for a local one."
                ) from None
    register_ray()
