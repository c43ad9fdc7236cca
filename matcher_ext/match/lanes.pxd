"""Records (plan.pxd) whose programs are run together, as lanes side by side: see rounds.pxd.

A step of all lanes says by arithmetic where each program goes on and whether it does, and moves the
lanes that do to the front. Compiled twice and chosen when the module is loaded: eight lanes at once
where the machine has the registers for it, otherwise one by one.
"""
from libc.stdint cimport uint32_t

cdef extern from * nogil:
    """
    #ifndef TREELINE_LANES
    #define TREELINE_LANES
    #include <cstddef>
    #include <cstdint>
    #define LANES 256
    struct Lanes {                          // and room for a store of eight behind the last
        size_t count = 0;
        uint32_t at[LANES + 8] = {};        // places in RECORDS: the next test ..
        uint32_t end[LANES + 8] = {};       // .. the end of the program ..
        uint32_t record[LANES + 8] = {};    // .. and its record
        uint32_t word[LANES + 8] = {};      // the test
        uint32_t held[LANES + 8] = {};      // the piece of the bitmap that its atom is in
        uint32_t passed[LANES + 8] = {};    // records that are true since the last step
    };
    #endif
    """
    enum:
        LANES
    cppclass Lanes:
        size_t count
        uint32_t* at
        uint32_t* end
        uint32_t* record
        uint32_t* word
        uint32_t* held
        uint32_t* passed
