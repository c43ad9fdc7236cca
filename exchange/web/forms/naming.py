"""Lets people choose by name: from a menu while there are few, by typing where it would be too
long.

A menu of twenty thousand names takes a second to write and more to read. What was chosen is sent as
its number from a menu or an address, as its name from a typed field: names are unique.
"""

from __future__ import annotations

from typing import Any, cast

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import Model, QuerySet
from django.utils.html import format_html
from django.utils.safestring import SafeString

MENU_LIMIT = 12


class NameInput(forms.TextInput):
    """A field that suggests while one types, from an address that takes the text under its name."""

    def __init__(self, options: str) -> None:
        super().__init__(attrs={"autocomplete": "off", "placeholder": "Type a part of the name"})
        self.options = options

    def render(
        self, name: str, value: Any, attrs: dict[str, Any] | None = None, renderer: Any = None
    ) -> SafeString:
        listed = f"{(attrs or {}).get('id', name)}_options"
        # Names a target: else that of the form around it would be inherited.
        asking = {
            "data-combobox": True,
            "hx-get": self.options,
            "hx-trigger": "focus once, input changed delay:200ms",
            "hx-target": f"#{listed}",
            "hx-swap": "innerHTML",
            "hx-select": "unset",
            "hx-push-url": "false",
            "hx-indicator": "unset",
            "hx-sync": "this:replace",
            "hx-params": name,
        }
        field = super().render(name, value, {**(attrs or {}), **asking}, renderer)
        options = (
            '<ul class="options" role="listbox" id="{}" aria-label="Names that fit" hidden></ul>'
        )
        return format_html(f'<span class="combobox">{{}}{options}</span>', field, listed)


class NamedChoice(forms.ModelChoiceField):  # type: ignore[type-arg]
    """One of the rows that the form offers, all with a unique `name`."""

    def offer(self, rows: QuerySet[Any], options: str) -> None:
        """Offers rows; `options` is the address of suggestions, if they are too many for a menu."""
        self.queryset = rows.order_by("name")
        if rows.order_by().values("pk")[: MENU_LIMIT + 1].count() > MENU_LIMIT:
            self.widget = NameInput(options)
            self.widget.is_required = self.required

    @property
    def rows(self) -> QuerySet[Any]:
        return cast("QuerySet[Any]", self.queryset)

    def to_python(self, value: Any) -> Any:
        text = str(value or "").strip()
        if not text or isinstance(value, Model) or text.isdecimal():
            return super().to_python(value)
        found = self.rows.filter(name__iexact=text)[:2]
        if len(found) != 1:
            raise ValidationError(f"There is no “{text}” to choose. Type a part of the name.")
        return found[0]

    def prepare_value(self, value: Any) -> Any:
        number = super().prepare_value(value)
        if not isinstance(self.widget, NameInput) or not str(number or "").isdecimal():
            return number
        named = self.rows.filter(pk=number).values_list("name", flat=True).first()
        return named or number
