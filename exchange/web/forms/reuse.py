"""Defines the forms of what others use by name: audiences, value lists, attributes; of test
visits."""

from __future__ import annotations

from typing import Any, cast

from django import forms
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile
from django.urls import reverse

from exchange.accounts.models import Organisation, User
from exchange.accounts.permissions import is_exchange_operator
from exchange.market.models import Attribute, Audience, TestVisit, ValueList
from exchange.market.names import Values
from exchange.market.services import (
    BadValueError,
    FailingVisitsError,
    Outcome,
    ValuesDifference,
    change_values,
    values_after,
)
from exchange.reading.rehearsal import Rehearsal
from exchange.web.forms.expressions import ExpressionForm
from exchange.web.forms.naming import NamedChoice
from exchange.web.forms.saving import SavingForm, confirmation
from exchange.web.value_texts import GivenValues, read_values
from exchange.web.visit_texts import VisitProblemError, read_visit

MAX_UPLOAD_BYTES = 64 * 1024 * 1024


def offer_organisations(form: SavingForm) -> None:
    """Offers organisations: operators act for everyone; everybody else for their own, unasked."""
    if is_exchange_operator(form.person):
        field = cast("NamedChoice", form.fields["organisation"])
        field.offer(Organisation.objects.all(), reverse("organisation-options"))
        field.empty_label = "Choose an organisation"
        field.initial = form.person.organisation_id
    else:
        del form.fields["organisation"]


class AudienceForm(ExpressionForm):
    confirmed = confirmation()

    class Meta:
        model = Audience
        fields = ["name", "organisation", "description", "expression"]
        field_classes = {"organisation": NamedChoice}
        labels = {"expression": "Who belongs to it: which visits"}
        help_texts = {
            "name": "Expressions use it as @name.",
            "organisation": "An audience of the exchange itself can be used by everybody.",
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offer_organisations(self)

    def owner_id(self) -> int | None:
        chosen: Organisation | None = self.cleaned_data.get("organisation")
        return chosen.pk if chosen else self.instance.organisation_id

    def own_name(self) -> str | None:
        return self.cleaned_data.get("name")


class ValueListForm(SavingForm):
    """Values come as a file or as text; without either those that are there stay."""

    text = forms.CharField(
        label="Values",
        required=False,
        widget=forms.Textarea(
            attrs={"rows": 8, "spellcheck": "false", "placeholder": "One a line, or with commas"}
        ),
        help_text="They replace the whole list; leave empty to keep its values. Single ones are "
        "added and removed on the list's page. A value in double quotes may hold commas.",
    )
    upload = forms.FileField(
        label="or a file",
        required=False,
        help_text="Plain text or CSV in UTF-8, one value a line, up to a million values.",
    )
    confirmed = confirmation()

    class Meta:
        model = ValueList
        fields = ["name", "type", "organisation", "description"]
        field_classes = {"organisation": NamedChoice}
        help_texts = {
            "name": "Expressions use it as $name.",
            "organisation": "A list of the exchange itself can be used by everybody.",
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.given_count: int | None = None  # known once they are saved
        offer_organisations(self)
        if self.instance.pk:
            self.fields["type"].disabled = True

    def clean_upload(self) -> UploadedFile[bytes] | None:
        upload: UploadedFile[bytes] | None = self.cleaned_data["upload"]
        if upload and (upload.size or 0) > MAX_UPLOAD_BYTES:
            raise ValidationError("The file is larger than 64 MB.")
        return upload

    def given(self) -> GivenValues | None:
        """Reads the values that the person gave; gives None if there are none. Raises
        `ValidationError` for what cannot be read."""
        upload: UploadedFile[bytes] | None = self.cleaned_data.get("upload")
        text: str = self.cleaned_data.get("text") or ""
        if upload is None and not text.strip():
            return None
        return read_values(read_upload(upload) if upload else text)


def read_upload(upload: UploadedFile[bytes]) -> str:
    upload.seek(0)  # the rehearsal may have read it
    try:
        return str(upload.read(), "utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"The file is not text in UTF-8 (byte {error.start:,})."
        raise ValidationError({"upload": message}) from error


class ChangeValuesForm(forms.Form):
    """Some values more or less, on the list's own page."""

    text = forms.CharField(
        label="Values to add or to remove",
        widget=forms.Textarea(
            attrs={"rows": 4, "spellcheck": "false", "placeholder": "One a line, or with commas"}
        ),
    )
    action = forms.ChoiceField(choices=[("add", "Add"), ("remove", "Remove")])
    confirmed = confirmation()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.failing_visits: tuple[Outcome, ...] = ()
        self.visits_run = 0
        self.rehearsal: Rehearsal | None = None  # of a change that waits for a tick

    def values_after(self, value_list: ValueList) -> Values | None:
        """Gives the list's values after the change; None where they cannot be read: `change` says
        why."""
        try:
            given = read_values(self.cleaned_data["text"])
            wanted = {self.cleaned_data["action"]: given.values}
            return values_after(value_list=value_list, **wanted)
        except ValidationError:
            return None

    def change(self, value_list: ValueList, by: User) -> ValuesDifference | None:
        """Changes the list; None if it cannot be changed: then the form says why."""
        given = GivenValues()
        try:
            given = read_values(self.cleaned_data["text"])
            confirmed = self.cleaned_data["confirmed"]
            wanted = {self.cleaned_data["action"]: given.values}
            return change_values(value_list=value_list, by=by, confirmed=confirmed, **wanted)
        except FailingVisitsError as error:
            self.failing_visits, self.visits_run = error.outcomes, error.run_count
            self.add_error(None, "Nothing is saved yet: test visits would fail.")
        except BadValueError as error:
            self.add_error("text", given.place(error))
        except ValidationError as error:
            self.add_error("text", error.messages)
        return None


class AttributeForm(SavingForm):
    """Name and type are for ever: they are asked once."""

    values = forms.CharField(
        label="Closed domain",
        required=False,
        widget=forms.Textarea(attrs={"rows": 4, "spellcheck": "false"}),
        help_text="The only values it may have, one a line or with commas. Empty: any value.",
    )

    class Meta:
        model = Attribute
        fields = [
            "name",
            "type",
            "description",
            "values",
            "is_required",
            "is_personal",
            "openrtb_path",
        ]
        labels = {
            "is_required": "Required: a visit without it is eligible for nothing",
            "is_personal": "Personal: about a person, masked in samples",
            "openrtb_path": "OpenRTB path",
        }
        help_texts = {"is_required": "", "is_personal": ""}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial["values"] = "\n".join(str(value) for value in self.instance.values)
        if self.instance.pk:
            self.fields["name"].disabled = self.fields["type"].disabled = True

    def clean_values(self) -> list[str | int]:
        given = list(dict.fromkeys(read_values(self.cleaned_data["values"]).values))
        kind: str = self.cleaned_data.get("type") or self.instance.type
        if not kind.startswith("integer"):
            return list(given)
        try:
            return [int(value) for value in given]
        except ValueError as error:
            raise ValidationError("The values of a whole number are whole numbers.") from error


class TestVisitForm(SavingForm):
    __test__ = False  # no test case, whatever pytest thinks of the name

    visit = forms.CharField(
        label="Visit (JSON)",
        widget=forms.Textarea(attrs={"rows": 12, "class": "mono", "spellcheck": "false"}),
    )
    expects_eligible = forms.TypedChoiceField(
        label="The campaign must be",
        choices=[("yes", "eligible"), ("no", "not eligible")],
        coerce=lambda value: value == "yes",
    )

    class Meta:
        model = TestVisit
        fields = ["name", "expects_eligible", "visit"]
        help_texts = {"name": "What it stands for, such as “Phone in Germany”."}

    def clean_visit(self) -> dict[str, Any]:
        try:
            return read_visit(self.cleaned_data["visit"])
        except VisitProblemError as error:
            problem = error.problem
            raise ValidationError(
                f"Line {problem.line}, column {problem.column}: {problem.message}"
            ) from error
