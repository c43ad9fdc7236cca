"""Writes pieces of JSON behind what is there."""
from libc.stdint cimport uint64_t
from libcpp.string cimport string

cdef int add_bytes(string* text, bytes more) except -1
cdef void add_whole(string* text, uint64_t number) noexcept nogil
# Write a number of so many tenths or ten-thousandths, not negative: 12.5, 0.0001, 3.0.
cdef void add_tenths(string* text, uint64_t tenths) noexcept nogil
cdef void add_ten_thousandths(string* text, uint64_t parts) noexcept nogil
# Writes a text in quotation marks, with the escapes that JSON needs and no others.
cdef void add_text(string* text, const char* content, size_t length) noexcept nogil
