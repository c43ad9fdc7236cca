"""Counts the truths of predicates; only those of attributes that a visit carries are tested."""
from libc.stdint cimport uint32_t
from libcpp.vector cimport vector

from matcher_ext.nodes.store cimport NodeStore, view_store
from matcher_ext.values.catalog cimport CatalogTable, CompiledCatalog
from matcher_ext.values.normal_form cimport NORMAL_PREDICATE
from matcher_ext.values.predicate cimport PRESENT, TRUE, Predicate
from matcher_ext.visits.dict_reader cimport read_visit
from matcher_ext.visits.predicate_tests cimport test_predicate
from matcher_ext.visits.visit cimport Visit


cdef void group_predicates(
    const NodeStore* store, const CatalogTable* table, vector[vector[uint32_t]]* groups
) noexcept nogil:
    """Groups predicates by attribute; behind them come those that a visit without the attribute may
    meet."""
    cdef const Predicate* predicate
    cdef size_t i
    groups.resize(table.attributes.size() + 1)
    for i in range(store.nodes.size()):
        if store.nodes[i].uses and store.nodes[i].kind == NORMAL_PREDICATE:
            predicate = &store.predicates[store.nodes[i].first]
            if predicate.test == PRESENT:
                groups[0].back().push_back(store.nodes[i].first)
            else:
                groups[0][predicate.attribute].push_back(store.nodes[i].first)


cdef void count_group(
    const NodeStore* store,
    const CatalogTable* table,
    const vector[uint32_t]* group,
    const Visit* visit,
    vector[uint32_t]* counts,
) noexcept nogil:
    cdef size_t i
    for i in range(group.size()):
        counts[0][group[0][i]] += TRUE == test_predicate(
            view_store(store), &store.predicates[group[0][i]], table, visit
        )


cdef void count_truths(
    const NodeStore* store,
    const CatalogTable* table,
    const vector[vector[uint32_t]]* groups,
    const Visit* visit,
    vector[uint32_t]* counts,
) noexcept nogil:
    cdef size_t i
    for i in range(visit.carried.size()):
        count_group(store, table, &groups[0][visit.carried[i]], visit, counts)
    count_group(store, table, &groups[0].back(), visit, counts)


cdef int learn_rates(NodeStore* store, CompiledCatalog catalog, object visits) except -1:
    cdef Visit visit
    cdef vector[uint32_t] counts
    cdef vector[vector[uint32_t]] groups
    cdef uint32_t seen = 0
    cdef size_t i
    group_predicates(store, &catalog.table, &groups)
    counts.assign(store.predicates.size(), 0)
    for mapping in visits:
        read_visit(catalog, mapping, &visit)
        seen += 1
        with nogil:
            count_truths(store, &catalog.table, &groups, &visit, &counts)
    if seen:
        for i in range(counts.size()):
            store.rates[i] = (counts[i] + <float>0.1) / (seen + <float>0.2)
    return 0


cdef object check_rate(object text, object rate):
    try:
        number = float(rate)
    except (TypeError, ValueError):
        raise ValueError(f"the truth rate of {text!r} is {rate!r}: not a number") from None
    if not 0.0 <= number <= 1.0:
        raise ValueError(f"the truth rate of {text!r} is {rate!r}: not between 0 and 1")
    return number
