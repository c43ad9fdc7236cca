"""The world that demo visits come from: countries with their cities, languages and networks.

Facts are simplified on purpose: standard time only, invented network allocations.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class City:
    """`weight` is the share of the country's visits relative to its other cities."""

    name: str
    region: str
    lat: float
    lon: float
    utc_offset_minutes: int
    weight: int


@dataclass(frozen=True, slots=True)
class Country:
    """`networks` are the first octets of the invented v4 allocations of its providers."""

    code: str
    languages: tuple[str, ...]
    is_gdpr: bool
    weight: int
    networks: tuple[int, ...]
    carriers: tuple[str, ...]
    cities: tuple[City, ...]


def _cities(*rows: tuple[str, str, float, float, int, int]) -> tuple[City, ...]:
    return tuple(City(*row) for row in rows)


COUNTRIES: tuple[Country, ...] = (
    Country(
        "USA", ("en", "es"), False, 260, (23, 24, 50, 68, 71), ("Bluewire", "Tri-State Mobile", "Unity"),
        _cities(
            ("New York", "NY", 40.7128, -74.0060, -300, 9),
            ("Los Angeles", "CA", 34.0522, -118.2437, -480, 6),
            ("Chicago", "IL", 41.8781, -87.6298, -360, 5),
            ("Houston", "TX", 29.7604, -95.3698, -360, 4),
            ("Atlanta", "GA", 33.7490, -84.3880, -300, 3),
            ("Seattle", "WA", 47.6062, -122.3321, -480, 3),
            ("Denver", "CO", 39.7392, -104.9903, -420, 2),
            ("Boston", "MA", 42.3601, -71.0589, -300, 2),
            ("Miami", "FL", 25.7617, -80.1918, -300, 2),
        ),
    ),
    Country(
        "CAN", ("en", "fr"), False, 45, (47, 99), ("Maple Cellular", "Nordlink"),
        _cities(
            ("Toronto", "ON", 43.6532, -79.3832, -300, 5),
            ("Montreal", "QC", 45.5019, -73.5674, -300, 3),
            ("Vancouver", "BC", 49.2827, -123.1207, -480, 2),
        ),
    ),
    Country(
        "MEX", ("es",), False, 28, (187, 189), ("Celta", "Movisur"),
        _cities(
            ("Mexico City", "CMX", 19.4326, -99.1332, -360, 6),
            ("Guadalajara", "JAL", 20.6597, -103.3496, -360, 2),
        ),
    ),
    Country(
        "BRA", ("pt",), False, 40, (177, 179), ("Vento", "Claramente"),
        _cities(
            ("Sao Paulo", "SP", -23.5505, -46.6333, -180, 6),
            ("Rio de Janeiro", "RJ", -22.9068, -43.1729, -180, 3),
            ("Recife", "PE", -8.0476, -34.8770, -180, 1),
        ),
    ),
    Country(
        "ARG", ("es",), False, 12, (181,), ("Movisur",),
        _cities(("Buenos Aires", "B", -34.6037, -58.3816, -180, 1),),
    ),
    Country(
        "GBR", ("en",), True, 110, (81, 86, 92), ("Albion Mobile", "Threeways", "Pennine"),
        _cities(
            ("London", "ENG", 51.5074, -0.1278, 0, 8),
            ("Manchester", "ENG", 53.4808, -2.2426, 0, 3),
            ("Birmingham", "ENG", 52.4862, -1.8904, 0, 2),
            ("Glasgow", "SCT", 55.8642, -4.2518, 0, 2),
            ("Cardiff", "WLS", 51.4816, -3.1791, 0, 1),
        ),
    ),
    Country(
        "IRL", ("en",), True, 12, (87,), ("Shamrock Mobile",),
        _cities(("Dublin", "L", 53.3498, -6.2603, 0, 4), ("Cork", "M", 51.8985, -8.4756, 0, 1)),
    ),
    Country(
        "DEU", ("de",), True, 95, (79, 84, 91), ("Rheinfunk", "Mobilnetz", "O-Tel"),
        _cities(
            ("Berlin", "BE", 52.5200, 13.4050, 60, 5),
            ("Hamburg", "HH", 53.5511, 9.9937, 60, 3),
            ("Munich", "BY", 48.1351, 11.5820, 60, 4),
            ("Cologne", "NW", 50.9375, 6.9603, 60, 3),
            ("Frankfurt am Main", "HE", 50.1109, 8.6821, 60, 3),
            ("Leipzig", "SN", 51.3397, 12.3731, 60, 1),
        ),
    ),
    Country(
        "AUT", ("de",), True, 18, (62,), ("Donaunetz",),
        _cities(("Vienna", "9", 48.2082, 16.3738, 60, 4), ("Graz", "6", 47.0707, 15.4395, 60, 1)),
    ),
    Country(
        "CHE", ("de", "fr", "it"), False, 20, (85,), ("Alpfon",),
        _cities(
            ("Zurich", "ZH", 47.3769, 8.5417, 60, 4),
            ("Geneva", "GE", 46.2044, 6.1432, 60, 2),
            ("Basel", "BS", 47.5596, 7.5886, 60, 1),
        ),
    ),
    Country(
        "FRA", ("fr",), True, 75, (78, 82, 90), ("Mandarine", "Hexatel", "Libre Mobile"),
        _cities(
            ("Paris", "IDF", 48.8566, 2.3522, 60, 7),
            ("Lyon", "ARA", 45.7640, 4.8357, 60, 3),
            ("Marseille", "PAC", 43.2965, 5.3698, 60, 2),
            ("Toulouse", "OCC", 43.6047, 1.4442, 60, 2),
            ("Lille", "HDF", 50.6292, 3.0573, 60, 1),
        ),
    ),
    Country(
        "BEL", ("nl", "fr"), True, 16, (94,), ("Scheldetel",),
        _cities(
            ("Brussels", "BRU", 50.8503, 4.3517, 60, 3),
            ("Antwerp", "VLG", 51.2194, 4.4025, 60, 2),
        ),
    ),
    Country(
        "NLD", ("nl",), True, 30, (77, 145), ("Poldernet", "Randstad Mobiel"),
        _cities(
            ("Amsterdam", "NH", 52.3676, 4.9041, 60, 4),
            ("Rotterdam", "ZH", 51.9244, 4.4777, 60, 2),
            ("Utrecht", "UT", 52.0907, 5.1214, 60, 1),
        ),
    ),
    Country(
        "ESP", ("es",), True, 50, (80, 83), ("Movisol", "Iberfon"),
        _cities(
            ("Madrid", "MD", 40.4168, -3.7038, 60, 5),
            ("Barcelona", "CT", 41.3874, 2.1686, 60, 4),
            ("Valencia", "VC", 39.4699, -0.3763, 60, 2),
        ),
    ),
    Country(
        "PRT", ("pt",), True, 14, (188,), ("Tejo Mobile",),
        _cities(("Lisbon", "11", 38.7223, -9.1393, 0, 3), ("Porto", "13", 41.1579, -8.6291, 0, 2)),
    ),
    Country(
        "ITA", ("it",), True, 52, (93, 151), ("Ventitel", "Stivale"),
        _cities(
            ("Rome", "RM", 41.9028, 12.4964, 60, 4),
            ("Milan", "MI", 45.4642, 9.1900, 60, 4),
            ("Naples", "NA", 40.8518, 14.2681, 60, 2),
        ),
    ),
    Country(
        "POL", ("pl",), True, 34, (89, 95), ("Wislanet", "Plusik"),
        _cities(
            ("Warsaw", "MZ", 52.2297, 21.0122, 60, 4),
            ("Krakow", "MA", 50.0647, 19.9450, 60, 2),
            ("Gdansk", "PM", 54.3520, 18.6466, 60, 1),
        ),
    ),
    Country(
        "CZE", ("cs",), True, 14, (90,), ("Vltavanet",),
        _cities(("Prague", "10", 50.0755, 14.4378, 60, 3), ("Brno", "64", 49.1951, 16.6068, 60, 1)),
    ),
    Country(
        "SWE", ("sv",), True, 22, (88,), ("Nordvåg",),
        _cities(
            ("Stockholm", "AB", 59.3293, 18.0686, 60, 4),
            ("Gothenburg", "O", 57.7089, 11.9746, 60, 2),
        ),
    ),
    Country(
        "NOR", ("nb",), True, 15, (84,), ("Fjordtel",),
        _cities(("Oslo", "03", 59.9139, 10.7522, 60, 3), ("Bergen", "46", 60.3913, 5.3221, 60, 1)),
    ),
    Country(
        "DNK", ("da",), True, 15, (87,), ("Sundnet",),
        _cities(("Copenhagen", "84", 55.6761, 12.5683, 60, 3), ("Aarhus", "82", 56.1629, 10.2039, 60, 1)),
    ),
    Country(
        "FIN", ("fi",), True, 12, (91,), ("Saunalinkki",),
        _cities(("Helsinki", "18", 60.1699, 24.9384, 120, 3), ("Tampere", "11", 61.4978, 23.7610, 120, 1)),
    ),
    Country(
        "TUR", ("tr",), False, 22, (78,), ("Bogaz",),
        _cities(("Istanbul", "34", 41.0082, 28.9784, 180, 4), ("Ankara", "06", 39.9334, 32.8597, 180, 2)),
    ),
    Country(
        "ZAF", ("en",), False, 14, (105,), ("Karoo Cell",),
        _cities(
            ("Johannesburg", "GP", -26.2041, 28.0473, 120, 3),
            ("Cape Town", "WC", -33.9249, 18.4241, 120, 2),
        ),
    ),
    Country(
        "IND", ("en", "hi"), False, 70, (49, 117), ("Ganga Mobile", "Vayu"),
        _cities(
            ("Mumbai", "MH", 19.0760, 72.8777, 330, 4),
            ("Delhi", "DL", 28.7041, 77.1025, 330, 4),
            ("Bengaluru", "KA", 12.9716, 77.5946, 330, 3),
        ),
    ),
    Country(
        "SGP", ("en",), False, 10, (119,), ("Merlion",),
        _cities(("Singapore", "01", 1.3521, 103.8198, 480, 1),),
    ),
    Country(
        "JPN", ("ja",), False, 48, (126, 133), ("Sakura Mobile", "Fujinet"),
        _cities(
            ("Tokyo", "13", 35.6762, 139.6503, 540, 5),
            ("Osaka", "27", 34.6937, 135.5023, 540, 3),
            ("Fukuoka", "40", 33.5902, 130.4017, 540, 1),
        ),
    ),
    Country(
        "KOR", ("ko",), False, 20, (121,), ("Hangang",),
        _cities(("Seoul", "11", 37.5665, 126.9780, 540, 4), ("Busan", "26", 35.1796, 129.0756, 540, 1)),
    ),
    Country(
        "AUS", ("en",), False, 36, (101, 120), ("Outback Mobile", "Coral"),
        _cities(
            ("Sydney", "NSW", -33.8688, 151.2093, 600, 4),
            ("Melbourne", "VIC", -37.8136, 144.9631, 600, 4),
            ("Perth", "WA", -31.9505, 115.8605, 480, 1),
        ),
    ),
    Country(
        "NZL", ("en",), False, 9, (122,), ("Kiwinet",),
        _cities(("Auckland", "AUK", -36.8509, 174.7645, 720, 1),),
    ),
)  # fmt: skip

BY_CODE: dict[str, Country] = {country.code: country for country in COUNTRIES}
METROS: dict[str, str] = {
    "New York": "501", "Los Angeles": "803", "Chicago": "602", "Houston": "618", "Atlanta": "524",
    "Seattle": "819", "Denver": "751", "Boston": "506", "Miami": "528",
}  # fmt: skip
GDPR_CODES: tuple[str, ...] = tuple(sorted(c.code for c in COUNTRIES if c.is_gdpr))

REGIONS: dict[str, tuple[str, ...]] = {
    "DACH": ("AUT", "CHE", "DEU"),
    "Nordics": ("DNK", "FIN", "NOR", "SWE"),
    "UK and Ireland": ("GBR", "IRL"),
    "Benelux": ("BEL", "NLD"),
    "Iberia": ("ESP", "PRT"),
    "North America": ("CAN", "USA"),
    "LatAm": ("ARG", "BRA", "MEX"),
    "Southern Europe": ("ESP", "ITA", "PRT"),
    "Central Europe": ("AUT", "CZE", "DEU", "POL"),
    "France and Belgium": ("BEL", "FRA"),
    "EU5": ("DEU", "ESP", "FRA", "GBR", "ITA"),
    "APAC": ("AUS", "IND", "JPN", "KOR", "NZL", "SGP"),
    "Anglosphere": ("AUS", "CAN", "GBR", "IRL", "NZL", "USA"),
    "Europe": (
        "AUT", "BEL", "CHE", "CZE", "DEU", "DNK", "ESP", "FIN", "FRA", "GBR", "IRL", "ITA", "NLD", "NOR",
        "POL", "PRT", "SWE",
    ),
    "USA": ("USA",),
    "Canada": ("CAN",),
    "UK": ("GBR",),
    "Germany": ("DEU",),
    "France": ("FRA",),
    "Italy": ("ITA",),
    "Spain": ("ESP",),
    "Poland": ("POL",),
    "Netherlands": ("NLD",),
    "Japan": ("JPN",),
    "India": ("IND",),
    "Brazil": ("BRA",),
    "Australia": ("AUS",),
    "Sweden": ("SWE",),
    "Turkey": ("TUR",),
}  # fmt: skip
