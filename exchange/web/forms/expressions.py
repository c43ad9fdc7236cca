"""Defines a form with an expression, checked with the other fields: errors appear together."""

from __future__ import annotations

from typing import Any

from exchange.market.services import check_expression
from exchange.web.forms.saving import SavingForm
from targeting import ExpressionError


class ExpressionForm(SavingForm):
    """A form with an expression; `problems` says what is wrong with it and where."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.problems: tuple[Any, ...] = ()
        self.fields["expression"].strip = False  # type: ignore[attr-defined]
        # Empty text is an error of the language, and the language says it better.
        self.fields["expression"].required = False

    def owner_id(self) -> int | None:
        """Finds the organisation whose audiences and lists the expression may use."""
        raise NotImplementedError

    def own_name(self) -> str | None:
        """Says what the expression will be known by; for audiences, which must not use
        themselves."""
        return None

    def is_stopped(self) -> bool:
        """Tells whether what is saved serves nothing: it may keep a text that is now wrong."""
        return False

    def clean_expression(self) -> str:
        text: str = self.cleaned_data["expression"].replace("\r\n", "\n")
        return text

    def clean(self) -> dict[str, Any] | None:
        """Checks the expression after the fields, because the owner decides which audiences and
        lists there are."""
        cleaned = super().clean()
        try:
            check_expression(
                text=self.cleaned_data.get("expression", ""),
                organisation_id=self.owner_id(),
                name=self.own_name(),
            )
        except ExpressionError as error:
            is_as_saved = self.cleaned_data.get("expression") == self.initial.get("expression")
            if not (self.is_stopped() and is_as_saved):
                self.take_problems(error)
        return cleaned

    def take_problems(self, error: ExpressionError) -> None:
        self.problems = tuple(error.errors)
        count = len(self.problems)
        said = "one problem" if count == 1 else f"{count} problems"
        self.add_error("expression", f"The expression has {said}, marked below.")
