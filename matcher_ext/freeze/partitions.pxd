"""Writes the records that one value finds (plan.pxd), below guards or by seller.

A guard is worth its test when several records need the same definition. References are taken by
how many of the partition's records need them, the commonest first: edges near the publisher come
out above those near the advertiser, without anybody saying what a path is.
"""
from matcher_ext.freeze.layout cimport Layout

cdef void put_partitions(Layout* layout) noexcept nogil
