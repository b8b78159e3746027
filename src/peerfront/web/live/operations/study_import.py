"""Import a study's file through the rules: all of it or nothing, and the same file again changes nothing."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

from django.utils.translation import gettext

from peerfront.data.study import Study
from peerfront.foundation.errors import SettingError
from peerfront.web.live.operations.imported_people import FromFile, Place, people_of
from peerfront.web.live.operations.staff import accepted, answer_here
from peerfront.web.live.records import models
from peerfront.web.live.records.database import DatabaseRecords
from peerfront.web.live.rules.deciding import Accepted, Answer
from peerfront.web.live.rules.events import ActionNoted
from peerfront.web.live.rules.requests import ChangeSettings, ImportPeople, Wish


@dataclass(frozen=True)
class Imported:
    """What an import did, or why it did nothing."""

    answer: Answer
    file: FromFile
    new_questions: int = 0

    @property
    def counts(self) -> tuple[int, int]:
        """People who were imported, and people who were there before."""
        fact = self.answer.events[0].fact
        assert isinstance(fact, ActionNoted)
        told = dict(fact.details)
        return int(told["imported"]), int(told["there_before"])


def file_for_study(study: Study, site: str | None) -> FromFile:
    """What a file would bring to the study of this database."""
    row = DatabaseRecords().study()
    if row is None:
        raise SettingError(gettext("The study has not begun. Begin it first."))
    sites = dict(models.Site.objects.values_list("site", "name"))
    if not sites:
        raise SettingError(gettext("The study has no site yet. Add one on the page of sites."))
    if site is not None and site not in sites:
        raise SettingError(
            gettext("There is no site {site}. Choose one of: {sites}.").format(
                site=repr(site), sites=", ".join(sorted(sites))
            )
        )
    began: datetime = models.Event.objects.order_by("number").values_list("at", flat=True)[0]
    return people_of(study, Place(row.settings, sites, site, began))


class Ask(Protocol):
    """Asks the rules for a wish; `ending` tells the request keys of several wishes apart."""

    def __call__(
        self, wish: Wish, *, ending: str = "", alongside: Callable[[Accepted], None] | None = None
    ) -> Answer: ...


def import_study(study: Study, source: str, site: str | None, ask: Ask) -> Imported:
    """Import a file that was read, and make questions from its columns if the study has none; all of it or nothing."""
    file = file_for_study(study, site)
    new_questions = 0

    def make_questions(_: Accepted) -> None:
        nonlocal new_questions
        row = DatabaseRecords().study()
        assert row is not None, "people were imported into it"
        if row.settings.questions or not file.questions:
            return
        wish = ChangeSettings(
            replace(row.settings, questions=file.questions), f"Questions from the columns of {source[:100]}"
        )
        changed = ask(wish, ending="-questions")
        if not isinstance(changed, Accepted):
            raise SettingError(gettext("The questions could not be made from the file.") + f" {changed.refusal.found}")
        new_questions = len(file.questions)

    answered = ask(ImportPeople(file.people, source[:100]), alongside=make_questions)
    return Imported(answered, file, new_questions)


def import_here(study: Study, source: str, site: str | None) -> list[str]:
    """Import from the command line; gives what to say."""

    def ask(wish: Wish, *, ending: str = "", alongside: Callable[[Accepted], None] | None = None) -> Answer:
        return answer_here(wish, alongside=alongside)  # each wish gets a request key of its own

    done = import_study(study, source, site, ask)
    accepted(done.answer)
    imported, there = done.counts
    words = [f"{imported:,} people imported; {there:,} were there already and are the same.", *done.file.notes]
    if done.new_questions:
        words.append(f"{done.new_questions:,} questions were made from its columns; the settings page shows them.")
    return words
