"""Writes nodes of a plan or a form in words of the language, for answers that name conditions."""
from libc.stdint cimport uint32_t
from libcpp.vector cimport vector

from matcher_ext.plan.plan cimport Plan, PlanNode
from matcher_ext.values.catalog cimport CompiledCatalog
from matcher_ext.values.normal_form cimport NormalForm

cdef str word_node(const Plan* plan, CompiledCatalog catalog, uint32_t node)
# Lets a plan point to a form, as far as word_node reads it; `nodes` is the memory of it.
cdef Plan plan_of_form(const NormalForm* form, vector[PlanNode]* nodes) except *
