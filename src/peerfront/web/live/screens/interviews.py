"""The questions of a study as a form: how many people somebody knows, and what the manager asks besides."""

from collections.abc import Iterator
from typing import Any

from django import forms
from django.forms.boundfield import BoundField
from django.utils.translation import gettext_lazy as _

from peerfront.web.live.rules.events import Answers
from peerfront.web.live.rules.person_rules import LARGEST_NETWORK
from peerfront.web.live.rules.study_settings import LONGEST_TEXT, Question, QuestionKind, Settings
from peerfront.web.live.screens.staff_requests import RequestForm, new_key

MOST_BUTTONS = 8
"""Choices that are shown as buttons; more are a list to open."""
_PREFIX = "question_"


class InterviewForm(RequestForm):
    """Answers of one person.

    Nobody has to answer, but nothing is left out by mistake: where something is missing, the form is shown once more
    with a box to tick that the person does not answer.
    """

    # Keys of further requests are made from this one.
    key = forms.CharField(max_length=80, widget=forms.HiddenInput, initial=new_key)
    network_size = forms.IntegerField(
        label=_("How many people do they know who could take part, too?"),
        help_text=_("People they know by name and have met recently, as the study's guide says."),
        min_value=0,
        max_value=LARGEST_NETWORK,
        required=False,
        widget=forms.NumberInput(attrs={"inputmode": "numeric", "autocomplete": "off"}),
    )

    def __init__(self, settings: Settings, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.questions = settings.questions
        self.unanswered: list[str] = []
        """Labels of what is not answered, if the form was sent without saying that this is meant."""
        for question in self.questions:
            self.fields[_PREFIX + question.name] = _field(question)

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        names = ["network_size", *(_PREFIX + question.name for question in self.questions)]
        empty = [name for name in names if name not in self.errors and cleaned.get(name) in (None, "")]
        if empty and not self.data.get("without_answers"):
            self.unanswered = [str(self.fields[name].label) for name in empty]
            for name in empty:
                self.add_error(name, _("Not answered yet."))
        return cleaned

    @property
    def answers(self) -> Answers:
        """Questions with their answers, as they are recorded; what is not answered is left out."""
        told = ((question.name, self.cleaned_data[_PREFIX + question.name]) for question in self.questions)
        return tuple(sorted((name, _written(answer)) for name, answer in told if answer not in (None, "")))

    def interview_fields(self) -> Iterator[BoundField]:
        """The fields of the interview, in the order in which they are asked."""
        yield self["network_size"]
        for question in self.questions:
            yield self[_PREFIX + question.name]


def _field(question: Question) -> forms.Field:
    if question.kind is QuestionKind.CHOICE:
        choices = [(choice, choice) for choice in question.choices]
        if len(choices) > MOST_BUTTONS:
            return forms.ChoiceField(label=question.text, choices=[("", ""), *choices], required=False)
        return forms.ChoiceField(label=question.text, choices=choices, required=False, widget=forms.RadioSelect)
    if question.kind is QuestionKind.NUMBER:
        box = forms.NumberInput(attrs={"step": "any", "inputmode": "decimal", "autocomplete": "off"})
        return forms.DecimalField(label=question.text, max_digits=18, decimal_places=6, required=False, widget=box)
    text = forms.TextInput(attrs={"autocomplete": "off"})
    return forms.CharField(label=question.text, max_length=LONGEST_TEXT, required=False, widget=text)


def _written(answer: object) -> str:
    return format(answer, "f") if not isinstance(answer, str) else answer
