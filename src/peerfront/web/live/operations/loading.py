"""Fill empty tables from a chain of events: all that follows is rebuilt by the rules, and written in large parts."""

from collections.abc import Iterable
from typing import Any, cast

from django.db import transaction

from peerfront.foundation.errors import SettingError
from peerfront.web.live.records import models
from peerfront.web.live.records.database import columns_of, insertion
from peerfront.web.live.records.recording import event_columns
from peerfront.web.live.rules.chain import Link, checked
from peerfront.web.live.rules.state import State, rebuild


def load(links: Iterable[Link]) -> State:
    """Write a whole chain and the rows that follow from it into a database without events; all or nothing."""
    chain = list(links)
    state = rebuild(checked(chain))
    with transaction.atomic():
        if models.Event.objects.exists():
            raise SettingError("The database holds a study already. Name an empty one.")
        insertion(models.Event, map(event_columns, chain)).write()
        for kind, model in models.FOLLOWING.items():
            insertion(model, map(columns_of, cast("Iterable[Any]", state.table(kind).values()))).write()
    return state
