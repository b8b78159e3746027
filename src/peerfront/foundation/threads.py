"""One thread for what must come out the same everywhere.

With several threads, sums of floating-point numbers are added up in another order, and the last bits of a trained
network differ: another number of cores would give another model. Commands share large work among processes instead.
"""

from collections.abc import Iterator
from contextlib import contextmanager

THREADS = 1


@contextmanager
def one_thread(*, training: bool = False) -> Iterator[None]:
    """Compute with one thread, in torch too while `training`; put back afterwards what was set before."""
    from threadpoolctl import threadpool_limits

    if not training:
        with threadpool_limits(limits=THREADS):
            yield
        return
    import torch  # before the limits are set: they hold for what is loaded

    before = torch.get_num_threads()
    with threadpool_limits(limits=THREADS):
        torch.set_num_threads(THREADS)
        try:
            yield
        finally:
            torch.set_num_threads(before)
