"""Asks code of the rows of a block, once in a call (coded_rows.pxd)."""
import numpy

from libc.stdint cimport uint32_t, uint64_t

from matcher_ext.columns.table_format cimport Table
from matcher_ext.columns.values cimport read_block
from matcher_ext.machine.bitmaps cimport set_bit


cdef class CodedRows:
    def _ask_block(self, uint32_t block):
        """Asks of every row of a block; after an error nobody is asked any more."""
        cdef uint32_t words = self.table.blocks[block].words
        cdef uint32_t row
        truths = numpy.zeros((len(self.names), 2, words), dtype=numpy.uint64)
        cdef uint64_t[:, :, ::1] target = truths
        cdef Py_ssize_t number
        self.blocks[block] = truths
        if self.error is not None:
            return truths
        for row, visit in enumerate(read_block(self.table, self.attributes, block)):
            found = self.answer(visit)
            self.row_count += 1
            for number, name in enumerate(self.names):
                truth = found.get(name)
                if truth is not None:
                    set_bit(&target[number, 1 if truth else 0, 0], row)
        return truths


cdef CodedRows begin_coded(const Table* table, tuple attributes, list names, answer):
    cdef CodedRows made = CodedRows.__new__(CodedRows)
    made.table = table
    made.attributes = attributes
    made.names = names
    made.answer = answer
    made.blocks = {}
    made.row_count = 0
    return made


cdef const uint64_t* ask_code(
    void* context, uint32_t block, uint32_t definition, bint wanted
) noexcept nogil:
    cdef const uint64_t[::1] rows
    with gil:
        coded = <CodedRows>context
        try:
            truths = coded.blocks.get(block)
            if truths is None:
                truths = coded._ask_block(block)
            rows = truths[definition, 1 if wanted else 0]
            return &rows[0]
        except BaseException as error:
            if coded.error is None:
                coded.error = error
            return NULL
