"""Compiles the rows of a catalogue into its table, and finds names there (catalog.pxd).

Takes plain rows, so that this package needs nothing of the packages above it.
"""
from libc.stdint cimport uint32_t, uint64_t
from libcpp.vector cimport vector

from matcher_ext.machine.hashing cimport hash_bytes
from matcher_ext.machine.links cimport NOTHING
from matcher_ext.machine.probing cimport find_empty, first_place, next_place, size_table
from matcher_ext.values.predicate cimport (
    BOOLEAN, FLOAT, GEO, INTEGER, INTEGER_SET, IP, STRING, STRING_SET, TIMESTAMP, TIMESTAMP_LOCAL,
)
from matcher_ext.values.spans cimport Span, span_equal, text_word

TYPES = {
    "boolean": BOOLEAN,
    "integer": INTEGER,
    "float": FLOAT,
    "timestamp": TIMESTAMP,
    "timestamp local": TIMESTAMP_LOCAL,
    "string": STRING,
    "string set": STRING_SET,
    "integer set": INTEGER_SET,
    "ip": IP,
    "geo": GEO,
}


cdef uint32_t find_attribute(
    const CatalogTable* table, const char* name, size_t length
) noexcept nogil:
    cdef size_t mask = table.slots.size() - 1
    cdef size_t place = first_place(hash_bytes(name, length), mask)
    cdef Span wanted = Span(0, <uint32_t>length)
    cdef uint32_t attribute = table.slots[place]
    while attribute != NOTHING and not span_equal(
        name, wanted, table.bytes.data(), table.attributes[attribute].name
    ):
        place = next_place(place, mask)
        attribute = table.slots[place]
    return attribute


cdef uint32_t find_list(const CatalogTable* table, const char* name, size_t length) noexcept nogil:
    cdef size_t mask = table.list_slots.size() - 1
    cdef size_t place = first_place(hash_bytes(name, length), mask)
    cdef Span wanted = Span(0, <uint32_t>length)
    cdef uint32_t number = table.list_slots[place]
    while number != NOTHING and not span_equal(
        name, wanted, table.bytes.data(), table.lists[number].name
    ):
        place = next_place(place, mask)
        number = table.list_slots[place]
    return number


cdef Span keep_text(CatalogTable* table, str text) except *:
    cdef bytes encoded = text.encode()
    cdef const char* source = encoded
    cdef Span span = Span(<uint32_t>table.bytes.size(), <uint32_t>len(encoded))
    table.bytes.insert(table.bytes.end(), source, source + span.length)
    return span


cdef int keep_values(CatalogTable* table, object values, bint textual) except -1:
    cdef Span span
    for value in values:
        if textual:
            span = keep_text(table, value)
            table.words.push_back(text_word(span.offset, span.length))
        else:
            table.words.push_back(value)
    return 0


cdef void fill_slots(
    const vector[Span]* names, const char* bytes, vector[uint32_t]* slots
) noexcept nogil:
    """Makes the table of numbers by name."""
    cdef uint64_t hash
    cdef uint32_t number
    slots.assign(size_table(names.size(), 16), NOTHING)
    for number in range(<uint32_t>names.size()):
        hash = hash_bytes(bytes + names[0][number].offset, names[0][number].length)
        slots[0][find_empty(slots.data(), hash, slots.size() - 1)] = number


cdef class CompiledCatalog:
    """See catalog.pxd. A row is (name, type, domain or None, required, retired).

    `lists` maps a managed list's name to its values (all texts or all integers); None leaves
    `$name` unchecked, and such an expression cannot be normalised.
    """

    def __init__(self, rows, lists=None):
        self.rows = tuple(rows)
        self.names = tuple(row[0] for row in self.rows)
        self.types = tuple(row[1] for row in self.rows)
        self.numbers = {name: number for number, name in enumerate(self.names)}
        self.lists = lists
        self.list_names = () if lists is None else tuple(lists)
        self.table.knows_lists = lists is not None
        for name, type_name, domain, required, _retired in self.rows:
            self._add(name, TYPES[type_name], domain, required)
        self.table.utc_offset = self.numbers.get("geo.utc_offset", NOTHING)
        for name, values in (lists or {}).items():
            self._add_list(name, values)
        self._index()

    def __reduce__(self):
        return CompiledCatalog, (self.rows, self.lists)

    def __len__(self):
        return len(self.rows)

    def with_lists(self, lists):
        """Makes the same catalogue, which knows these managed lists."""
        return CompiledCatalog(self.rows, lists)

    cdef int _add(self, str name, int type, domain, bint required) except -1:
        cdef Attribute attribute
        attribute.name = keep_text(&self.table, name)
        attribute.type = type
        attribute.required = required
        attribute.domain_first = <uint32_t>self.table.words.size()
        attribute.domain_count = len(domain) if domain else 0
        keep_values(&self.table, sorted(domain or ()), type in (STRING, STRING_SET))
        if required:
            self.table.required.push_back(<uint32_t>self.table.attributes.size())
        self.table.attributes.push_back(attribute)
        return 0

    cdef int _index(self) except -1:
        cdef vector[Span] names
        cdef size_t i
        for i in range(self.table.attributes.size()):
            names.push_back(self.table.attributes[i].name)
        fill_slots(&names, self.table.bytes.data(), &self.table.slots)
        names.clear()
        for i in range(self.table.lists.size()):
            names.push_back(self.table.lists[i].name)
        fill_slots(&names, self.table.bytes.data(), &self.table.list_slots)
        return 0

    cdef int _add_list(self, str name, values) except -1:
        cdef List entry
        values = tuple(values)
        entry.textual = all(isinstance(value, str) for value in values)
        if not entry.textual and not all(type(value) is int for value in values):
            raise TypeError(f"list {name}: values must be all texts or all integers")
        entry.name = keep_text(&self.table, name)
        entry.first = <uint32_t>self.table.words.size()
        entry.count = <uint32_t>len(values)
        keep_values(&self.table, values, entry.textual)
        self.table.lists.push_back(entry)
        return 0
