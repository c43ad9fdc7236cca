"""Finds the values at the end of paths through a tape, and reads them as texts and truths."""
from libc.stdint cimport uint32_t
from libcpp.string cimport string
from libcpp.vector cimport vector

from matcher_ext.requests.json_tape cimport Tape, Text, Token

# Finds the member of an object, the last of this name, or NOTHING.
cdef uint32_t get(
    const Tape* tape, uint32_t place, const char* name, size_t length
) noexcept nogil
# Finds a member that is not null, or NOTHING.
cdef uint32_t get_said(
    const Tape* tape, uint32_t place, const char* name, size_t length
) noexcept nogil
# Finds a member that is an object, or NOTHING.
cdef uint32_t get_object(
    const Tape* tape, uint32_t place, const char* name, size_t length
) noexcept nogil
# Finds the values at the end of a path, from this step on.
cdef void walk(
    const Tape* tape, uint32_t place, const vector[string]* path, size_t step,
    vector[uint32_t]* found
) noexcept nogil
# Writes a value as Python's str() does; False where only Python knows how.
cdef bint add_said(
    const Tape* tape, uint32_t place, string* text, bytes absent
) except -1
cdef bint add_whole(const Tape* tape, const Token* token, string* text) except -1
cdef bint is_truthy(const Tape* tape, const Token* token) except -1
# Tells whether a number is 0 or 1.
cdef bint is_bit(const Tape* tape, const Token* token) except -1
cdef bint is_said(
    const Tape* tape, const Token* token, const char* wanted, size_t length
) noexcept nogil
cdef bint is_ascii(Text text) noexcept nogil
cdef int set_lowered(string* target, Text text) except -1
