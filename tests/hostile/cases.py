"""All hostile cases: those with what must be said written beside them, and those that are generated.

`runner` runs them, and `benchmarks/hostile_input.py` prints a summary.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import chain, islice

from hostile import changed_files, front_door, large_files, options, own_files
from hostile.commands import no_files, plans, simulations, written
from hostile.formats import other_formats, schemas
from hostile.runner import Call, Case
from hostile.studies import cells, studies

CASES = tuple(chain(cells(), studies(), other_formats(), schemas(), plans(), simulations(), no_files(), written()))
GENERATED: Mapping[str, Callable[[], Iterator[Case | Call]]] = {
    "options": options.every_option,
    "together": lambda: options.odd_combinations(300),
    "own files": own_files.cases,
    "front door": front_door.cases,
    "large files": large_files.cases,
    "changed files": changed_files.cases,
}


def sample(every: int, groups: Iterator[str] | tuple[str, ...] = tuple(GENERATED)) -> Iterator[Case | Call]:
    """Every nth generated case of some groups."""
    return chain.from_iterable(islice(GENERATED[group](), 0, None, every) for group in groups)
