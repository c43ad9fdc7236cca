"""Lists the kinds of things that people edit: each said once, here; other tables are made from it.

In code a kind has one name (`value_list`), that of what roles may edit, of its services
(`save_value_list`) and of their argument. How addresses, tables and sentences spell it follows. A
model is named as relations name it, so that nothing here imports an app.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

KindName = Literal[
    "party",
    "edge",
    "campaign",
    "booking",
    "audience",
    "value_list",
    "attribute",
    "test_visit",
    "api_key",
    "person",
    "organisation",
]


@dataclass(frozen=True, slots=True)
class Belonging:
    """Whose an object is. `owner` leads from it to its organisation; those at the end of `readers`
    see it too. Without an owner it is the exchange's own, and everyone reads it. What is `shared`
    by the exchange's organisation is read, and used by name, by everyone. `column` is a shorter way
    to the owner that the database keeps, for queries: an object in memory may not have it yet.
    While the campaign that it is of is a draft (`is_of_campaign`), readers do not see it."""

    owner: str | None
    readers: tuple[str, ...] = ()
    is_shared: bool = False
    column: str | None = None
    is_of_campaign: bool = False

    @property
    def owner_in_queries(self) -> str | None:
        return self.column or self.owner


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind. `plural` is its word within a sentence, `joins` what its pages read with a row. Of
    the rest:

    - `listed_as`: what its list is called, if not by the plural;
    - `made_by`: the side that one must be able to take to make one; empty: anybody may;
    - `shown_with`: the relation to the row on whose page it is shown, if it has none of its own;
    - `is_tested`: its save may make test visits fail, and is then to be confirmed;
    - `is_operators`: only people of the exchange's operator change it: the catalogue is one for
      all, and who takes part is the exchange's to say.
    """

    name: KindName
    model: str
    plural: str
    belonging: Belonging | None
    joins: tuple[str, ...] = ()
    listed_as: str = ""
    made_by: str = ""
    shown_with: str = ""
    is_tested: bool = False
    is_operators: bool = False

    @property
    def slug(self) -> str:
        """Spells the kind in the names of addresses: `value-list-detail`."""
        return self.name.replace("_", "-")

    @property
    def folder(self) -> str:
        """Spells the first part of its addresses."""
        return (self.listed_as or self.plural).lower().replace(" ", "-")

    @property
    def label(self) -> str:
        """Writes the name of the kind's list, as a heading."""
        words = self.listed_as or self.plural
        return words[0].upper() + words[1:]

    @property
    def word(self) -> str:
        """Writes the kind's word in a sentence, and in the table of changes."""
        return self.name.replace("_", " ")

    @property
    def model_name(self) -> str:
        """Spells the model as Django does in `_meta`."""
        return self.model.rpartition(".")[2].lower()

    @property
    def has_past(self) -> bool:
        """Tells whether the market keeps it: then it is retired, not deleted, with its history."""
        return self.model.startswith("market.")

    def url_name(self, page: str) -> str:
        return f"{self.slug}-{page}"


KINDS: dict[KindName, Kind] = {
    kind.name: kind
    for kind in (
        Kind("party", "market.Party", "parties", Belonging("organisation")),
        Kind(
            "edge",
            "market.Edge",
            "edges",
            Belonging("seller__organisation", ("buyer__organisation",)),
            joins=("seller__organisation", "buyer__organisation"),
            made_by="seller",
        ),
        Kind(
            "campaign",
            "market.Campaign",
            "campaigns",
            Belonging("advertiser__organisation"),
            joins=("advertiser__organisation",),
            made_by="advertiser",
            is_tested=True,
        ),
        Kind(
            "booking",
            "market.Booking",
            "bookings",
            Belonging(
                "campaign__advertiser__organisation",
                ("publisher__organisation",),
                column="advertiser__organisation",
                is_of_campaign=True,
            ),
            joins=("campaign__advertiser", "publisher"),
            made_by="advertiser",
        ),
        Kind(
            "audience",
            "market.Audience",
            "audiences",
            Belonging("organisation", is_shared=True),
            joins=("organisation",),
            is_tested=True,
        ),
        Kind(
            "value_list",
            "market.ValueList",
            "value lists",
            Belonging("organisation", is_shared=True),
            joins=("organisation",),
            listed_as="lists",
            is_tested=True,
        ),
        Kind("attribute", "market.Attribute", "attributes", Belonging(None), is_operators=True),
        Kind(
            "test_visit",
            "market.TestVisit",
            "test visits",
            Belonging("campaign__advertiser__organisation"),
            joins=("campaign__advertiser",),
            shown_with="campaign",
        ),
        Kind("api_key", "keys.ApiKey", "API keys", Belonging("organisation")),
        Kind("person", "accounts.User", "people", Belonging("organisation")),
        Kind("organisation", "accounts.Organisation", "organisations", None, is_operators=True),
    )
}
