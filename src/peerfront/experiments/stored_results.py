"""Results of tasks as settings and arrays, and made again from them; what cannot be a result is refused."""

from dataclasses import fields

import numpy as np

from peerfront.experiments.comparison import BOUND, Task, TaskResult
from peerfront.experiments.store import Form
from peerfront.foundation.errors import DataFileError
from peerfront.foundation.stored import Stored
from peerfront.problem import Ending, Trajectories


def stored_result(result: TaskResult) -> Stored:
    """Everything but the task itself, which whoever asks for the result knows."""
    arrays = {
        f"{field.name}_{number}": getattr(played, field.name)
        for number, played in enumerate(result.trajectories)
        for field in fields(played)
    }
    arrays |= {f"bound_{number}": bounds for number, bounds in enumerate(result.bounds)}
    arrays |= {f"learning_{n}": returns for n, returns in enumerate(result.learning) if returns is not None}
    return Stored({"prepared": list(result.prepared)}, arrays)


def restored_result(stored: Stored, task: Task, episodes: int) -> TaskResult:
    """The result `stored_result` wrote: of this task, with so many episodes."""
    prepared = stored.texts("prepared")
    if len(prepared) not in (1, len(task.discounts)):
        raise DataFileError(
            "result_store.other_number_of_policies",
            place=stored.place,
            prepared=len(prepared),
            discounts=len(task.discounts),
        )
    numbers = range(len(prepared))
    if task.policy == BOUND:
        bounds = tuple(stored.array(f"bound_{n}", (episodes,), finite=False) for n in numbers)
        return TaskResult(task, prepared, (), bounds)
    played = tuple(_trajectories(stored, n, episodes) for n in numbers)
    learning = [f"learning_{n}" for n in numbers]
    returns = (stored.array(name, (None,), finite=False) if name in stored.arrays else None for name in learning)
    return TaskResult(task, prepared, played, learning=tuple(returns))


def _trajectories(stored: Stored, number: int, episodes: int) -> Trajectories:
    rounds = stored.array(f"rounds_{number}", (episodes,), np.int64)
    ending = stored.array(f"ending_{number}", (episodes,), np.int64)
    last = int(rounds.max(initial=0))
    by_round = [
        stored.array(f"{name}_{number}", (episodes, last), np.int32) for name in ("recruits", "spend", "frontier")
    ]
    if any((counts < 0).any() for counts in (rounds, *by_round)) or not np.isin(ending, list(Ending)).all():
        raise DataFileError("result_store.impossible_number", place=stored.place)
    recruits, spend, frontier = by_round
    return Trajectories(recruits, spend, frontier, rounds, ending)


def form_with_cost(task: Task | None, episodes: int) -> Form[tuple[TaskResult | None, float, int]]:
    """How the result of a task, or the mere fact that it was done (no task), is kept with its seconds and memory."""

    def stored_piece(made: tuple[TaskResult | None, float, int]) -> Stored:
        result, seconds, peak = made
        settings = {"seconds": seconds, "peak_memory": peak}
        return Stored(settings, {}) if result is None else Stored.of_parts(settings, result=stored_result(result))

    def restored_piece(stored: Stored) -> tuple[TaskResult | None, float, int]:
        result = None if task is None else restored_result(stored.part("result"), task, episodes)
        return result, stored.setting("seconds", float), stored.setting("peak_memory", int)

    return Form(stored_piece, restored_piece)
