"""Reads cells of Arrow columns, one at a time, from the C data interface into a visit's value.

A value that does not fit the attribute's type is malformed, as in any visit.
"""
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libcpp.vector cimport vector

from matcher_ext.values.catalog cimport CatalogTable
from matcher_ext.visits.visit cimport Visit

cdef extern from * nogil:
    """
    #ifndef ARROW_C_DATA_INTERFACE
    #define ARROW_C_DATA_INTERFACE
    #include <cstdint>
    struct ArrowSchema {
        const char* format; const char* name; const char* metadata;
        int64_t flags; int64_t n_children;
        struct ArrowSchema** children; struct ArrowSchema* dictionary;
        void (*release)(struct ArrowSchema*); void* private_data;
    };
    struct ArrowArray {
        int64_t length; int64_t null_count; int64_t offset;
        int64_t n_buffers; int64_t n_children;
        const void** buffers; struct ArrowArray** children; struct ArrowArray* dictionary;
        void (*release)(struct ArrowArray*); void* private_data;
    };
    #endif
    #ifndef ARROW_C_STREAM_INTERFACE
    #define ARROW_C_STREAM_INTERFACE
    struct ArrowArrayStream {
        int (*get_schema)(struct ArrowArrayStream*, struct ArrowSchema* out);
        int (*get_next)(struct ArrowArrayStream*, struct ArrowArray* out);
        const char* (*get_last_error)(struct ArrowArrayStream*);
        void (*release)(struct ArrowArrayStream*); void* private_data;
    };
    #endif
    """
    struct ArrowSchema:
        const char* format
        const char* name
        int64_t n_children
        ArrowSchema** children
        ArrowSchema* dictionary
        void (*release)(ArrowSchema*) noexcept

    struct ArrowArray:
        int64_t length
        int64_t null_count
        int64_t offset
        int64_t n_buffers
        int64_t n_children
        const void** buffers
        ArrowArray** children
        ArrowArray* dictionary
        void (*release)(ArrowArray*) noexcept

    struct ArrowArrayStream:
        int (*get_schema)(ArrowArrayStream*, ArrowSchema*) noexcept
        int (*get_next)(ArrowArrayStream*, ArrowArray*) noexcept
        const char* (*get_last_error)(ArrowArrayStream*) noexcept
        void (*release)(ArrowArrayStream*) noexcept

cdef enum Layout:
    NULLS                   # a column of nothing but nulls
    BITS                    # Boolean
    SIGNED                  # width bytes
    UNSIGNED
    FLOATING
    INSTANT                 # int64 in `unit`s: see Column
    DAY                     # int32 days
    TEXT                    # 32-bit offsets
    LARGE_TEXT              # 64-bit offsets
    TEXT_VIEW
    LISTED                  # of children[0]
    LARGE_LISTED
    FIXED_LISTED            # width elements
    STRUCTURE
    OTHER                   # never fits: malformed

cdef struct Column:
    const ArrowArray* array
    uint32_t attribute
    uint32_t child          # lists: their elements; points: latitude, then longitude
    uint32_t parent         # the struct around it, whose nulls and offset hold too, or NOTHING
    uint32_t dictionary     # its values, or NOTHING
    uint32_t width          # bytes, or elements
    int64_t divisor         # INSTANT: value * factor // divisor is in milliseconds
    int64_t factor
    uint8_t layout          # Layout

cdef struct Text:
    const char* start
    int64_t length

# Finds a row's cell in its buffers; -1 if it, or a struct around it, is null.
cdef int64_t locate(
    const vector[Column]* columns, const Column* column, int64_t row
) noexcept nogil
# Says whether a cell is null; `index` counts from the start of the buffers, offset included.
cdef bint is_null(const Column* column, int64_t index) noexcept nogil
cdef bint is_text(const Column* column) noexcept nogil
cdef Text read_text(const Column* column, int64_t index) noexcept nogil
# Finds the cell of a dictionary that a cell of indexes names.
cdef int64_t dictionary_index(
    const Column* column, const Column* values, int64_t index
) noexcept nogil
# Says whether elements of a layout can be those of a set of this type.
cdef bint fits_element(const Column* elements, int type) noexcept nogil
# Reads a whole number of any layout; False for a fraction and for more than 64 bits.
cdef bint read_whole(const Column* column, int64_t index, int64_t* number) noexcept nogil
# Finds the cells of a list's elements.
cdef void find_elements(
    const vector[Column]* columns, const Column* column, int64_t index, int64_t* first,
    int64_t* last,
) noexcept nogil
# Finds the next row of a column that may hold a value, or `end`.
cdef int64_t skip_nulls(
    const vector[Column]* columns, const Column* column, int64_t row, int64_t end
) noexcept nogil
# Sets one attribute of a visit from one cell.
cdef void read_cell(
    const CatalogTable* table,
    const vector[Column]* columns,
    const Column* column,
    int64_t row,
    Visit* visit,
) noexcept nogil
# Clears `count` visits and fills them from as many rows: column by column, nulls by the word, so
# that a wide batch of sparse columns costs little more than the values it holds.
cdef void read_rows(
    const CatalogTable* table,
    const vector[Column]* columns,
    const vector[uint32_t]* leaves,
    int64_t first_row,
    int64_t count,
    Visit* visits,
) noexcept nogil
# Clears the visit and fills it from one row.
cdef void read_row(
    const CatalogTable* table,
    const vector[Column]* columns,
    const vector[uint32_t]* leaves,
    int64_t row,
    Visit* visit,
) noexcept nogil
