"""Holds what all forms of the market share: their person, the version they began with, the save.

Whatever a service refuses becomes part of the form, which is shown again with everything that was
typed: nothing is lost by an error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import Model, QuerySet
from django.http import QueryDict
from django.urls import reverse

from exchange.accounts.models import User
from exchange.accounts.ownership import kind_of
from exchange.kinds import Kind
from exchange.market.models import Party
from exchange.market.services import FailingVisitsError, Outcome, StaleSaveError
from exchange.reading.rehearsal import Rehearsal
from exchange.web.forms.naming import NamedChoice
from targeting import ExpressionError


@dataclass(frozen=True, slots=True)
class Rivalry:
    """One field of a form that two people changed to different values."""

    label: str
    yours: str
    theirs: str


class SavingForm(forms.ModelForm):  # type: ignore[type-arg]
    """Knows who fills it in, and from which version of the row it was filled."""

    expected_version = forms.IntegerField(widget=forms.HiddenInput, required=False)

    def __init__(self, *args: Any, person: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.person = person
        self.stale: StaleSaveError | None = None
        self.rivalries: list[Rivalry] = []
        self.failing_visits: tuple[Outcome, ...] = ()
        self.visits_run = 0
        self.rehearsal: Rehearsal | None = None  # of a save that waits for a tick
        self.initial["expected_version"] = getattr(self.instance, "version", None)

    @property
    def shown(self) -> list[forms.BoundField]:
        """Lists the fields that a page shows one after the other."""
        return [self[name] for name in self.fields if not self[name].is_hidden]

    @property
    def status(self) -> int:
        """Returns the status of the page that shows the form again."""
        if self.stale:
            return 409
        return 422 if self.errors else 200

    def take_stale_save(self, stale: StaleSaveError) -> None:
        """Shows both versions, and has the next save start from theirs: whoever saves then has seen
        what it replaces."""
        self.stale = stale
        self.rivalries = compare_versions(self, stale.theirs)
        data = cast("QueryDict", self.data).copy()
        data[self.add_prefix("expected_version")] = str(stale.theirs.version)
        self.data = data
        self.add_error(None, stale)

    def take_problems(self, error: ExpressionError) -> None:
        """Takes what is wrong with the expression; a form without one has no place to show it."""
        raise error


def confirmation() -> forms.BooleanField:
    """Makes the field that is shown with the test visits that a save would make fail
    (`_failing_visits.html`)."""
    return forms.BooleanField(label="Save although these test visits fail", required=False)


def compare_versions(form: SavingForm, theirs: Model) -> list[Rivalry]:
    rivals = []
    for name in form._meta.fields or ():
        if name not in form.fields:
            continue
        yours, others = (show_value(row, str(name)) for row in (form.instance, theirs))
        if yours != others:
            rivals.append(Rivalry(str(form[name].label), yours, others))
    return rivals


def show_value(row: Model, name: str) -> str:
    display = getattr(row, f"get_{name}_display", None)
    value = display() if display else getattr(row, name)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(str(part) for part in value)
    return "" if value is None else str(value)


def offer_parties(form: forms.BaseForm, name: str, parties: QuerySet[Party]) -> None:
    """Offers only those who can stand there, by name."""
    field = cast("NamedChoice", form.fields[name])
    field.offer(parties, f"{reverse('party-options')}?side={name}")
    article = "an" if name[0] in "aeiou" else "a"
    field.empty_label = f"Choose {article} {name}"


def save_form(form: SavingForm, save: Callable[..., object]) -> bool:
    """Calls the service (its person bound already) with the form's row, under the name of its kind.
    What it complains about becomes an error of the form."""
    if not form.is_valid():
        return False
    kind = cast("Kind", kind_of(form.instance))
    row: dict[str, Any] = {kind.name: form.instance}
    if "confirmed" in form.fields:
        row["confirmed"] = form.cleaned_data["confirmed"]
    try:
        save(**row, expected_version=form.cleaned_data["expected_version"])
    except ExpressionError as error:
        form.take_problems(error)
    except StaleSaveError as error:
        form.take_stale_save(error)
    except FailingVisitsError as error:
        form.failing_visits, form.visits_run = error.outcomes, error.run_count
        form.add_error(None, "Nothing is saved yet: test visits would fail. Look at them below.")
    except ValidationError as error:
        take_complaints(form, error)
    return not form.errors


def take_complaints(form: SavingForm, error: ValidationError) -> None:
    """Shows complaints; one about a field that the form does not show is about the form."""
    if not hasattr(error, "error_dict"):
        form.add_error(None, error)
        return
    for name, complaints in error.error_dict.items():
        form.add_error(name if name in form.fields else None, complaints)
