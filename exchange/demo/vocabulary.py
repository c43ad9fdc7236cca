"""Lists words of the demo: sectors with their products and interests, brands, intermediaries.

All companies are invented and live under the reserved domain `.example`.
"""

from __future__ import annotations

from dataclasses import dataclass

from exchange.demo.wordlists import build_all, read_words


@dataclass(frozen=True, slots=True)
class Sector:
    """A kind of brand: how it is called, what it sells, to whom, beside which content."""

    name: str
    suffixes: tuple[str, ...]
    products: tuple[str, ...]
    interests: tuple[str, ...]
    categories: tuple[str, ...]
    cpm: tuple[float, float]
    weight: int


_COMPANIES = read_words("companies")
_TARGETING = read_words("targeting")

SECTORS: tuple[Sector, ...] = build_all(Sector, _COMPANIES["sectors"])
BRAND_ROOTS: tuple[str, ...] = tuple(_COMPANIES["brand_roots"])
INTERMEDIARIES: dict[str, list[str]] = _COMPANIES["intermediaries"]

INTERESTS: tuple[str, ...] = tuple(_TARGETING["interests"])
DATA_PROVIDERS: tuple[str, ...] = tuple(_TARGETING["data_providers"])
SEGMENTS: tuple[str, ...] = tuple(
    f"{provider}:{interest}" for interest in INTERESTS for provider in DATA_PROVIDERS
)
SENSITIVE_TOPICS: tuple[str, ...] = tuple(_TARGETING["sensitive_topics"])
BLOCKED_DOMAINS: tuple[str, ...] = tuple(
    f"{start}{end}.example"
    for start in _TARGETING["blocked_domain_starts"]
    for end in _TARGETING["blocked_domain_ends"]
)
REFERRERS: tuple[str, ...] = tuple(_TARGETING["referrers"])
BANNER_SIZES: tuple[str, ...] = tuple(_TARGETING["banner_sizes"])
DEALS: tuple[str, ...] = tuple(f"deal-{number}" for number in range(1001, 1041))
