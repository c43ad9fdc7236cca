"""Reads batches, orders their rows into blocks and writes the table (writing.pxd)."""
import json

import numpy

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset
from libcpp.vector cimport vector

from matcher_ext.columns.coding cimport (
    Coder, Rows, code_column, code_minutes, code_sizes, count_values, open_coder, open_visit,
    sort_values,
)
from matcher_ext.columns.laying cimport lay_column
from matcher_ext.columns.table_format cimport (
    MANY_BLOCK_ROWS, OF_SIZES, OF_VALUES, OF_WEEK_MINUTES, T_BLOCKS, T_BYTES, T_CATALOG, T_COLUMNS,
    T_GROUPS, T_MALFORMED, T_ORDER, T_PARTS, T_PAYLOAD, T_RUNS, T_SECTIONS, T_SEEN, T_WORDS,
    TABLE_VERSION, Block, Column, Part, Run, TableHeader, sum_table, table_element_size,
)
from matcher_ext.columns.values cimport value_of
from matcher_ext.machine.keeping cimport fill_vector
from matcher_ext.machine.large_pages cimport use_large_pages
from matcher_ext.machine.links cimport NOTHING
from matcher_ext.values.predicate cimport (
    GEO, INTEGER_SET, STRING, STRING_SET, TIMESTAMP, TIMESTAMP_LOCAL,
)
from matcher_ext.values.spans cimport text_length, text_offset, text_word
from matcher_ext.visits.arrow cimport Batch

from matcher_ext.count.arrow_input import read_batches


cdef class TableMaker:
    def __init__(self, CompiledCatalog catalog):
        cdef size_t i
        self.catalog = catalog
        self.coders.resize(catalog.table.attributes.size())
        fill_vector(self.derived, self.coders.size(), NOTHING)
        fill_vector(self.malformed, self.coders.size(), 0)
        for i in range(self.coders.size()):
            open_coder(&self.coders[i], catalog.table.attributes[i].type)

    cdef int read(self, batches) except -1:
        cdef Batch batch
        open_visit(&self.catalog.table, &self.visit)
        for source in list_sources(batches):
            for batch in read_batches(self.catalog, source):
                if self.rows + batch.rows >= NOTHING:
                    raise ValueError("a table has fewer than 2 ** 32 rows")
                with nogil:
                    self._read_batch(batch)
                self.rows += batch.rows
        return 0

    cdef int _read_batch(self, Batch batch) except -1 nogil:
        cdef Rows rows
        cdef size_t i
        rows.catalog = &self.catalog.table
        rows.columns = &batch.columns
        rows.count = batch.rows
        rows.first = <uint32_t>self.rows
        rows.visit = &self.visit
        for i in range(batch.leaves.size()):
            rows.column = &batch.columns[batch.leaves[i]]
            code_column(
                &self.coders[rows.column.attribute], &rows,
                &self.malformed[rows.column.attribute],
            )
        return 0

    cdef int derive(self) except -1:
        """Adds the columns that follow from others, and sorts all values."""
        cdef size_t attributes = self.coders.size()
        cdef uint32_t offset = self.catalog.table.utc_offset
        cdef bint is_local
        cdef size_t i
        with nogil:
            self.coders.resize(2 * attributes)     # once: no coder moves from here on
            for i in range(attributes):
                is_local = self.coders[i].type == TIMESTAMP_LOCAL
                if is_local or self.coders[i].type == TIMESTAMP:
                    if is_local and offset == NOTHING:
                        continue
                    code_minutes(
                        &self.coders[i], &self.coders[offset if is_local else 0], is_local,
                        &self.coders[attributes],
                    )
                elif self.coders[i].type == STRING_SET or self.coders[i].type == INTEGER_SET:
                    code_sizes(&self.coders[i], &self.coders[attributes])
                else:
                    continue
                self.derived[i] = <uint32_t>attributes
                attributes += 1
            self.coders.resize(attributes)
            for i in range(self.coders.size()):
                sort_values(&self.coders[i])
        return 0

    def codes_of_rows(self, name):
        """Returns an attribute's code by row of the input, as a numpy array; -1 where it is
        missing."""
        cdef Coder* coder = &self.coders[self.number_of(name)]
        codes = numpy.full(self.rows, -1, dtype=numpy.int64)
        cdef int64_t[::1] target = codes
        cdef size_t i
        if coder.type == STRING_SET or coder.type == INTEGER_SET or coder.type == GEO:
            raise ValueError(f"{name} has no single value to order visits by")
        for i in range(coder.rows.size()):
            target[coder.rows[i]] = coder.codes[i]
        return codes

    def number_of(self, name):
        if name not in self.catalog.numbers:
            raise ValueError(f"the catalogue has no attribute {name}")
        return self.catalog.numbers[name]

    def _values_of(self, name, codes):
        """Lists the values of codes; None for a negative one."""
        cdef Coder* coder = &self.coders[self.number_of(name)]
        return [
            None if code < 0 else value_of(
                coder.type, OF_VALUES, coder.words.data(), coder.bytes.data(), code
            )
            for code in codes.tolist()
        ]

    def _number_groups(self, names):
        """Numbers the groups of rows by their values, or by what each row was given, ascending;
        keeps the values."""
        if isinstance(names, numpy.ndarray):
            numbers, key = numpy.unique(names, return_inverse=True)
            self.groups = [[number] for number in numbers.tolist()]
            return key
        if not names:
            self.groups = [()] if self.rows else []
            return numpy.zeros(self.rows, dtype=numpy.int64)
        columns = [self.codes_of_rows(name) for name in names]
        key = numpy.zeros(self.rows, dtype=numpy.int64)
        for column in columns:
            _, key = numpy.unique(
                key * (int(column.max(initial=-1)) + 2) + column + 1, return_inverse=True
            )
        _, firsts = numpy.unique(key, return_index=True)
        values = [
            self._values_of(name, column[firsts])
            for name, column in zip(names, columns, strict=True)
        ]
        self.groups = [list(group) for group in zip(*values, strict=True)]
        return key

    cdef int order(self, by, groups, weights) except -1:
        """Orders rows by publisher, weight and group, and cuts them into blocks."""
        key = self._number_groups(groups)
        sellers = numpy.full(self.rows, -1, numpy.int64) if by is None else self.codes_of_rows(by)
        weighed, rank = numpy.unique(weights, return_inverse=True)
        strata, stratum, sizes = numpy.unique(
            (sellers + 1) * max(len(weighed), 1) + rank, return_inverse=True, return_counts=True
        )
        order = numpy.argsort(stratum * max(len(self.groups), 1) + key, kind="stable")
        sellers = strata // max(len(weighed), 1) - 1
        weights = weighed[strata % max(len(weighed), 1)] if self.rows else strata
        cdef const int64_t[::1] rows = order
        cdef int64_t i
        self.layout.order.resize(self.rows)
        self.layout.places.resize(self.rows)
        for i in range(self.rows):
            self.layout.order[i] = <uint32_t>rows[i]
            self.layout.places[rows[i]] = <uint32_t>i
        self._cut(zip(sellers.tolist(), weights.tolist(), strict=True), sizes.tolist(), key[order])
        return 0

    def _cut(self, strata, sizes, const int64_t[::1] groups):
        cdef Block block
        cdef uint64_t first = 0, end, word = 0, count
        for (seller, weight), size in zip(strata, sizes, strict=True):
            end = first + size
            count = max(1, (size + MANY_BLOCK_ROWS // 2) // MANY_BLOCK_ROWS)
            while first < end:
                memset(&block, 0, sizeof(block))
                block.first = first
                block.first_word = word
                block.weight = weight
                block.rows = <uint32_t>((end - first + count - 1) // count)
                count -= 1
                block.words = (block.rows + 63) // 64
                block.by = NOTHING if seller < 0 else seller
                block.runs = <uint32_t>self.runs.size()
                self._run(&block, groups)
                self.layout.blocks.push_back(block)
                word += block.words
                first += block.rows

    cdef int _run(self, Block* block, const int64_t[::1] groups) except -1:
        cdef uint32_t i
        for i in range(block.rows):
            if i + 1 == block.rows or groups[block.first + i] != groups[block.first + i + 1]:
                self.runs.push_back(Run(<uint32_t>groups[block.first + i], i + 1))
        block.run_count = <uint32_t>self.runs.size() - block.runs
        return 0

    cdef int write(self, vector[char]* buffer, by, users) except -1:
        cdef vector[Column] columns
        cdef vector[int64_t] words
        cdef vector[char] bytes
        cdef vector[uint64_t] seen
        cdef uint32_t count = <uint32_t>self.coders.size()
        cdef uint32_t i
        cdef Column column
        self.layout.parts.resize(self.layout.blocks.size() * count)
        self.layout.payload.reserve(self._expect_words())
        use_large_pages(self.layout.payload.data(), 8 * self.layout.payload.capacity())
        for i in range(count):
            if bytes.size() + self.coders[i].bytes.size() > NOTHING:
                raise ValueError("a table has at most 4 GB of texts: make it in pieces")
            column = self._describe(i, words.size(), seen.size())
            with nogil:
                lay_column(&self.layout, &self.coders[i], i, count)
                append_values(&self.coders[i], &words, &bytes)
                seen.insert(seen.end(), self.layout.seen.begin(), self.layout.seen.end())
                # Frees what is laid out now: keeping both would take twice the memory.
                self.coders[i].rows = vector[uint32_t]()
                self.coders[i].codes = vector[uint32_t]()
                self.coders[i].points = vector[double]()
            columns.push_back(column)
        catalog = json.dumps(self.catalog.rows).encode()
        groups = json.dumps(self.groups).encode()
        cdef TableHeader header
        cdef const char* source
        memset(&header, 0, sizeof(header))
        memcpy(header.magic, b"TLVISITS", 8)
        header.version = TABLE_VERSION
        header.sections = T_SECTIONS
        header.rows = <uint64_t>self.rows
        header.by = NOTHING if by is None else self.number_of(by)
        header.users = self.catalog.numbers.get(users, NOTHING)
        header.groups = len(self.groups)
        buffer.reserve(
            8 * (self.layout.payload.size() + words.size() + seen.size())
            + sizeof(Part) * self.layout.parts.size() + bytes.size() + 16 * <size_t>self.rows
        )
        use_large_pages(buffer.data(), buffer.capacity())
        buffer.resize(sizeof(header))
        source = catalog
        put(buffer, &header, T_CATALOG, source, len(catalog))
        source = groups
        put(buffer, &header, T_GROUPS, source, len(groups))
        put(buffer, &header, T_COLUMNS, columns.data(), columns.size())
        put(buffer, &header, T_WORDS, words.data(), words.size())
        put(buffer, &header, T_BYTES, bytes.data(), bytes.size())
        put(buffer, &header, T_SEEN, seen.data(), seen.size())
        put(buffer, &header, T_BLOCKS, self.layout.blocks.data(), self.layout.blocks.size())
        put(buffer, &header, T_PARTS, self.layout.parts.data(), self.layout.parts.size())
        put(buffer, &header, T_ORDER, self.layout.order.data(), self.layout.order.size())
        put(buffer, &header, T_RUNS, self.runs.data(), self.runs.size())
        put(buffer, &header, T_MALFORMED, self.malformed.data(), self.malformed.size())
        put(buffer, &header, T_PAYLOAD, self.layout.payload.data(), self.layout.payload.size())
        header.size = buffer.size()
        memcpy(buffer.data(), &header, sizeof(header))
        header.checksum = sum_table(buffer.data(), buffer.size())
        memcpy(buffer.data(), &header, sizeof(header))
        return 0

    cdef size_t _expect_words(self) noexcept:
        """Estimates the payload: a bit a cell, a row and a rank a value, values by block."""
        cdef size_t words = 0
        cdef size_t i
        for i in range(self.coders.size()):
            if not self.coders[i].rows.empty():
                words += <size_t>self.rows // 32 + self.coders[i].codes.size() // 2
                words += 5 * self.coders[i].points.size() // 2
        return words

    cdef Column _describe(self, uint32_t i, uint64_t first, uint64_t seen) except *:
        cdef uint32_t attributes = <uint32_t>self.derived.size()
        cdef Column column
        cdef uint32_t k
        memset(&column, 0, sizeof(column))
        column.first = first
        column.seen = seen
        column.present = self.coders[i].rows.size()
        column.values = count_values(&self.coders[i])
        column.attribute = i
        column.type = self.coders[i].type
        column.derived = self.derived[i] if i < attributes else NOTHING
        for k in range(attributes):
            if self.derived[k] == i:
                column.attribute = k
                column.kind = OF_WEEK_MINUTES
                if self.coders[k].type == STRING_SET or self.coders[k].type == INTEGER_SET:
                    column.kind = OF_SIZES
        return column


def list_sources(batches):
    """Returns what is read: one source of batches, or each of several."""
    if hasattr(batches, "__arrow_c_array__") or hasattr(batches, "__arrow_c_stream__"):
        return [batches]
    return batches


cdef int append_values(
    const Coder* coder, vector[int64_t]* words, vector[char]* bytes
) except -1 nogil:
    """Appends a dictionary; texts move to the place that they have in all bytes."""
    cdef uint32_t base = <uint32_t>bytes.size()
    cdef bint is_text = coder.type == STRING or coder.type == STRING_SET
    cdef size_t i
    for i in range(coder.words.size()):
        if is_text:
            words.push_back(text_word(
                base + text_offset(coder.words[i]), text_length(coder.words[i])
            ))
        else:
            words.push_back(coder.words[i])
    bytes.insert(bytes.end(), coder.bytes.begin(), coder.bytes.end())
    return 0


cdef int put(
    vector[char]* buffer, TableHeader* header, int section, const void* source, size_t count
) except -1 nogil:
    cdef size_t first = (buffer.size() + 7) // 8 * 8
    cdef size_t size = count * table_element_size(section)
    buffer.resize(first + size)
    header.offsets[section] = first
    header.counts[section] = count
    if size:
        memcpy(buffer.data() + first, source, size)
    return 0
