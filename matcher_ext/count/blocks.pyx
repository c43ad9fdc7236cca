"""Reads visits into cells, numbers the rows that count, and sorts cells (blocks.pxd)."""
from libc.stdint cimport int64_t, uint16_t, uint32_t
from libcpp.algorithm cimport sort
from libcpp.pair cimport pair
from libcpp.vector cimport vector

from matcher_ext.count.circuit cimport is_set, presence_of
from matcher_ext.machine.bitmaps cimport set_bit
from matcher_ext.machine.links cimport NOTHING
from matcher_ext.match.leaf_bits cimport find_number, find_text
from matcher_ext.plan.plan cimport Plan
from matcher_ext.plan.predicate_index cimport AttributeIndex, order_float
from matcher_ext.values.catalog cimport CatalogTable
from matcher_ext.values.predicate cimport FLOAT, GEO, IP, STRING, STRING_SET
from matcher_ext.values.spans cimport text_length, text_offset
from matcher_ext.visits.arrow_cells cimport Column, read_cell, read_rows, skip_nulls
from matcher_ext.visits.visit cimport Value, Visit, clear_visit


cdef void open_block(const Plan* plan, const CatalogTable* table, Block* block) noexcept nogil:
    cdef uint32_t row
    block.cells.resize(2 * table.attributes.size())
    block.attributes.resize(2 * table.attributes.size())
    for row in range(<uint32_t>MOST_ROWS):
        block.all_rows.push_back(<uint16_t>row)


# Cells.

cdef inline void add_cell(
    Block* block, uint32_t attribute, uint32_t row, uint32_t position
) noexcept nogil:
    cdef Cell cell
    cell.position = position
    cell.row = row
    block.cells[attribute].push_back(cell)


cdef uint32_t locate_word(
    const Plan* plan, const Visit* visit, const AttributeIndex* attribute, int type, int64_t word
) noexcept nogil:
    """Finds the position of a value (circuit.pxd)."""
    cdef uint32_t rank = attribute.key_count
    if rank == 0:
        return 0
    if type == STRING or type == STRING_SET:
        rank = find_text(
            plan, attribute, visit.bytes.data() + text_offset(word), text_length(word)
        )
        return 2 * rank + (rank < attribute.key_count)
    if type == FLOAT:
        word = order_float(word)
    rank = find_number(plan, attribute, word)
    return 2 * rank + (
        rank < attribute.key_count and plan.keys[attribute.keys + rank] == word
    )


cdef void add_value(
    const Plan* plan, const CatalogTable* table, Block* block, const Visit* visit,
    uint32_t number, uint32_t row,
) noexcept nogil:
    cdef const AttributeIndex* attribute = &plan.attributes[number]
    cdef const Value* value = &visit.values[number]
    cdef int type = table.attributes[number].type
    cdef uint32_t i
    if is_set(type):
        add_cell(block, presence_of(table, number), row, 0)
        for i in range(value.count):
            add_cell(
                block, number, row,
                locate_word(plan, visit, attribute, type, visit.words[value.first + i]),
            )
    elif type == IP or type == GEO:
        add_cell(block, number, row, 0)
    else:
        add_cell(block, number, row, locate_word(plan, visit, attribute, type, value.word))


cdef void read_cells(
    const Plan* plan, const CatalogTable* table, const RowSource* source, int64_t first,
    int64_t end, Block* block,
) noexcept nogil:
    """Reads cells column by column, through one visit, so that the rules of types are any
    visit's."""
    cdef Visit* visit = &block.visits[0]
    cdef const Column* column
    cdef int64_t row
    cdef size_t i
    clear_visit(table, visit)
    for i in range(source.leaves.size()):
        column = &source.columns[0][source.leaves[0][i]]
        row = skip_nulls(source.columns, column, first, end)
        while row < end:
            read_cell(table, source.columns, column, row, visit)
            if visit.carried.size():
                add_value(plan, table, block, visit, column.attribute, <uint32_t>(row - first))
            clear_visit(table, visit)
            row = skip_nulls(source.columns, column, row + 1, end)


# Rows.

cdef void number_rows(
    const CatalogTable* table, const int64_t* groups, uint32_t rows, Block* block
) noexcept nogil:
    """Leaves out what does not count; makes the rows of a group neighbours."""
    cdef vector[pair[int64_t, uint32_t]] order
    cdef pair[int64_t, uint32_t] item
    cdef vector[uint32_t] required
    cdef uint32_t attribute, row
    cdef size_t i, k
    required.assign(rows, 0)
    for i in range(table.required.size()):
        attribute = presence_of(table, table.required[i])
        for k in range(block.cells[attribute].size()):
            required[block.cells[attribute][k].row] += 1
    for row in range(rows):
        item.first = 0 if groups == NULL else groups[row]
        item.second = row
        if item.first >= 0 and required[row] == table.required.size():
            order.push_back(item)
    if groups != NULL:
        sort(order.begin(), order.end())
    block.count = <uint32_t>order.size()
    block.row_of.assign(rows, NOTHING)
    block.visit_of.clear()
    block.lines.clear()
    for row in range(block.count):
        block.row_of[order[row].second] = row
        block.visit_of.push_back(order[row].second)
        if groups != NULL:
            block.lines.push_back(order[row].first)


cdef void number_cells(Block* block) noexcept nogil:
    """Keeps the cells of rows that count, under their new numbers; marks the rows' attributes."""
    cdef vector[Cell]* cells
    cdef size_t i, k, kept
    cdef uint32_t row
    block.carried.assign(block.count, 0)
    for i in range(block.cells.size()):
        cells = &block.cells[i]
        kept = 0
        for k in range(cells.size()):
            row = block.row_of[cells[0][k].row]
            if row != NOTHING:
                cells[0][kept].position = cells[0][k].position
                cells[0][kept].row = row
                block.carried[row] |= mark_of(<uint32_t>i)
                kept += 1
        cells.resize(kept)


# Order.

cdef void sort_scalar(
    Block* block, const vector[Cell]* cells, Sorted* made, uint32_t ends
) noexcept nogil:
    """Sorts cells by counting. The cuts are those of the positions 0 to `ends`, and two more."""
    cdef uint32_t count = <uint32_t>cells.size()
    cdef uint16_t* cuts
    cdef uint16_t* rows
    cdef uint32_t i, place
    made.count = count
    made.cuts = <uint32_t>block.cuts.size()
    made.rows = <uint32_t>block.rows.size()
    made.places = <uint32_t>block.places.size()
    block.cuts.resize(block.cuts.size() + ends + 3)
    block.rows.resize(block.rows.size() + 2 * count)
    made.carriers = <uint32_t>block.carriers.size()
    block.places.resize(block.places.size() + block.count, MISSING_PLACE)
    block.carriers.resize(block.carriers.size() + words_of(block), 0)
    cuts = block.cuts.data() + made.cuts
    rows = block.rows.data() + made.rows
    for i in range(ends + 3):
        cuts[i] = 0
    for i in range(count):
        cuts[cells[0][i].position + 2] += 1
    for i in range(2, ends + 2):
        cuts[i + 1] += cuts[i]
    for i in range(count):
        # For now cuts[p + 1] is where the next cell of position p goes.
        place = cuts[cells[0][i].position + 1]
        cuts[cells[0][i].position + 1] += 1
        rows[place] = <uint16_t>cells[0][i].row
        rows[count + place] = <uint16_t>cells[0][i].row
        block.places[made.places + cells[0][i].row] = <uint16_t>place
        set_bit(block.carriers.data() + made.carriers, cells[0][i].row)


cdef void sort_set(
    Block* block, const vector[Cell]* cells, Sorted* made, uint32_t ends
) noexcept nogil:
    """Sorts the cells of a set, with wider cuts: a row stands once for each element."""
    cdef uint32_t count = <uint32_t>cells.size()
    cdef uint32_t* cuts
    cdef uint32_t i, place
    made.count = count
    made.cuts = <uint32_t>block.set_cuts.size()
    made.rows = <uint32_t>block.rows.size()
    block.set_cuts.resize(block.set_cuts.size() + ends + 3, 0)
    block.rows.resize(block.rows.size() + count)
    cuts = block.set_cuts.data() + made.cuts
    for i in range(count):
        cuts[cells[0][i].position + 2] += 1
    for i in range(2, ends + 2):
        cuts[i + 1] += cuts[i]
    for i in range(count):
        place = cuts[cells[0][i].position + 1]
        cuts[cells[0][i].position + 1] += 1
        block.rows[made.rows + place] = <uint16_t>cells[0][i].row


cdef void sort_cells(const Plan* plan, const CatalogTable* table, Block* block) noexcept nogil:
    cdef uint32_t attributes = <uint32_t>table.attributes.size()
    cdef uint32_t number, ends
    block.rows.clear()
    block.cuts.clear()
    block.set_cuts.clear()
    block.places.clear()
    block.carriers.clear()
    for number in range(2 * attributes):
        block.attributes[number].count = 0
        if block.cells[number].empty():
            continue
        ends = 2 * plan.attributes[number].key_count + 1 if number < attributes else 1
        if number < attributes and is_set(table.attributes[number].type):
            sort_set(block, &block.cells[number], &block.attributes[number], ends)
        else:
            sort_scalar(block, &block.cells[number], &block.attributes[number], ends)


cdef void read_block(
    const Plan* plan,
    const CatalogTable* table,
    const RowSource* source,
    int64_t first,
    int64_t end,
    Block* block,
) noexcept nogil:
    cdef const int64_t* groups = NULL
    cdef size_t i
    for i in range(block.cells.size()):
        block.cells[i].clear()
    block.visits.resize(<size_t>(end - first) if block.keeps_visits else 1)
    read_cells(plan, table, source, first, end, block)
    if block.keeps_visits:
        read_rows(table, source.columns, source.leaves, first, end - first, block.visits.data())
    if source.groups != NULL:
        groups = source.groups + first
    number_rows(table, groups, <uint32_t>(end - first), block)
    number_cells(block)
    sort_cells(plan, table, block)
