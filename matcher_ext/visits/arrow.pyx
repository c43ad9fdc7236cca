"""Reads Arrow batches (see arrow.pxd): dictionary, nullable, list, struct and view columns."""
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_New
from libc.stdint cimport int64_t, uint32_t
from libc.stdlib cimport calloc, free
from libc.string cimport strcmp, strlen, strncmp

from matcher_ext.machine.links cimport NOTHING
from matcher_ext.values.catalog cimport CompiledCatalog
from matcher_ext.visits.arrow_cells cimport (
    BITS, DAY, FIXED_LISTED, FLOATING, INSTANT, LARGE_LISTED, LARGE_TEXT, LISTED, NULLS, OTHER,
    SIGNED, STRUCTURE, TEXT, TEXT_VIEW, UNSIGNED, ArrowArray, ArrowArrayStream, ArrowSchema, Column,
)


# Formats: https://arrow.apache.org/docs/format/CDataInterface.html

cdef void read_number_format(const char* format, Column* column) noexcept nogil:
    cdef char kind = format[0]
    if kind == b"c" or kind == b"s" or kind == b"i" or kind == b"l":
        column.layout = SIGNED
    elif kind == b"C" or kind == b"S" or kind == b"I" or kind == b"L":
        column.layout = UNSIGNED
    elif kind == b"f" or kind == b"g":
        column.layout = FLOATING
    if kind == b"c" or kind == b"C":
        column.width = 1
    elif kind == b"s" or kind == b"S":
        column.width = 2
    elif kind == b"i" or kind == b"I" or kind == b"f":
        column.width = 4
    else:
        column.width = 8


cdef void read_time_format(const char* format, Column* column) noexcept nogil:
    column.factor = 1
    column.divisor = 1
    if strcmp(format, b"tdD") == 0:
        column.layout = DAY
        return
    if strcmp(format, b"tdm") == 0:
        column.layout = INSTANT
        return
    if strncmp(format, b"ts", 2) != 0 or strlen(format) < 3:
        return
    column.layout = INSTANT
    if format[2] == b"s":
        column.factor = 1000
    elif format[2] == b"u":
        column.divisor = 1000
    elif format[2] == b"n":
        column.divisor = 1000000


cdef void read_format(const char* format, Column* column) noexcept nogil:
    column.layout = OTHER
    column.width = 0
    if strcmp(format, b"n") == 0:
        column.layout = NULLS
    elif strcmp(format, b"b") == 0:
        column.layout = BITS
    elif strcmp(format, b"u") == 0:
        column.layout = TEXT
    elif strcmp(format, b"U") == 0:
        column.layout = LARGE_TEXT
    elif strcmp(format, b"vu") == 0:
        column.layout = TEXT_VIEW
    elif strcmp(format, b"+l") == 0:
        column.layout = LISTED
    elif strcmp(format, b"+L") == 0:
        column.layout = LARGE_LISTED
    elif strcmp(format, b"+s") == 0:
        column.layout = STRUCTURE
    elif strncmp(format, b"+w:", 3) == 0:
        column.layout = FIXED_LISTED
        column.width = read_width(format + 3)
    elif format[0] == b"t":
        read_time_format(format, column)
    elif strlen(format) == 1:
        read_number_format(format, column)


cdef uint32_t read_width(const char* digits) noexcept nogil:
    cdef uint32_t width = 0
    while b"0"[0] <= digits[0] <= b"9"[0]:
        width = width * 10 + <uint32_t>(digits[0] - b"0"[0])
        digits += 1
    return width


cdef class Batch:
    def __cinit__(self, CompiledCatalog catalog, schema_capsule, array_capsule):
        cdef ArrowSchema* schema = <ArrowSchema*>PyCapsule_GetPointer(
            schema_capsule, "arrow_schema"
        )
        cdef ArrowArray* array = <ArrowArray*>PyCapsule_GetPointer(array_capsule, "arrow_array")
        self.owners = (schema_capsule, array_capsule)
        self.catalog = catalog
        self.names = set()
        if strcmp(schema.format, b"+s") != 0:
            raise TypeError("a record batch is needed, not a single array")
        self.rows = array.length
        cdef uint32_t top = self._add(schema, array, NOTHING)
        self._add_fields(schema, array, top, "")

    cdef uint32_t _add(self, const ArrowSchema* schema, const ArrowArray* array, uint32_t parent):
        """Adds a column, its elements and its dictionary; returns its number."""
        cdef Column column
        cdef uint32_t number = <uint32_t>self.columns.size()
        column.array = array
        column.attribute = NOTHING
        column.parent = parent
        column.child = NOTHING
        column.dictionary = NOTHING
        column.divisor = 1
        column.factor = 1
        read_format(schema.format, &column)
        self.columns.push_back(column)
        if schema.dictionary != NULL:
            self.columns[number].dictionary = self._add(
                schema.dictionary, array.dictionary, NOTHING
            )
        if column.layout in (LISTED, LARGE_LISTED, FIXED_LISTED):
            self.columns[number].child = self._add(schema.children[0], array.children[0], NOTHING)
        return number

    cdef int _add_fields(
        self, const ArrowSchema* schema, const ArrowArray* array, uint32_t parent, str prefix
    ) except -1:
        cdef int64_t i
        cdef uint32_t number
        for i in range(schema.n_children):
            name = prefix + (schema.children[i].name or b"").decode()
            if name in self.catalog.numbers:
                self._add_attribute(schema.children[i], array.children[i], parent, name)
            elif strcmp(schema.children[i].format, b"+s") == 0:
                number = self._add(schema.children[i], array.children[i], parent)
                self._add_fields(schema.children[i], array.children[i], number, name + ".")
        return 0

    cdef int _add_attribute(
        self, const ArrowSchema* schema, const ArrowArray* array, uint32_t parent, str name
    ) except -1:
        cdef uint32_t number = self._add(schema, array, parent)
        cdef uint32_t latitude
        cdef int64_t i
        if name in self.names:
            raise ValueError(f"two columns carry the attribute {name}")
        self.names.add(name)
        self.columns[number].attribute = self.catalog.numbers[name]
        self.leaves.push_back(number)
        if self.columns[number].layout != STRUCTURE:
            return 0
        fields = {schema.children[i].name: i for i in range(schema.n_children)}
        if b"lat" in fields and b"lon" in fields:
            i = fields[b"lat"]
            latitude = self._add(schema.children[i], array.children[i], number)
            i = fields[b"lon"]
            self._add(schema.children[i], array.children[i], number)
            self.columns[number].child = latitude
        return 0


cdef void free_schema(object capsule) noexcept:
    cdef ArrowSchema* schema = <ArrowSchema*>PyCapsule_GetPointer(capsule, "arrow_schema")
    if schema.release != NULL:
        schema.release(schema)
    free(schema)


cdef void free_array(object capsule) noexcept:
    cdef ArrowArray* array = <ArrowArray*>PyCapsule_GetPointer(capsule, "arrow_array")
    if array.release != NULL:
        array.release(array)
    free(array)


cdef class Stream:
    def __cinit__(self, CompiledCatalog catalog, capsule):
        self.catalog = catalog
        self.capsule = capsule
        self.stream = <ArrowArrayStream*>PyCapsule_GetPointer(capsule, "arrow_array_stream")

    def __iter__(self):
        cdef ArrowSchema* schema = <ArrowSchema*>calloc(1, sizeof(ArrowSchema))
        cdef ArrowArray* array
        owner = PyCapsule_New(schema, "arrow_schema", free_schema)
        self._check(self.stream.get_schema(self.stream, schema))
        while True:
            array = <ArrowArray*>calloc(1, sizeof(ArrowArray))
            holder = PyCapsule_New(array, "arrow_array", free_array)
            self._check(self.stream.get_next(self.stream, array))
            if array.release == NULL:
                return
            yield Batch(self.catalog, owner, holder)

    cdef int _check(self, int code) except -1:
        cdef const char* message
        if code == 0:
            return 0
        message = self.stream.get_last_error(self.stream)
        raise ValueError(
            "the Arrow stream failed: " + (message.decode() if message != NULL else str(code))
        )
