"""Several people who press a button at the same moment."""

import threading

from django.db import connections


def at_once(*actions):
    """Do everything in threads that begin together; gives the results in order, and raises what one of them raised."""
    barrier = threading.Barrier(len(actions))
    results: list = [None] * len(actions)

    def work(place, action) -> None:
        try:
            barrier.wait(30)
            results[place] = action()
        except Exception as error:
            results[place] = error
        finally:
            connections.close_all()

    threads = [threading.Thread(target=work, args=each) for each in enumerate(actions)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    for result in results:
        if isinstance(result, Exception):
            raise result
    return results
