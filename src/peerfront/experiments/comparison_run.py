"""Run a comparison: resume what is done, share the rest among workers, keep each piece, then make the tables.

`compare` takes plain arguments, for notebooks; `run_comparison` takes a `Comparison` and keeps results in a folder.
Independent tasks are done at once by `Workers`, here or on a cluster, through joblib.
"""

import os
import shutil
import signal
import tempfile
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from peerfront.experiments.comparison import (
    BOUND,
    PAPER_DISCOUNTS,
    Comparison,
    Task,
    TaskResult,
    draws_from,
    planned_in,
    run_task,
    tasks,
)
from peerfront.experiments.policies import PolicyEntry
from peerfront.experiments.results import Results
from peerfront.foundation.checked_calls import checked_late
from peerfront.foundation.errors import (
    ComparisonFailed,
    InfeasibleAllocation,
    MissingExtra,
    PeerfrontError,
    PolicyFailed,
    SettingError,
)
from peerfront.foundation.locks import temporary_folder
from peerfront.foundation.messages import Progress, note, silent
from peerfront.foundation.settings import among, check_fields, whole_number
from peerfront.problem import Policy, Rules, World
from peerfront.simulation.catalog import WorldEntry

if TYPE_CHECKING:
    from peerfront.experiments.store import Store

BACKENDS = ("loky", "dask", "ray")
_LOOK_EVERY = 1.0  # seconds between two looks of a worker at its parent
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
        check_fields(
            self,
            count=lambda _, count: whole_number("workers", count, 1),
            backend=among(note("kinds.backend"), BACKENDS),
        )
        if self.scheduler is not None and self.backend == "loky":
            raise SettingError("workers.scheduler_for_loky")

    def map_unordered(self, function: Callable[[T], R], items: Sequence[T]) -> Generator[R]:
        """Results as they are done. Closing the iterator (Ctrl-C does) cancels what has not begun.

        There are never more workers than items, and workers on this machine end with the process that started them.
        """
        count = min(self.count, len(items))
        if not items or (count == 1 and self.backend == "loky"):
            yield from map(function, items)  # joblib waits for ever after an empty call
            return
        import joblib

        with ExitStack() as stack:
            # A worker that has grown (the first planner it meets loads torch) is replaced, and joblib warns of it.
            stack.enter_context(warnings.catch_warnings())
            warnings.filterwarnings("ignore", "A worker stopped while some jobs", UserWarning)
            if self.backend == "dask":
                stack.enter_context(_dask_client(self, count))
            if self.backend == "ray":
                _start_ray(self, count)
            more = {"initializer": _worker_of(os.getpid())} if self.backend == "loky" else {}
            stack.enter_context(joblib.parallel_config(backend=self.backend, n_jobs=count, **more))
            calls = [joblib.delayed(function)(item) for item in items]
            if self.backend == "ray":
                # Ray's joblib backend hands results back in batches only; small ones keep progress and resuming fine.
                for first in range(0, len(calls), 2 * count):
                    yield from joblib.Parallel(batch_size=1)(calls[first : first + 2 * count])
            else:
                yield from joblib.Parallel(return_as="generator_unordered", batch_size=1)(calls)


@lru_cache(maxsize=1)
def _worker_of(parent: int) -> Callable[[], None]:
    """How the workers of a process begin; always the same object, so that joblib keeps the workers it has."""
    return partial(_begin_as_worker, parent)


def _begin_as_worker(parent: int) -> None:
    """Leave Ctrl-C to the parent, and end when it does.

    A terminal sends Ctrl-C to every process; workers that also obey it only add noise to the parent's message. A parent
    that was killed cannot end its workers, so each of them looks whether it is still there.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_LOOK_EVERY)
        os._exit(1)

    if os.name == "posix":  # elsewhere a process keeps the number of a parent that has ended
        threading.Thread(target=watch, name="parent watch", daemon=True).start()


def _dask_client(workers: Workers, count: int) -> Any:
    try:
        from distributed import Client
    except ImportError:
        raise MissingExtra(note("workers.dask_backend"), "dask") from None
    if workers.scheduler is None:
        return Client(n_workers=count, threads_per_worker=1, dashboard_address=None)
    try:
        return Client(workers.scheduler, timeout="10s")
    except (OSError, ValueError) as problem:
        raise SettingError("workers.no_dask", address=workers.scheduler, problem=str(problem)) from None


def _start_ray(workers: Workers, count: int) -> None:
    try:
        import ray
        from ray.util.joblib import register_ray
    except ImportError:
        raise MissingExtra(note("workers.ray_backend"), "ray") from None
    if not ray.is_initialized():
        if workers.scheduler is None:
            ray.init(num_cpus=count, log_to_driver=False)
        else:
            try:
                ray.init(address=workers.scheduler, log_to_driver=False)
            except (ConnectionError, ValueError, RuntimeError) as problem:
                raise SettingError("workers.no_ray", address=workers.scheduler, problem=str(problem)) from None
    register_ray()


@checked_late
def compare(
    worlds: Sequence[str | World | Callable[..., Any] | WorldEntry] = ("icpsr22140",),
    policies: Sequence[str | Policy | Callable[..., Any] | PolicyEntry] = (
        "random_split",
        "constant",
        "threshold",
        "population_dp",
    ),
    *,
    draws: int = 5,
    first_draw: int = 0,
    episodes: int = 400,
    discounts: Sequence[float] = PAPER_DISCOUNTS,
    budget: int = 100,
    people: int = 10,
    rounds: int = 50,
    max_per_person: int | None = None,
    max_per_round: int | None = None,
    models: str = "oracle",
    bound: bool = False,
    seed: int = 0,
    workers: int = 1,
) -> Results:
    """Play policies in worlds and compare them fairly: the same people with the same luck for every policy.

    `peerfront worlds` and `peerfront policies` list the names. A policy of your own stands among them: a function that
    takes a state and returns coupons, an object with `allocate(state, luck)`, or a class that makes one for each world;
    so does a world: an object, or a function that makes it. Every policy plays `episodes` of a study with these
    rules in each of `draws` draws of a world, from `first_draw` on. `models` says what policies plan with: the
    true models (oracle) or models fitted to a simulated history (learned). `bound` adds an upper bound on every policy.
    Results do not depend on the number of workers.

    >>> import peerfront as pf
    >>> results = pf.compare(["bridge"], ["random_split", "constant"], episodes=50, discounts=[0.9], budget=20)
    >>> list(results.table.columns[:5])
    ['world', 'discount', 'policy', 'metric', 'mean']
    >>> len(results.differences)  # one pair of policies, two metrics
    2
    """
    comparison = Comparison(
        worlds=worlds,  # type: ignore[arg-type] # kept as tuples of names by its checks
        policies=policies,  # type: ignore[arg-type]
        draws=draws_from(first_draw, draws),
        discounts=discounts,  # type: ignore[arg-type]
        episodes=episodes,
        rules=Rules(budget, people, rounds, max_per_person, max_per_round),
        seed=seed,
        models=models,
        bound=bound,
    )
    return run_comparison(comparison, workers=Workers(workers))


def run_comparison(
    comparison: Comparison,
    folder: Path | None = None,
    *,
    workers: Workers | None = None,
    resume: bool = False,
    overwrite: bool = False,
    against: str | None = None,
    progress: Progress | None = None,
) -> Results:
    """Play every task of the comparison and, with a folder, keep trajectories, tables and figures there.

    Results do not depend on the number of workers, on the backend, or on how often the work was interrupted. `against`
    names the policy to which `table.md` shows differences (the first unless named). A policy that fails stops no other,
    nor does a world: what the others did is kept, and `ComparisonFailed` says at the end which failed and has the
    results of the others.
    """
    comparison.check_worlds()
    team, tell = workers or Workers(), progress or silent
    if folder is None:
        return _results(comparison, *_played(comparison, team, tell, []))
    from peerfront.experiments.result_folder import ResultFolder, write_outputs

    kept = ResultFolder(folder, comparison)
    with kept.claimed(resume=resume, overwrite=overwrite):
        finished = kept.finished() if resume else []

        def keep(result: TaskResult, first: bool) -> None:
            if first:
                kept.begin(overwrite=overwrite)
            kept.save(result)

        done, failures = _played(comparison, team, tell, finished, keep)
        try:
            results = _results(comparison, done, failures, folder if done else None)
        except ComparisonFailed as failed:
            if failed.results is not None:
                shown = against if against in failed.results.policies else None
                write_outputs(failed.results, folder, shown)
            raise
        write_outputs(results, folder, against)
    return results


@dataclass(frozen=True)
class TaskFailure:
    """A task that could not be finished, and why."""

    task: Task
    problem: PeerfrontError


def _results(
    comparison: Comparison, done: list[TaskResult], failures: list[TaskFailure], folder: Path | None = None
) -> Results:
    """All results, or an error with the others: without worlds where every policy failed, and policies that failed."""
    if not failures:
        return Results.of(comparison, done)
    failed = {(failure.task.world, failure.task.policy) for failure in failures}
    policies = comparison.policies
    worlds = tuple(world for world in comparison.worlds if any((world, each) not in failed for each in policies))

    def played(policy: str) -> bool:
        return all((world, policy) not in failed for world in worlds)

    results = None
    if worlds and (others := tuple(policy for policy in policies if played(policy))):
        rest = replace(comparison, worlds=worlds, policies=others, bound=comparison.bound and played(BOUND))
        results = Results.of(rest, done)
    first = {failure.task.policy: failure for failure in reversed(failures)}  # one of each policy says what to mend
    lines = [
        note("comparison.failure", piece=failure.task.label, problem=failure.problem.message, more=more)
        if (more := sum(each.task.policy == policy for each in failures) - 1)
        else note("comparison.failure_alone", piece=failure.task.label, problem=failure.problem.message)
        for policy, failure in reversed(first.items())
    ]
    raise ComparisonFailed(lines, len(policies) + comparison.bound, folder, results) from failures[0].problem


def _attempted(comparison: Comparison, task: Task, store: "Store | None" = None) -> TaskResult | TaskFailure:
    """The result of a task, or why its policy has none. Other errors, such as a full disk, stop the comparison."""
    try:
        with comparison.named_world(task.world):
            return run_task(comparison, task, store)
    except (PolicyFailed, InfeasibleAllocation, SettingError, MissingExtra) as problem:
        return TaskFailure(task, problem)


def _played(
    comparison: Comparison,
    team: Workers,
    tell: Progress,
    finished: list[TaskResult],
    keep: Callable[[TaskResult, bool], None] | None = None,
) -> tuple[list[TaskResult], list[TaskFailure]]:
    """What is finished and the rest, played now; `keep` gets each new result, and whether it is the first."""
    results, failures = list(finished), list[TaskFailure]()
    everything = tasks(comparison)
    total = len(everything)
    done = {result.task for result in finished}
    left = [task for task in everything if task not in done]
    code = "comparison_progress.begun" if comparison.models == "oracle" else "comparison_progress.fitting"
    tell(len(finished) / total, note(code, done=len(finished), total=total, models=comparison.models))
    with (
        _shared_models(comparison, team, left) as store,
        closing(team.map_unordered(partial(_attempted, comparison, store=store), left)) as arriving,
    ):
        for result in arriving:
            if isinstance(result, TaskFailure):
                failures.append(result)
                left_out = note("comparison_progress.failed", piece=result.task.label)
                tell((len(results) + len(failures)) / total, left_out)
                continue
            if keep is not None:
                keep(result, len(results) == len(finished))
            results.append(result)
            step = note("comparison_progress.done", done=len(results), total=total, piece=result.task.label)
            tell((len(results) + len(failures)) / total, step)
    return results, sorted(failures, key=lambda failure: everything.index(failure.task))


@contextmanager
def _shared_models(comparison: Comparison, team: Workers, left: list[Task]) -> Iterator["Store | None"]:
    """Where several processes on this machine share models, each draw is fitted once, and before it is needed."""
    if comparison.models == "oracle" or team.count == 1 or team.backend != "loky":
        yield None
        return
    from peerfront.experiments.store import Store

    folder = temporary_folder(Path(tempfile.gettempdir()))
    try:
        store = Store(folder)
        draws = sorted({(task.world, task.draw) for task in left})
        with closing(team.map_unordered(partial(_fit_models, comparison, store), draws)) as fitted:
            deque(fitted, maxlen=0)
        yield store
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _fit_models(comparison: Comparison, store: "Store", draw: tuple[str, int]) -> None:
    with suppress(Exception, SystemExit):  # the tasks of this draw meet it again, and say what it is
        planned_in(comparison, *draw, store)
