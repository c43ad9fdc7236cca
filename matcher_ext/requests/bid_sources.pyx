"""Keeps where the attributes of a catalogue stand in a bid request (bid_sources.pxd)."""
from libcpp.string cimport string

READERS = {
    "named numbers": NAMED_NUMBERS, "address": ADDRESS, "language": LANGUAGE, "lowered": LOWERED,
    "segments": SEGMENTS, "channel": CHANNEL, "media types": MEDIA_TYPES, "sizes": SIZES,
    "floor": FLOOR, "flag": FLAG, "video start": VIDEO_START, "browser": BROWSER,
    "country": COUNTRY, "location": LOCATION, "age": AGE, "consent": CONSENT,
    "purposes": PURPOSES, "vendors": VENDORS, "sellers": SELLERS, "chain length": CHAIN_LENGTH,
    "plain": PLAIN,
}


cdef class BidReader:
    def __init__(
        self, CompiledCatalog catalog not None, sources, dict countries not None, name_country,
        deprecated, stamped,
    ):
        """Takes `sources` as (attribute, reader, paths, names of numbers), without those of
        attributes that are stamped anyway."""
        cdef Source source
        self.catalog, self.name_country = catalog, name_country
        self.countries = {
            two.encode(): three.encode() for two, three in countries.items()
        }
        for name, reader, paths, numbers in sources:
            if name in stamped:
                continue
            source.attribute = catalog.numbers[name]
            source.reader = READERS[reader]
            source.paths = [[part.encode() for part in path] for path in paths]
            source.keys = [str(key).encode() for key in numbers]
            source.names = [named.encode() for named in numbers.values()]
            self.sources.push_back(source)
        for name in sorted(deprecated):
            if name in catalog.numbers:
                self.deprecated.push_back(<string>name.encode())
                self.deprecated_numbers.push_back(catalog.numbers[name])
