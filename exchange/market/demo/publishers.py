"""The twelve publishers of the demo: what they show, where their visitors live, when they come."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Surface(StrEnum):
    """Where a visit happens; it decides devices, placements and which attributes are known."""

    WEB = "web"
    APP = "app"
    TV = "tv"


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a publisher's pages; `categories` are IAB content categories."""

    slug: str
    categories: tuple[str, ...]
    keywords: tuple[str, ...]
    weight: int
    risk: float = 0.02


@dataclass(frozen=True, slots=True)
class Publisher:
    """`markets` multiplies a country's general weight; countries not named keep a small rest."""

    name: str
    seller_id: str
    domain: str
    categories: tuple[str, ...]
    language: str | None
    markets: dict[str, float]
    surfaces: dict[Surface, int]
    sections: tuple[Section, ...]
    peak_hours: tuple[int, ...]
    weekend: float
    weight: int
    bundle: str = ""
    genres: tuple[str, ...] = ()
    is_for_children: bool = False


NEWS_SECTIONS = (
    Section("world", ("IAB12", "IAB12-1"), ("world", "diplomacy", "climate"), 5, 0.22),
    Section("politics", ("IAB11", "IAB11-4"), ("politics", "election", "parliament"), 5, 0.25),
    Section("business", ("IAB3", "IAB13"), ("economy", "markets", "jobs"), 4, 0.03),
    Section("sport", ("IAB17",), ("football", "league", "transfer"), 4, 0.02),
    Section("culture", ("IAB1", "IAB1-5"), ("film", "books", "theatre"), 3, 0.03),
    Section("science", ("IAB15", "IAB19"), ("research", "space", "health"), 2, 0.02),
    Section("crime", ("IAB12", "IAB11-1"), ("court", "police", "crime"), 2, 0.7),
)

PUBLISHERS: tuple[Publisher, ...] = (
    Publisher(
        "The Harbor Post", "harbor-post", "harborpost.example", ("IAB12",), "en",
        {"USA": 3, "CAN": 2, "GBR": 1.5, "AUS": 1, "IRL": 1, "IND": 0.5},
        {Surface.WEB: 8, Surface.APP: 2}, NEWS_SECTIONS, (7, 8, 12, 20), 0.8, 20,
        bundle="com.harborpost.reader",
    ),
    Publisher(
        "Abendkurier", "abendkurier", "abendkurier.example", ("IAB12",), "de",
        {"DEU": 8, "AUT": 8, "CHE": 6}, {Surface.WEB: 7, Surface.APP: 3}, NEWS_SECTIONS,
        (7, 12, 18, 21), 0.85, 13, bundle="de.abendkurier.app",
    ),
    Publisher(
        "Le Fil du Jour", "le-fil-du-jour", "lefildujour.example", ("IAB12",), "fr",
        {"FRA": 9, "BEL": 6, "CHE": 2, "CAN": 0.6}, {Surface.WEB: 8, Surface.APP: 2}, NEWS_SECTIONS,
        (8, 12, 19), 0.85, 10, bundle="fr.lefildujour.mobile",
    ),
    Publisher(
        "Touchline", "touchline", "touchline.example", ("IAB17",), "en",
        {"GBR": 4, "ESP": 3, "ITA": 3, "DEU": 1.5, "FRA": 1.5, "BRA": 2, "ARG": 3, "MEX": 2, "TUR": 2},
        {Surface.WEB: 5, Surface.APP: 5},
        (
            Section("football", ("IAB17", "IAB17-44"), ("football", "champions", "transfer"), 8),
            Section("cycling", ("IAB17", "IAB17-6"), ("cycling", "tour", "gear"), 2),
            Section("running", ("IAB17", "IAB7-18"), ("marathon", "training", "shoes"), 2),
            Section("ski", ("IAB17", "IAB17-32"), ("ski", "snow", "slalom"), 2),
            Section("tennis", ("IAB17", "IAB17-40"), ("tennis", "open", "grand slam"), 2),
            Section("betting", ("IAB17", "IAB9-7"), ("odds", "betting"), 1, 0.6),
        ),
        (18, 20, 21, 22), 1.6, 12, bundle="com.touchline.scores",
    ),
    Publisher(
        "Skywatch Weather", "skywatch", "skywatch.example", ("IAB15", "IAB15-10"), "en",
        {"USA": 2, "CAN": 2, "GBR": 1.5, "SWE": 2, "NOR": 2, "DNK": 2, "FIN": 2, "NLD": 2, "AUS": 1},
        {Surface.WEB: 3, Surface.APP: 7},
        (
            Section("today", ("IAB15-10",), ("forecast", "rain", "temperature"), 8),
            Section("radar", ("IAB15-10",), ("radar", "storm", "wind"), 4, 0.05),
            Section("pollen", ("IAB15-10", "IAB7"), ("pollen", "allergy"), 1),
            Section("snow", ("IAB15-10", "IAB20"), ("snow", "ski", "mountains"), 2),
        ),
        (6, 7, 8, 17), 1.1, 14, bundle="com.skywatch.weather",
    ),
    Publisher(
        "Spoonful", "spoonful", "spoonful.example", ("IAB8",), "en",
        {"USA": 2, "GBR": 2, "ITA": 1, "IND": 1, "AUS": 2, "NZL": 2, "IRL": 2},
        {Surface.WEB: 9, Surface.APP: 1},
        (
            Section("dinner", ("IAB8", "IAB8-9"), ("dinner", "pasta", "chicken"), 6),
            Section("baking", ("IAB8", "IAB8-7"), ("baking", "bread", "cake"), 4),
            Section("vegan", ("IAB8", "IAB8-16"), ("vegan", "salad", "tofu"), 3),
            Section("wine", ("IAB8", "IAB8-18"), ("wine", "cocktail"), 1, 0.4),
            Section("kids-lunch", ("IAB8", "IAB6"), ("kids", "lunchbox"), 2),
        ),
        (11, 16, 17, 18), 1.3, 8, bundle="com.spoonful.recipes",
    ),
    Publisher(
        "Lantern TV", "lantern-tv", "lantern.example", ("IAB1", "IAB1-7"), None,
        {"USA": 3, "CAN": 1.5, "GBR": 1.5, "DEU": 1, "FRA": 1, "ESP": 1, "MEX": 1, "BRA": 1},
        {Surface.TV: 9, Surface.APP: 1},
        (
            Section("series", ("IAB1", "IAB1-7"), ("drama", "series"), 6, 0.12),
            Section("movies", ("IAB1", "IAB1-5"), ("movie", "cinema"), 4, 0.12),
            Section("live-sport", ("IAB17",), ("live", "match"), 3),
            Section("documentary", ("IAB1", "IAB15"), ("nature", "history"), 2),
            Section("family", ("IAB1", "IAB6"), ("family", "animation"), 2),
        ),
        (19, 20, 21, 22), 1.5, 11, bundle="com.lantern.tv",
        genres=("drama", "comedy", "sport", "documentary", "thriller", "family"),
    ),
    Publisher(
        "Pocket Arcade", "pocket-arcade", "pocketarcade.example", ("IAB9", "IAB9-30"), None,
        {"USA": 1, "BRA": 2, "IND": 3, "JPN": 3, "KOR": 3, "TUR": 2, "MEX": 2, "POL": 1.5, "SGP": 2},
        {Surface.APP: 1},
        (
            Section("puzzle", ("IAB9-30", "IAB9-5"), ("puzzle", "match3"), 6),
            Section("racing", ("IAB9-30", "IAB2"), ("racing", "cars"), 3),
            Section("strategy", ("IAB9-30",), ("strategy", "castle", "war"), 3, 0.2),
            Section("cards", ("IAB9-30", "IAB9-7"), ("cards", "poker"), 2, 0.5),
        ),
        (12, 18, 21, 22, 23), 1.4, 14, bundle="com.pocketarcade.gems",
        genres=("puzzle", "racing", "strategy", "cards"),
    ),
    Publisher(
        "Ledger & Coin", "ledger-coin", "ledgerandcoin.example", ("IAB13", "IAB3"), "en",
        {"USA": 2, "GBR": 2, "SGP": 4, "CHE": 2, "DEU": 0.7, "IND": 1, "AUS": 1},
        {Surface.WEB: 8, Surface.APP: 2},
        (
            Section("markets", ("IAB13", "IAB13-7"), ("stocks", "bonds", "markets"), 6),
            Section("retirement", ("IAB13", "IAB13-9"), ("pension", "savings"), 2),
            Section("crypto", ("IAB13", "IAB19"), ("crypto", "bitcoin"), 3, 0.35),
            Section("property", ("IAB21", "IAB13"), ("mortgage", "housing"), 2),
        ),
        (8, 9, 15, 16), 0.4, 7, bundle="com.ledgercoin.app",
    ),
    Publisher(
        "Wayfarer Guides", "wayfarer", "wayfarer.example", ("IAB20",), "en",
        {"USA": 1, "GBR": 2, "DEU": 1.5, "NLD": 2, "ESP": 2, "ITA": 2, "PRT": 3, "JPN": 1, "AUS": 2},
        {Surface.WEB: 9, Surface.APP: 1},
        (
            Section("cities", ("IAB20", "IAB20-12"), ("city break", "museum", "hotel"), 5),
            Section("beaches", ("IAB20",), ("beach", "island", "flight"), 4),
            Section("hiking", ("IAB20", "IAB20-3"), ("hiking", "trail", "boots"), 3),
            Section("ski-resorts", ("IAB20", "IAB17-32"), ("ski", "resort", "snow"), 2),
        ),
        (12, 20, 21), 1.2, 7, bundle="com.wayfarer.guides",
    ),
    Publisher(
        "Little Comet", "little-comet", "littlecomet.example", ("IAB6", "IAB5"), None,
        {"USA": 2, "GBR": 2, "CAN": 1, "DEU": 1, "FRA": 1, "SWE": 1},
        {Surface.APP: 6, Surface.TV: 4},
        (
            Section("stories", ("IAB6", "IAB6-6"), ("bedtime", "story"), 4),
            Section("learn", ("IAB5", "IAB6-6"), ("letters", "numbers"), 4),
            Section("cartoons", ("IAB1", "IAB6-6"), ("cartoon", "animals"), 5),
        ),
        (7, 16, 17, 18), 1.5, 5, bundle="com.littlecomet.play",
        genres=("children", "animation", "education"), is_for_children=True,
    ),
    Publisher(
        "Motorbahn", "motorbahn", "motorbahn.example", ("IAB2",), "de",
        {"DEU": 6, "AUT": 6, "CHE": 4, "ITA": 1.5, "GBR": 1, "POL": 2, "CZE": 3},
        {Surface.WEB: 1},
        (
            Section("tests", ("IAB2", "IAB2-2"), ("test drive", "suv", "estate"), 5),
            Section("electric", ("IAB2", "IAB2-12"), ("electric", "charging", "range"), 4),
            Section("used", ("IAB2", "IAB2-3"), ("used car", "price"), 4),
            Section("classics", ("IAB2", "IAB2-22"), ("classic", "oldtimer"), 1),
        ),
        (12, 18, 20), 1.1, 7,
    ),
)  # fmt: skip
