"""Insert many rows into a table by one statement that is prepared once; `bulk_create` takes several times as long."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, TypeVar

from django.db import connection, models

_ROWS = 2_000  # prepared at a time
T = TypeVar("T")


def insert(model: type[models.Model], rows: Iterable[Mapping[str, Any]]) -> None:
    """Insert rows by the names of their columns; columns that are not named get their defaults."""
    fields = [each for each in model._meta.concrete_fields if not isinstance(each, models.AutoField)]
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
