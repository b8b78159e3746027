"""Run a comparison: resume what is done, share the rest among workers, keep each piece, then make the tables."""

from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

from peerfront.experiments.comparison import Comparison, TaskResult, run_task, tasks
from peerfront.experiments.figures import save_curves
from peerfront.experiments.results import ResultFolder, Results, write_bytes, write_text
from peerfront.experiments.statistics import differences, summary
from peerfront.experiments.tables import markdown_report
from peerfront.experiments.workers import Workers

Progress = Callable[[int, int, str], None]
"""Told (tasks done, tasks in all, what was done last)."""


def compare(
    comparison: Comparison,
    folder: Path | None = None,
    *,
    workers: Workers | None = None,
    resume: bool = False,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Results:
    """Play every task of the comparison and, with a folder, keep trajectories, tables and figures there.

    Results do not depend on the number of workers, on the backend, or on how often the work was interrupted.
    """
    comparison.check_worlds()
    kept = None if folder is None else ResultFolder(folder)
    finished: list[TaskResult] = []
    if kept is not None:
        kept.open(comparison, resume=resume, overwrite=overwrite)
        finished = kept.finished(comparison)
    everything = tasks(comparison)
    done = {result.task for result in finished}
    left = [task for task in everything if task not in done]
    if progress is not None:
        progress(len(finished), len(everything), "")
    with closing((workers or Workers()).map_unordered(partial(run_task, comparison), left)) as arriving:
        for result in arriving:
            if kept is not None:
                kept.save(result)
            finished.append(result)
            if progress is not None:
                progress(len(finished), len(everything), result.task.label)
    results = Results.of(comparison, finished)
    if folder is not None:
        write_outputs(results, folder)
    return results


def write_outputs(results: Results, folder: Path) -> list[Path]:
    """Tidy CSV tables, a Markdown report, and the curves of each world as PNG and SVG."""
    episodes = results.episodes()
    tables = {
        "episodes.csv": episodes,
        "rounds.csv.gz": results.rounds(),
        "prepared.csv": results.prepared(),
        "summary.csv": summary(episodes),
        "differences.csv": differences(episodes),
    }
    written = []
    for name, table in tables.items():
        content = table.to_csv(index=False).encode()
        if name.endswith(".gz"):
            import gzip

            content = gzip.compress(content, mtime=0)  # no time stamp: same results, same bytes
        write_bytes(folder / name, content)
        written.append(folder / name)
    write_text(folder / "table.md", markdown_report(results))
    return [*written, folder / "table.md", *save_curves(results, folder)]
