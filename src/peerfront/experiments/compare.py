"""Run a comparison: resume what is done, share the rest among workers, keep each piece, then make the tables."""

import gzip
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from peerfront.experiments.comparison import Comparison, Task, TaskResult, planned_in, run_task, tasks
from peerfront.experiments.figures import save_curves
from peerfront.experiments.folder import BOUNDS, LEARNING, REPORT, TABLES, ResultFolder
from peerfront.experiments.results import Results
from peerfront.experiments.store import NOWHERE, Store
from peerfront.experiments.tables import markdown_report
from peerfront.experiments.workers import Workers
from peerfront.files import write_bytes, write_text

Progress = Callable[[int, int, str], None]
"""Told (tasks done, tasks in all, what was done last)."""


def compare(
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
    names the policy to which `table.md` shows differences (the first unless named).
    """
    comparison.check_worlds()
    kept = None if folder is None else ResultFolder(folder, comparison)
    finished: list[TaskResult] = []
    if kept is not None:
        kept.check(resume=resume, overwrite=overwrite)
        finished = kept.finished() if resume else []
    everything = tasks(comparison)
    done = {result.task for result in finished}
    left = [task for task in everything if task not in done]
    if progress is not None:
        first = "" if comparison.models == "oracle" else f"fitting {comparison.models} models of every draw first"
        progress(len(finished), len(everything), first)
    begun = False
    team = workers or Workers()
    with (
        _shared_models(comparison, team, left) as store,
        closing(team.map_unordered(partial(run_task, comparison, store=store), left)) as arriving,
    ):
        for result in arriving:
            if kept is not None:
                if not begun:
                    kept.begin(overwrite=overwrite)
                    begun = True
                kept.save(result)
            finished.append(result)
            if progress is not None:
                progress(len(finished), len(everything), result.task.label)
    results = Results.of(comparison, finished)
    if folder is not None:
        write_outputs(results, folder, against)
    return results


@contextmanager
def _shared_models(comparison: Comparison, team: Workers, left: list[Task]) -> Iterator[Store]:
    """Where several processes on this machine share models, each draw is fitted once, and before it is needed."""
    if comparison.models == "oracle" or team.count == 1 or team.backend != "loky":
        yield NOWHERE
        return
    with TemporaryDirectory(prefix="peerfront-") as folder:
        store = Store(Path(folder))
        draws = sorted({(task.world, task.draw) for task in left})
        with closing(team.map_unordered(partial(_fit_models, comparison, store), draws)) as fitted:
            deque(fitted, maxlen=0)
        yield store


def _fit_models(comparison: Comparison, store: Store, draw: tuple[str, int]) -> None:
    planned_in(comparison, *draw, store)


def write_outputs(results: Results, folder: Path, against: str | None = None) -> None:
    """Tidy CSV tables, a Markdown report, and the curves of each world as PNG and SVG."""
    tables = (results.episodes, results.rounds(), results.prepared(), results.summary, results.differences)
    for name, table in zip(TABLES, tables, strict=True):
        content = table.to_csv(index=False).encode()
        # No time stamp inside: same results, same bytes.
        write_bytes(folder / name, gzip.compress(content, mtime=0) if name.endswith(".gz") else content)
    if results.bounds is not None:
        write_text(folder / BOUNDS, results.bounds.to_csv(index=False))
    if len(learning := results.learning()):
        write_text(folder / LEARNING, learning.to_csv(index=False))
    write_text(folder / REPORT, markdown_report(results, against))
    save_curves(results, folder)
