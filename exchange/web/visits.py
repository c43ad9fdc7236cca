"""A visit that someone pastes: read with the place of every mistake, and explained.

Eligibility itself is answered by the same service as the API's. The explanation evaluates the same
parsed expressions, edge by edge, with the same visit.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from django import forms

from exchange.market.models import Party
from exchange.web.forms import CampaignPicker

EXAMPLE_VISIT = {
    "geo": {"country": "USA", "region": "CA"},
    "device": {"type": "phone", "os": "ios"},
    "site": {"domain": "news.example", "cat": ["news"]},
    "user": {"segments": ["cars"], "consent": True},
}
MAX_VISIT_CHARACTERS = 64 * 1024


@dataclass(frozen=True, slots=True)
class TextProblem:
    """Something wrong at a place of a text; lines and columns count from 1."""

    line: int
    column: int
    length: int
    message: str


class VisitProblemError(Exception):
    def __init__(self, problem: TextProblem) -> None:
        super().__init__(problem.message)
        self.problem = problem


def read_visit(text: str) -> dict[str, Any]:
    """A JSON object, strictly: what other readers would refuse is refused here too."""
    try:
        visit = json.loads(text, parse_constant=refuse_constant)
    except json.JSONDecodeError as error:
        raise VisitProblemError(
            TextProblem(error.lineno, error.colno, 1, f"This is not JSON: {error.msg}.")
        ) from None
    except (ValueError, RecursionError) as error:
        raise VisitProblemError(TextProblem(1, 1, 1, str(error))) from None
    if not isinstance(visit, dict):
        message = 'A visit is a JSON object, such as {"geo": {"country": "USA"}}.'
        raise VisitProblemError(TextProblem(1, 1, 1, message))
    return visit


def refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON value; use null for what is not known.")


class VisitForm(forms.Form):
    """What to try. `problems` marks mistakes in the visit at their place."""

    publisher = forms.ModelChoiceField(
        Party.objects.publishers().order_by("name"), empty_label="Choose a publisher"
    )
    visit = forms.CharField(strip=False, max_length=MAX_VISIT_CHARACTERS)
    campaign = CampaignPicker(
        label="Explain a campaign",
        required=False,
        help_text="Optional: see why it is eligible or not.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.problems: tuple[TextProblem, ...] = ()

    def clean_visit(self) -> dict[str, Any]:
        try:
            return read_visit(self.cleaned_data["visit"].replace("\r\n", "\n"))
        except VisitProblemError as error:
            self.problems = (error.problem,)
            raise forms.ValidationError(error.problem.message) from None
