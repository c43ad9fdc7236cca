"""Word lists of the demo: sectors with their products and interests, brands, intermediaries.

All companies are invented and live under the reserved domain `.example`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sector:
    """What kind of brand it is: how it is called, what it sells, to whom, beside which content."""

    name: str
    suffixes: tuple[str, ...]
    products: tuple[str, ...]
    interests: tuple[str, ...]
    categories: tuple[str, ...]
    cpm: tuple[float, float]
    weight: int


SECTORS: tuple[Sector, ...] = (
    Sector(
        "outdoor", ("Outdoor", "Alpine", "Sportswear"),
        ("Winter jackets", "Trail shoes", "Tents", "Ski touring", "Kids' boots", "Outlet sale"),
        ("outdoor", "skiing", "running", "travel", "fitness"), ("IAB17", "IAB20", "IAB15-10", "IAB18"), (1.2, 6), 10,
    ),
    Sector(
        "automotive", ("Motors", "Automobile", "Mobility"),
        ("Electric SUV", "City car", "Test drive weeks", "Winter tyres", "Leasing offer", "Used cars"),
        ("auto_intender", "electric_cars", "luxury", "commuter", "parents"), ("IAB2", "IAB12", "IAB17", "IAB13"), (3, 14), 14,
    ),
    Sector(
        "bank", ("Bank", "Credit Union", "Direkt"),
        ("Savings account", "Mortgage", "Student account", "Credit card", "Broker app", "Business account"),
        ("investor", "home_buyer", "students", "small_business", "frequent_traveller"), ("IAB13", "IAB3", "IAB21", "IAB12"), (2.5, 12), 12,
    ),
    Sector(
        "insurance", ("Insurance", "Mutual", "Assurance"),
        ("Car insurance", "Travel cover", "Home cover", "Pet insurance", "Life", "Bike insurance"),
        ("home_owner", "auto_intender", "parents", "pet_owner", "frequent_traveller"), ("IAB13", "IAB2", "IAB20", "IAB16"), (2, 9), 9,
    ),
    Sector(
        "travel", ("Airways", "Hotels", "Holidays", "Ferries"),
        ("City breaks", "Summer early birds", "Ski weeks", "Last minute", "Loyalty club", "Cruises"),
        ("travel", "frequent_traveller", "skiing", "luxury", "foodie"), ("IAB20", "IAB12", "IAB8", "IAB15-10"), (1.5, 8), 12,
    ),
    Sector(
        "grocery", ("Foods", "Markets", "Dairy", "Coffee"),
        ("Weekly offers", "Organic range", "Delivery launch", "Espresso beans", "Oat drink", "Holiday baking"),
        ("foodie", "parents", "vegan", "home_cook", "bargain_hunter"), ("IAB8", "IAB6", "IAB10", "IAB15-10"), (0.8, 4), 13,
    ),
    Sector(
        "electronics", ("Electronics", "Audio", "Devices"),
        ("Headphones", "OLED TV", "Smart home", "Laptop week", "Cyber Monday", "Cameras"),
        ("tech_early_adopter", "gamer", "music_lover", "streamer", "home_owner"), ("IAB19", "IAB1", "IAB9-30", "IAB17"), (1.5, 9), 13,
    ),
    Sector(
        "telecom", ("Mobile", "Telecom", "Fibre"),
        ("5G unlimited", "Fibre launch", "Prepaid", "Family plan", "New phone deal", "Business lines"),
        ("switcher", "tech_early_adopter", "students", "parents", "small_business"), ("IAB19", "IAB12", "IAB9-30", "IAB15-10"), (1, 6), 11,
    ),
    Sector(
        "entertainment", ("Studios", "Streaming", "Records", "Live"),
        ("Season premiere", "Cinema start", "Spring tour", "Free trial", "Kids' channel", "Documentary week"),
        ("streamer", "cinema_goer", "music_lover", "gamer", "parents"), ("IAB1", "IAB1-7", "IAB9-30", "IAB12"), (1.5, 10), 12,
    ),
    Sector(
        "home", ("Living", "Interiors", "Garden", "Hardware"),
        ("Sofas", "Garden season", "Kitchen weeks", "Lighting", "Paint", "Moving sale"),
        ("home_owner", "home_buyer", "gardener", "diy", "parents"), ("IAB10", "IAB21", "IAB8", "IAB12"), (0.9, 5), 11,
    ),
    Sector(
        "beauty", ("Cosmetics", "Skincare", "Pharma"),
        ("Face cream", "Sun care", "Perfume gifts", "Shampoo", "Vitamins", "Allergy relief"),
        ("beauty", "fitness", "parents", "luxury", "wellness"), ("IAB7", "IAB18", "IAB15-10", "IAB8"), (1, 6), 11,
    ),
    Sector(
        "games", ("Games", "Interactive", "Play"),
        ("Puzzle launch", "Racing season", "Strategy install", "Console bundle", "Battle pass", "Soft launch"),
        ("gamer", "mobile_gamer", "streamer", "students", "commuter"), ("IAB9-30", "IAB9", "IAB1", "IAB19"), (0.6, 12), 9,
    ),
    Sector(
        "education", ("Academy", "University", "Learning"),
        ("Language app", "Open day", "MBA", "Coding course", "Kids' maths", "Certificates"),
        ("students", "career_changer", "parents", "small_business", "tech_early_adopter"), ("IAB5", "IAB19", "IAB6", "IAB3"), (1, 5), 6,
    ),
    Sector(
        "energy", ("Energy", "Solar", "Charge"),
        ("Solar roof", "Green tariff", "Wallbox", "Heat pump", "Switch bonus", "Community wind"),
        ("home_owner", "electric_cars", "switcher", "eco", "investor"), ("IAB10", "IAB2", "IAB15-10", "IAB12"), (1.5, 7), 7,
    ),
)  # fmt: skip

BRAND_ROOTS: tuple[str, ...] = (
    "Solberg", "Halvorsen", "Brightwater", "Castellan", "Fenwick", "Marlowe", "Okapi", "Tamarind", "Quillon", "Verano",
    "Lindqvist", "Ashgrove", "Nimbus", "Corvina", "Pelago", "Ravenna", "Bluestem", "Kestrel", "Montclair", "Hazelwood",
    "Zephyra", "Altenberg", "Riverton", "Sundara", "Orsova", "Thornbury", "Velmora", "Castrum", "Duneside", "Elmhurst",
    "Falkirk", "Grenadine", "Highfield", "Isarion", "Juniper", "Kolibri", "Larkspur", "Meadowlark", "Norrland", "Oakhaven",
    "Palisade", "Quartzo", "Rosmarin", "Stellaris", "Tidewater", "Umbra", "Valdemar", "Westerly", "Xenia", "Yarrow",
    "Zirkon", "Amberly", "Bergstrom", "Cinnabar", "Driftwood", "Everhart", "Fontaine", "Goldfinch", "Harrowgate", "Ivoria",
    "Jasmund", "Kingsbarn", "Lumen", "Mistral", "Northgate", "Ostara", "Primavera", "Quorra", "Rowanberry", "Sableton",
)  # fmt: skip

INTERMEDIARIES: dict[str, tuple[str, ...]] = {
    "ssp": (
        "Meridian SSP", "OpenQuay", "Yieldwright", "Floorline", "Inventa", "Headerworks", "Publift Bay", "Tagmoor",
        "Streamfront CTV", "Appshelf", "Slotwise", "Adharbor",
    ),
    "exchange": (
        "Crossbid Exchange", "Northlane Exchange", "Bazaarly", "Mercat Exchange", "Tidepool", "Auctionry", "Agora One",
        "Premium Row",
    ),
    "reseller": (
        "Longtail Media", "Bridgepath", "Resello", "Fanout Partners", "Nordic Remnant", "Iberia Ads", "Mosaic Network",
        "Pacific Reach",
    ),
    "dsp": (
        "Bidspring", "Helmsman DSP", "Trader Lane", "Reachly", "Quantile", "Screenbuy", "Appvance", "Lumen Trading",
        "Cobalt DSP", "Frequency One", "Vantage Desk", "Kite Performance",
    ),
}  # fmt: skip

INTERESTS: tuple[str, ...] = (
    "parents", "foodie", "travel", "streamer", "auto_intender", "fitness", "gamer", "home_owner", "tech_early_adopter",
    "bargain_hunter", "music_lover", "outdoor", "students", "investor", "pet_owner", "commuter", "home_cook", "beauty",
    "mobile_gamer", "switcher", "cinema_goer", "running", "frequent_traveller", "gardener", "wellness", "skiing", "diy",
    "eco", "small_business", "luxury", "vegan", "home_buyer", "electric_cars", "career_changer",
)  # fmt: skip

DATA_PROVIDERS: tuple[str, ...] = ("northstar", "loom", "pulse")
SEGMENTS: tuple[str, ...] = tuple(
    f"{provider}:{interest}" for interest in INTERESTS for provider in DATA_PROVIDERS
)

SENSITIVE_TOPICS: tuple[str, ...] = (
    "arms", "crime", "death_injury", "debated_social_issues", "gambling", "obscenity", "drugs_alcohol", "terrorism",
)  # fmt: skip

BLOCKED_DOMAINS: tuple[str, ...] = tuple(
    f"{first}{second}.example"
    for first in ("viral", "click", "gossip", "rumor", "odds", "torrent", "shock", "buzz", "cash", "spin")
    for second in ("planet", "barn", "daily", "hub", "zone", "factory", "wire", "box", "mill", "feed")
)
REFERRERS: tuple[str, ...] = (
    "https://search.example/", "https://social.example/feed", "https://news.search.example/", "https://mail.example/",
    "https://forum.example/t/", "https://video.example/watch", "https://www.viralbarn.example/", "https://buzzfeed1.example/",
)  # fmt: skip

DEALS: tuple[str, ...] = tuple(f"deal-{number}" for number in range(1001, 1041))
BANNER_SIZES: tuple[str, ...] = ("300x250", "728x90", "320x50", "970x250", "160x600", "300x600", "320x480")
