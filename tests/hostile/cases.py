"""All hostile cases; `runner` runs them, and `benchmarks/hostile_input.py` prints a summary."""

from itertools import chain

from hostile.commands import no_files, plans, simulations, written
from hostile.formats import other_formats, schemas
from hostile.studies import cells, studies

CASES = tuple(chain(cells(), studies(), other_formats(), schemas(), plans(), simulations(), no_files(), written()))
