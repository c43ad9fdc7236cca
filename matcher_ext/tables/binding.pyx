"""Finds the runs of codes that predicates accept (binding.pxd)."""
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from matcher_ext.columns.table_format cimport Column, Table, order_float
from matcher_ext.machine.links cimport NOTHING
from matcher_ext.values.ordering cimport find_integer, find_text
from matcher_ext.values.predicate cimport (
    ALL_OF, BETWEEN, COUNT_EQUAL, COUNT_LESS_EQUAL, DURING, EQUAL, FLOAT, GEO, IN, IP,
    LESS, LESS_EQUAL, ONLY_OF, PRESENT, STRING, STRING_SET, WITHIN, Predicate,
    PredicateView,
)
from matcher_ext.values.spans cimport compare_text
from matcher_ext.visits.comparisons cimport test_string


cdef int add_run(Binding* binding, Bound* bound, uint32_t first, uint32_t end) except -1 nogil:
    """Adds a run that lies behind those before; joins neighbours, except elements of an ALL."""
    cdef Codes* last
    if first >= end:
        return 0
    if bound.count and bound.how != BY_ALL:
        last = &binding.runs.back()
        if first <= last.end:
            last.end = max(last.end, end)
            return 0
    binding.runs.push_back(Codes(first, end))
    bound.count += 1
    return 0


# Numbers.

cdef uint32_t place_number(const int64_t* words, uint32_t values, int64_t value) noexcept nogil:
    return <uint32_t>(find_integer(words, words + values, value) - words)


cdef uint32_t place_above(const int64_t* words, uint32_t values, int64_t value) noexcept nogil:
    """Finds the first value that is greater."""
    cdef uint32_t place = place_number(words, values, value)
    return place + (place < values and words[place] == value)


cdef int bind_numbers(
    const Table* table, const Column* column, PredicateView view, const Predicate* predicate,
    Binding* binding, Bound* bound,
) except -1 nogil:
    """Binds comparisons and lists of numbers, floats among them by the order of their bits."""
    cdef const int64_t* words = table.words + column.first
    cdef const int64_t* operands = view.words + predicate.first
    cdef bint is_float = predicate.type == FLOAT
    cdef int64_t low = 0, high
    cdef uint8_t test = predicate.test
    cdef uint32_t i
    if predicate.count:
        low = order_float(operands[0]) if is_float else operands[0]
    if test == LESS:
        add_run(binding, bound, 0, place_number(words, column.values, low))
    elif test == LESS_EQUAL or test == COUNT_LESS_EQUAL:
        add_run(binding, bound, 0, place_above(words, column.values, low))
    elif test == BETWEEN:
        high = order_float(operands[1]) if is_float else operands[1]
        add_run(
            binding, bound, place_number(words, column.values, low),
            place_above(words, column.values, high),
        )
    else:
        for i in range(predicate.count):
            low = order_float(operands[i]) if is_float else operands[i]
            add_run(
                binding, bound, place_number(words, column.values, low),
                place_above(words, column.values, low),
            )
    return 0


cdef int bind_schedule(
    const Table* table, const Column* column, PredicateView view, const Predicate* predicate,
    Binding* binding, Bound* bound,
) except -1 nogil:
    cdef const int64_t* words = table.words + column.first
    cdef const int64_t* pairs = view.words + predicate.first
    cdef uint32_t i
    for i in range(0, predicate.count, 2):
        add_run(
            binding, bound, place_number(words, column.values, pairs[i]),
            place_number(words, column.values, pairs[i + 1]),
        )
    return 0


# Texts.

cdef int bind_listed_texts(
    const Table* table, const Column* column, PredicateView view, const Predicate* predicate,
    Binding* binding, Bound* bound,
) except -1 nogil:
    """Looks up each listed text; of a list longer than the dictionary, each value instead."""
    cdef const int64_t* words = table.words + column.first
    cdef const int64_t* operands = view.words + predicate.first
    cdef const int64_t* found
    cdef uint32_t i
    if predicate.count > column.values:
        for i in range(column.values):
            found = find_text(
                operands, operands + predicate.count, view.bytes, words[i], table.bytes
            )
            if found != operands + predicate.count and (
                compare_text(view.bytes, found[0], table.bytes, words[i]) == 0
            ):
                add_run(binding, bound, i, i + 1)
        return 0
    for i in range(predicate.count):
        found = find_text(words, words + column.values, table.bytes, operands[i], view.bytes)
        if found != words + column.values and (
            compare_text(table.bytes, found[0], view.bytes, operands[i]) == 0
        ):
            add_run(
                binding, bound, <uint32_t>(found - words), <uint32_t>(found - words) + 1
            )
    return 0


cdef int bind_tried_texts(
    const Table* table, const Column* column, PredicateView view, const Predicate* predicate,
    Binding* binding, Bound* bound,
) except -1 nogil:
    cdef const int64_t* words = table.words + column.first
    cdef uint32_t i
    for i in range(column.values):
        if test_string(view, predicate, table.bytes, words[i]):
            add_run(binding, bound, i, i + 1)
    return 0


# Addresses.

cdef uint32_t place_address(
    const int64_t* words, uint32_t values, uint64_t high, uint64_t low
) noexcept nogil:
    """Finds the first address that is not smaller."""
    cdef uint32_t first = 0, end = values, middle
    while first < end:
        middle = (first + end) // 2
        if <uint64_t>words[2 * middle] < high or (
            <uint64_t>words[2 * middle] == high and <uint64_t>words[2 * middle + 1] < low
        ):
            first = middle + 1
        else:
            end = middle
    return first


cdef uint64_t host_mask(int64_t bits) noexcept nogil:
    """Makes a mask of the lowest bits, 0 to 64 of them."""
    if bits <= 0:
        return 0
    return ~<uint64_t>0 if bits >= 64 else (<uint64_t>1 << bits) - 1


cdef int bind_networks(
    const Table* table, const Column* column, PredicateView view, const Predicate* predicate,
    Binding* binding, Bound* bound,
) except -1 nogil:
    """Binds networks, whose addresses lie together; listed in the order of their first ones."""
    cdef const int64_t* words = table.words + column.first
    cdef const int64_t* network
    cdef uint64_t high, low
    cdef uint32_t i, end
    for i in range(0, predicate.count, 3):
        network = view.words + predicate.first + i
        high = <uint64_t>network[0] | host_mask(64 - network[2])
        low = <uint64_t>network[1] | host_mask(128 - network[2])
        end = place_address(words, column.values, high, low)
        if end < column.values and <uint64_t>words[2 * end] == high and (
            <uint64_t>words[2 * end + 1] == low
        ):
            end += 1
        add_run(
            binding, bound,
            place_address(words, column.values, <uint64_t>network[0], <uint64_t>network[1]), end,
        )
    return 0


# All together.

cdef int bind_runs(
    const Table* table, const Column* column, PredicateView view, const Predicate* predicate,
    Binding* binding, Bound* bound,
) except -1 nogil:
    cdef uint8_t test = predicate.test
    if test == DURING:
        bind_schedule(table, column, view, predicate, binding, bound)
    elif test == COUNT_EQUAL or test == COUNT_LESS_EQUAL:
        bind_numbers(table, column, view, predicate, binding, bound)
    elif predicate.type == IP:
        bind_networks(table, column, view, predicate, binding, bound)
    elif predicate.type == STRING_SET or test == EQUAL and predicate.type == STRING or (
        test == IN and predicate.type == STRING
    ):
        bind_listed_texts(table, column, view, predicate, binding, bound)
    elif predicate.type == STRING:
        bind_tried_texts(table, column, view, predicate, binding, bound)
    else:
        bind_numbers(table, column, view, predicate, binding, bound)
    return 0


cdef uint8_t choose_how(const Predicate* predicate) noexcept nogil:
    if predicate.test == PRESENT:
        return BY_PRESENCE
    if predicate.test == ALL_OF:
        return BY_ALL
    if predicate.test == ONLY_OF:
        return BY_ONLY
    if predicate.type == GEO:
        return BY_CIRCLE if predicate.test == WITHIN else BY_POLYGON
    return BY_RUNS


cdef void estimate_truth(
    const Table* table, const Column* column, const Binding* binding, Bound* bound
) noexcept nogil:
    cdef const uint64_t* seen = table.seen + column.seen
    cdef double rows = <double>max(table.header.rows, <uint64_t>1)
    cdef double known = <double>column.present
    cdef double found = 0
    cdef uint32_t i
    if bound.how == BY_PRESENCE:
        found = known
        known = rows
    elif bound.how == BY_CIRCLE or bound.how == BY_POLYGON:
        found = 0.3 * known
    else:
        for i in range(bound.first, bound.first + bound.count):
            found += <double>(seen[binding.runs[i].end] - seen[binding.runs[i].first])
        found = min(found, known)
    bound.truth = <float>((known - found if bound.negated else found) / rows)


cdef int bind_predicate(
    const Table* table, const uint32_t* columns, PredicateView view, const Predicate* predicate,
    Binding* binding,
) except -1 nogil:
    cdef Bound bound
    cdef const Column* column
    cdef uint8_t test = predicate.test
    bound.column = columns[predicate.attribute]
    bound.how = choose_how(predicate)
    bound.negated = predicate.negated
    bound.count = 0
    bound.truth = 0
    bound.first = <uint32_t>binding.runs.size()
    if bound.column != NOTHING and (
        test == DURING or test == COUNT_EQUAL or test == COUNT_LESS_EQUAL
    ):
        bound.column = table.columns[bound.column].derived
    if bound.column == NOTHING:
        if bound.how != BY_PRESENCE:
            bound.how = BY_ABSENCE
        bound.truth = 1 if bound.how == BY_PRESENCE and bound.negated else 0
        binding.bounds.push_back(bound)
        return 0
    column = &table.columns[bound.column]
    if bound.how == BY_CIRCLE or bound.how == BY_POLYGON:
        bound.first = <uint32_t>binding.shapes.size()
        bound.count = predicate.count
        binding.shapes.insert(
            binding.shapes.end(), view.words + predicate.first,
            view.words + predicate.first + predicate.count,
        )
    elif bound.how != BY_PRESENCE:
        bind_runs(table, column, view, predicate, binding, &bound)
        if bound.how == BY_ALL and bound.count < predicate.count:
            bound.how = BY_RUNS         # an element that no row has: true of none
            bound.count = 0
    estimate_truth(table, column, binding, &bound)
    binding.bounds.push_back(bound)
    return 0
