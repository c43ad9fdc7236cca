from __future__ import annotations

import pytest
from hypothesis import given

from targeting import Attribute, AttributeType, Catalog, parse
from targeting.prose import describe
from tests.targeting.strategies import CATALOG as EVERYTHING
from tests.targeting.strategies import quick, texts

CATALOG = Catalog(
    [
        Attribute("geo.country", AttributeType.STRING),
        Attribute("device.type", AttributeType.STRING),
        Attribute("segments", AttributeType.STRING_SET),
        Attribute("age", AttributeType.INTEGER),
        Attribute("consent", AttributeType.BOOLEAN, description="consent"),
        Attribute("page.url", AttributeType.STRING, description="the page's address"),
        Attribute("time", AttributeType.TIMESTAMP),
        Attribute("place", AttributeType.GEO),
        Attribute("keywords", AttributeType.STRING_SET),
        Attribute("user.os", AttributeType.STRING, description="What it runs on. Lower case."),
    ]
)

SENTENCES = {
    "geo.country in ('FRA', 'DEU') and device.type = 'phone' and segments none of ('sports')": (
        "Visits from FRA or DEU, on phone, not in audience sports"
    ),
    "true": "All visits",
    "false": "No visits",
    "age >= 18 and consent": "Visits where age is at least 18, with consent",
    "not consent": "Visits where consent is false",
    "age between 18 and 30 or age is missing": (
        "Visits (where age is between 18 and 30 or without age)"
    ),
    "not (geo.country = 'US')": "Visits not from US",
    "segments all of ('cars', 'sports')": "Visits in audience cars and sports",
    "keywords only of ('a', 'b') and count(keywords) > 1": (
        "Visits with keywords only a or b, where the number of keywords is above 1"
    ),
    "page.url contains 'news'": "Visits where the page's address contains news",
    "page.url not starts with 'http:'": "Visits where the page's address does not start with http:",
    "time during 'Mon-Fri 08:00-18:00'": "Visits during Mon-Fri 08:00-18:00 (time)",
    "place within 5 km of (48.85, 2.35)": "Visits within 5 km of 48.85, 2.35",
    "@edge.17 and not @audience.sports": "Visits that pass edge.17, not in audience sports",
    "@adults": "Visits in audience adults",
    "not @edge.17": "Visits that do not pass edge.17",
    "geo.country in $eea": "Visits from the list eea",
    "age in (1, 2, 3, 4, 5, 6, 7, 8)": "Visits where age is 1, 2, 3, 4, 5 or 3 more",
    "consent xor age = 1": "Visits with an odd number of (with consent; where age is 1)",
    "user.os = 'ios'": "Visits where user os is ios",
    "keywords is empty": "Visits with no keywords",
}


@pytest.mark.parametrize("text", SENTENCES)
def test_says_it_in_plain_words(text: str) -> None:
    assert describe(parse(text, CATALOG)) == SENTENCES[text]


@quick
@given(texts(with_references=True))
def test_every_expression_can_be_said(text: str) -> None:
    assert describe(parse(text, EVERYTHING))
