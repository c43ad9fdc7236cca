"""Describes the demo's twelve publishers: what they show, where visitors live, when they come."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from exchange.demo.wordlists import build, build_all, read_words


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
    """A publisher. `markets` multiplies a country's general weight; countries not named keep a
    small rest."""

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

    @property
    def all_categories(self) -> frozenset[str]:
        """Unites the categories of the whole and of every section."""
        return frozenset(self.categories).union(*(section.categories for section in self.sections))


def _build_publisher(row: dict[str, Any], news: tuple[Section, ...]) -> Publisher:
    """Builds a publisher; those of news share one list of sections."""
    sections = row["sections"]
    own = news if sections == "news_sections" else build_all(Section, sections)
    surfaces = {Surface(name): weight for name, weight in row["surfaces"].items()}
    return build(Publisher, {**row, "sections": own, "surfaces": surfaces})


_WORDS = read_words("publishers")
_NEWS = build_all(Section, _WORDS["news_sections"])

PUBLISHERS: tuple[Publisher, ...] = tuple(
    _build_publisher(row, _NEWS) for row in _WORDS["publishers"]
)
