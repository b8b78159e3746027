"""Use pages of the live study without a browser, many at a time: cookies, forms as they stand in the page, retries.

For the benchmarks of a live study. A form is filled in by the names of its fields and sent as a browser would send it,
with its hidden fields (the request key among them), so pages can change without these scripts.
"""

import http.client
from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import urlencode, urljoin, urlsplit


class LostConnection(Exception):
    """The server went away before it answered: nobody knows whether the request was carried out."""


@dataclass
class Form:
    """A form of a page: where it goes, and what its fields hold."""

    action: str
    fields: dict[str, str] = field(default_factory=dict)
    choices: dict[str, list[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Page:
    """What the server answered."""

    status: int
    path: str
    text: str
    forms: tuple[Form, ...]

    def form(self, *names: str) -> Form | None:
        """The first form that has all of these fields."""
        return next((each for each in self.forms if all(name in each.fields for name in names)), None)


class _Forms(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.forms: list[Form] = []
        self._inside: Form | None = None
        self._select: str | None = None
        self._textarea: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._inside = Form(told.get("action", ""))
            self.forms.append(self._inside)
        if self._inside is None:
            return
        name = told.get("name", "")
        if tag == "input" and name:
            if told.get("type") in ("radio", "checkbox"):
                self._inside.choices.setdefault(name, []).append(told.get("value", "on"))
                if "checked" in told:
                    self._inside.fields[name] = told.get("value", "on")
            else:
                self._inside.fields[name] = told.get("value", "")
        elif tag == "textarea" and name:
            self._textarea = name
            self._inside.fields[name] = ""
        elif tag == "select" and name:
            self._select = name
            self._inside.fields[name] = ""
        elif tag == "option" and self._select:
            choices = self._inside.choices.setdefault(self._select, [])
            choices.append(told.get("value", ""))
            if len(choices) == 1 or "selected" in told:
                self._inside.fields[self._select] = choices[-1]

    def handle_data(self, data: str) -> None:
        if self._inside is not None and self._textarea:
            self._inside.fields[self._textarea] += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._inside = None
        elif tag == "select":
            self._select = None
        elif tag == "textarea":
            self._textarea = None


class Browserless:
    """One person with cookies."""

    def __init__(self, address: str, from_address: str = "") -> None:
        """`from_address` is where somebody behind a proxy with HTTPS comes from; empty without a proxy."""
        parts = urlsplit(address)
        self.host, self.port = parts.hostname or "127.0.0.1", parts.port or 80
        self.scheme = "https" if from_address else "http"
        self.proxied = {"X-Forwarded-For": from_address, "X-Forwarded-Proto": "https"} if from_address else {}
        self.cookies: dict[str, str] = {}
        self._connection: http.client.HTTPConnection | None = None

    def get(self, path: str) -> Page:
        return self._follow("GET", path, None)

    def send(self, page: Page, form: Form, **values: str) -> Page:
        """Fill in a form of a page and send it."""
        target = urljoin(page.path, form.action) if form.action else page.path
        return self._follow("POST", target, {**form.fields, **values})

    def post(self, path: str, values: dict[str, str]) -> Page:
        return self._follow("POST", path, values)

    def log_in(self, name: str, password: str) -> Page:
        page = self.get("/login/")
        form = page.form("username", "password")
        if form is None and "/logout/" in page.text:
            return page  # an earlier try was carried out, and its answer was lost
        assert form is not None, page.text[:500]
        return self.send(page, form, username=name, password=password)

    def _follow(self, method: str, path: str, values: dict[str, str] | None) -> Page:
        for _ in range(5):
            status, location, text = self._once(method, path, values)
            if status not in (301, 302, 303):
                forms = _Forms()
                forms.feed(text)
                return Page(status, path, text, tuple(forms.forms))
            method, values, path = "GET", None, urljoin(path, location)
        raise AssertionError(f"{path} redirects for ever")

    def _once(self, method: str, path: str, values: dict[str, str] | None) -> tuple[int, str, str]:
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        headers = {"Cookie": cookies, "Host": f"{self.host}:{self.port}"} | self.proxied
        body = None
        if values is not None:
            body = urlencode(values)
            headers |= {"Content-Type": "application/x-www-form-urlencoded"}
            headers |= {"Referer": f"{self.scheme}://{self.host}:{self.port}{path}"}
        try:
            if self._connection is None:
                self._connection = http.client.HTTPConnection(self.host, self.port, timeout=60)
            self._connection.request(method, path, body, headers)
            answer = self._connection.getresponse()
            text = answer.read().decode("utf-8", "replace")
        except (OSError, http.client.HTTPException) as lost:
            self.close()
            raise LostConnection(str(lost)) from None
        for name, value in answer.getheaders():
            if name.lower() == "set-cookie":
                cookie, _, content = value.split(";", 1)[0].partition("=")
                self.cookies[cookie.strip()] = content
        return answer.status, answer.getheader("Location", ""), text

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None
