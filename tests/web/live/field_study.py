"""A small study for the pages of the field; forms as they stand in a page, to be filled in and sent."""

from dataclasses import dataclass, field, replace
from datetime import timedelta
from html.parser import HTMLParser

from django.utils import timezone
from live_client import LiveStudy
from small_live import SETTINGS

from peerfront.web.live.rules.study_settings import Question, QuestionKind, Settings

QUESTIONS = (
    Question("area", "Where do you live?", choices=("North", "South", "Harbour")),
    Question("age", "How old are you?", QuestionKind.NUMBER),
    Question("work", "What work do you do?", QuestionKind.TEXT),
)
FIELD_SETTINGS = replace(SETTINGS, name="Harbour study", active_after_days=0, questions=QUESTIONS)
ANSWERED = {"network_size": "12", "question_area": "Harbour", "question_age": "34", "question_work": "ships"}
"""A filled-in interview."""


class FieldStudy(LiveStudy):
    """The live study with a clock that a test may set back; what pages do happens now."""

    def __init__(self, settings: Settings = FIELD_SETTINGS, *, days_ago: int = 0) -> None:
        self.days_ago = timedelta(days=days_ago)
        super().__init__(settings)

    @property
    def now(self):
        return timezone.now() - self.days_ago

    @now.setter
    def now(self, at) -> None:
        pass

    def days(self, number: float) -> None:
        self.days_ago -= timedelta(days=number)

    def coupons(self, number: int = 3, holder: str = "ana") -> tuple[str, ...]:
        """Coupons in the hands of a seed."""
        self.seed(holder)
        self.approve(**{holder: number})
        return self.issue(holder)


@dataclass
class PageForm:
    """A form of a page: where it goes, and what its fields hold."""

    action: str
    fields: dict[str, str] = field(default_factory=dict)
    words: str = ""

    def __getitem__(self, name: str) -> str:
        return self.fields[name]


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.forms: list[PageForm] = []
        self._form: PageForm | None = None
        self._textarea = self._select = ""

    def handle_starttag(self, tag, attrs) -> None:
        told = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._form = PageForm(told.get("action", ""))
            self.forms.append(self._form)
        elif self._form is not None and told.get("name"):
            if told["name"] == "csrfmiddlewaretoken":
                return  # the client of the tests needs none, and it is another one each time
            if told.get("type") in ("radio", "checkbox"):
                if "checked" in told:
                    self._form.fields[told["name"]] = told.get("value", "on")
            elif tag == "input":
                self._form.fields[told["name"]] = told.get("value", "")
            elif tag == "textarea":
                self._textarea = told["name"]
                self._form.fields[told["name"]] = ""
            elif tag == "select":
                self._select = told["name"]
                self._form.fields.setdefault(told["name"], "")
        elif tag == "option" and self._form is not None and self._select and "selected" in told:
            self._form.fields[self._select] = told["value"]

    def handle_data(self, data) -> None:
        if self._form is None:
            return
        if self._textarea:
            self._form.fields[self._textarea] += data
        else:
            self._form.words += data

    def handle_endtag(self, tag) -> None:
        if tag == "form":
            self._form = None
        elif tag == "textarea" and self._form is not None:
            typed = self._form.fields[self._textarea]
            self._form.fields[self._textarea] = typed.removeprefix("\n")  # as browsers do
            self._textarea = ""
        elif tag == "select":
            self._select = ""


def forms_of(response) -> list[PageForm]:
    """All forms of a page."""
    reader = _Reader()
    reader.feed(response.content.decode())
    return reader.forms


def form_with(response, *names: str) -> PageForm:
    """The first form of a page that has all of these fields."""
    found = [form for form in forms_of(response) if all(name in form.fields for name in names)]
    assert found, f"no form with {names} in:\n{response.content.decode()}"
    return found[0]


def words_of(response) -> str:
    """What a page says, without markup, as one line."""
    reader = _Words()
    reader.feed(response.content.decode())
    return " ".join(" ".join(reader.words).split())


class _Words(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []

    def handle_data(self, data) -> None:
        self.words.append(data)
