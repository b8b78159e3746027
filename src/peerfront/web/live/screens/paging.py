"""Long lists in pages, with addresses that keep the filters."""

from dataclasses import dataclass
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import QuerySet
from django.http import HttpRequest

PER_PAGE = 50


@dataclass(frozen=True)
class ListPage:
    """One page of a list, and the addresses of its neighbours."""

    page: Page[Any]
    before: str
    """The address of the page before; empty on the first."""
    after: str

    @property
    def rows(self) -> list[Any]:
        return list(self.page.object_list)

    @property
    def count(self) -> int:
        return self.page.paginator.count


def list_page(request: HttpRequest, rows: QuerySet[Any]) -> ListPage:
    """The page of a list that the address names; the last one if there are fewer."""
    page = Paginator(rows, PER_PAGE).get_page(request.GET.get("page"))

    def address(number: int) -> str:
        entries = request.GET.copy()
        entries["page"] = str(number)
        return f"?{entries.urlencode()}"

    before = address(page.previous_page_number()) if page.has_previous() else ""
    return ListPage(page, before, address(page.next_page_number()) if page.has_next() else "")
