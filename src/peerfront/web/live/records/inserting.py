"""Insert many rows into a table; `bulk_create` takes several times as long.

SQLite gets one statement that is prepared once. PostgreSQL takes many rows by COPY.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

from django.db import connection, models

_ROWS = 2_000  # at a time
_MANY = 100  # rows from which on COPY is worth its round trips
T = TypeVar("T")


@dataclass(frozen=True)
class Insertion:
    """Rows of a table as its database takes them."""

    table: str
    columns: tuple[str, ...]
    rows: Iterable[list[Any]]

    def write(self) -> None:
        quote = connection.ops.quote_name
        into = f"{quote(self.table)} ({', '.join(map(quote, self.columns))})"
        places = ", ".join(["%s"] * len(self.columns))
        with connection.cursor() as cursor:
            for part in _parts(self.rows):
                if connection.vendor == "postgresql" and len(part) >= _MANY:
                    _copy(cursor, f"COPY {into} FROM STDIN", part)
                else:
                    cursor.executemany(f"INSERT INTO {into} VALUES ({places})", part)


def insertion(model: type[models.Model], rows: Iterable[Mapping[str, Any]]) -> Insertion:
    """Rows by the names of their columns, each made ready when it is needed; unnamed columns get their defaults."""
    fields = [each for each in model._meta.concrete_fields if not isinstance(each, models.AutoField)]

    def ready(row: Mapping[str, Any]) -> list[Any]:
        return [
            each.get_db_prep_save(row[each.attname] if each.attname in row else each.get_default(), connection)
            for each in fields
        ]

    return Insertion(model._meta.db_table, tuple(str(each.column) for each in fields), map(ready, rows))


def _copy(cursor: Any, statement: str, rows: list[list[Any]]) -> None:
    with connection.wrap_database_errors, cursor.cursor.copy(statement) as copy:
        for row in rows:
            copy.write_row(row)


def _parts(rows: Iterable[T]) -> Iterator[list[T]]:
    remaining = iter(rows)
    while part := list(islice(remaining, _ROWS)):
        yield part
