"""Packs what a layout holds and puts it into one buffer, section after section (plan.pxd)."""
from libcpp.vector cimport vector

from matcher_ext.freeze.layout cimport Layout

cdef void put_sections(
    Layout* layout, const char* catalog, size_t catalog_length, vector[char]* buffer
) noexcept nogil
