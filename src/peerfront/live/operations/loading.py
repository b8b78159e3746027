"""Fill empty tables from a chain of events: all that follows is rebuilt by the rules, and written in large parts."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, TypeVar, cast

from django.db import connection, transaction
from django.db import models as django_models

from peerfront.foundation.errors import SettingError
from peerfront.live.records import models
from peerfront.live.records.database import columns_of
from peerfront.live.records.recording import event_columns
from peerfront.live.rules.chain import Link, checked
from peerfront.live.rules.state import State, rebuild

_ROWS = 2_000  # prepared at a time
T = TypeVar("T")


def load(links: Iterable[Link]) -> State:
    """Write a whole chain and the rows that follow from it into a database without events; all or nothing."""
    chain = list(links)
    state = rebuild(checked(chain))
    with transaction.atomic():
        if models.Event.objects.exists():
            raise SettingError("The database holds a study already. Name an empty one.")
        _insert(models.Event, map(event_columns, chain))
        for kind, model in models.FOLLOWING.items():
            _insert(model, map(columns_of, cast("Iterable[Any]", state.table(kind).values())))
    return state


def _insert(model: type[django_models.Model], rows: Iterable[Mapping[str, Any]]) -> None:
    """Insert rows by one statement that is prepared once; `bulk_create` takes several times as long."""
    fields = [each for each in model._meta.concrete_fields if not isinstance(each, django_models.AutoField)]
    quote = connection.ops.quote_name
    columns = ", ".join(quote(str(each.column)) for each in fields)
    places = ", ".join(["%s"] * len(fields))
    statement = f"INSERT INTO {quote(model._meta.db_table)} ({columns}) VALUES ({places})"

    def prepared(row: Mapping[str, Any]) -> list[Any]:
        return [
            each.get_db_prep_save(row[each.attname] if each.attname in row else each.get_default(), connection)
            for each in fields
        ]

    with connection.cursor() as cursor:
        for part in _parts(rows):
            cursor.executemany(statement, [prepared(row) for row in part])


def _parts(rows: Iterable[T]) -> Iterator[list[T]]:
    remaining = iter(rows)
    while part := list(islice(remaining, _ROWS)):
        yield part
