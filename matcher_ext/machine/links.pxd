"""The number that leads nowhere.

Arrays of the engine are linked by 32-bit numbers instead of pointers, so that any of them can be
written to a file and mapped. Where a number may lead to no element, it is NOTHING.
"""
from libc.stdint cimport uint32_t

cdef extern from * nogil:
    """
    #include <cstdint>
    static const uint32_t NOTHING = 0xFFFFFFFFu;
    """
    const uint32_t NOTHING
