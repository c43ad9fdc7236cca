"""Holds the forms: they check input and hold a row that a service then saves."""

from exchange.web.forms.market import BookingForm, CampaignForm, EdgeForm, PartyForm
from exchange.web.forms.picking import CampaignPicker, campaign_label
from exchange.web.forms.reuse import (
    AttributeForm,
    AudienceForm,
    ChangeValuesForm,
    TestVisitForm,
    ValueListForm,
)
from exchange.web.forms.saving import SavingForm, save_form
from exchange.web.forms.visits import VisitForm

__all__ = [
    "AttributeForm",
    "AudienceForm",
    "BookingForm",
    "CampaignForm",
    "CampaignPicker",
    "ChangeValuesForm",
    "EdgeForm",
    "PartyForm",
    "SavingForm",
    "TestVisitForm",
    "ValueListForm",
    "VisitForm",
    "campaign_label",
    "save_form",
]
