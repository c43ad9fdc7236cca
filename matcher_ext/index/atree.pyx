"""Lets Python change and match the dynamic index. Nothing changes when a call raises."""
import numpy

from libc.stdint cimport int64_t, uint32_t
from libcpp.vector cimport vector

from matcher_ext.index.dynamic_state cimport DynamicState
from matcher_ext.index.freezing cimport PATCH_FROM, freeze_index, view_index
from matcher_ext.index.given_texts cimport check_names, describe_refused, has_refused, read_texts
from matcher_ext.index.reaches cimport (
    add_false, add_reach_of, check_reaches, find_reach, give_routes,
)
from matcher_ext.index.snapshot cimport Snapshot
from matcher_ext.index.truth_rates cimport check_rate, learn_rates
from matcher_ext.machine.links cimport NOTHING
from matcher_ext.nodes.definitions cimport add_definition, collect_references, find_definition
from matcher_ext.nodes.interning cimport intern_roots
from matcher_ext.nodes.shared_nodes cimport begin_form, find, intern, release, replace_definition
from matcher_ext.plan.graph cimport copy_node, find_plan_definition, is_reach, names_below
from matcher_ext.values.catalog cimport CompiledCatalog
from matcher_ext.values.normal_form cimport NORMAL_PREDICATE, clear_form

from matcher_ext.index.answers import SlotAnswers, match_beside
from matcher_ext.language.reading import check_text
from matcher_ext.values.refusals import (
    DefinitionCycleError,
    DuplicateIdError,
    RefusedExpressionsError,
    UnknownDefinitionError,
    UnknownIdError,
)

cdef enum:
    CHUNK = 512         # texts that are normalised at a time: their form stays in the caches


cdef class ATree(DynamicState):
    """An index of expressions by 64-bit integer ids, for one catalogue.

    A text may refer to definitions as `@name`; those are read through one node each, so that
    defining a name again is one operation, whatever the number of expressions that use it.
    """

    def __cinit__(
        self, catalog, *, patch_from=PATCH_FROM, reorganise=False, self_adjust=False, search_cap=64
    ):
        """Makes an empty index. From `patch_from` entries on, few changes are matched beside the
        last freeze.

        `reorganise` lets new expressions use nodes that stand for several of their conditions,
        `self_adjust` lets old ones use new nodes, each looking at `search_cap` nodes at most:
        smaller and slower to build, where expressions are parts of one another.
        """
        self.catalog = compile_catalog(catalog)
        self.patch_from = patch_from
        self.store.reorganise = reorganise
        self.store.self_adjust = self_adjust
        self.store.search_cap = search_cap

    def __len__(self):
        return self.roots.size()

    def __contains__(self, entry_id):
        return self.roots.count(entry_id) > 0

    def insert(self, entry_id, expression):
        """Adds one entry. The id must be new."""
        try:
            self.insert_many([entry_id], [expression])
        except RefusedExpressionsError as refused:
            raise refused.errors[entry_id] from None

    def insert_many(self, ids, expressions):
        """Adds many entries, or none at all if any of them is refused."""
        ids = list(ids)
        cdef vector[int64_t] numbers = ids
        cdef list texts = [text_of(expression) for expression in expressions]
        cdef size_t start, done = 0
        if numbers.size() != <size_t>len(texts):
            raise ValueError(f"{numbers.size()} ids for {len(texts)} expressions")
        with self.lock:
            self._check_new(numbers)
            try:
                for start in range(0, numbers.size(), CHUNK):
                    read_texts(self, texts[start:start + CHUNK])
                    if has_refused(self):
                        raise RefusedExpressionsError(describe_refused(self, ids, texts))
                    check_names(self)
                    check_reaches(self, False)
                    self._add_chunk(ids[start:start + CHUNK])
                    done = min(start + CHUNK, numbers.size())
            except BaseException:
                for entry_id in ids[:done]:
                    self._remove(entry_id)
                raise
            if self.base is not None:
                self.added.update(ids)
            self._change()

    def delete(self, entry_id):
        """Removes one entry. The id must be present."""
        with self.lock:
            if not self.roots.count(entry_id):
                raise UnknownIdError(f"id {entry_id} is not in the index")
            self._remove(entry_id)
            if entry_id in self.added:
                self.added.discard(entry_id)
            else:
                self.dead.add(entry_id)
            self._change()

    def define(self, str name, expression):
        """Gives `@name` its meaning, or a new one."""
        cdef bytes encoded = name.encode()
        cdef uint32_t root, definition
        with self.lock:
            if name in self.reaches:
                raise ValueError(f"@{name} is answered by the graph and has no other meaning")
            if any(name in answers.names for answers in self.answers):
                raise ValueError(f"@{name} is answered by code and has no other meaning")
            text = text_of(expression)
            read_texts(self, [text])
            if has_refused(self):
                check_text(self.catalog, text, composed=True)
            check_names(self)
            check_reaches(self, True)
            begin_form(&self.store, &self.form)
            root = intern(&self.store, &self.form, self.form.roots[0])
            definition = find_definition(&self.store, encoded, len(encoded))
            if definition == NOTHING:
                add_definition(&self.store, encoded, len(encoded), root)
            elif self.form.names.size() and self._reaches(root, definition):
                release(&self.store, root)
                raise DefinitionCycleError(f"@{name} would refer to itself")
            else:
                replace_definition(&self.store, definition, root)
                self.redefined.add(name)
            self._change()

    def answer_slots(self, names, function, asks=()):
        """Lets code say if definitions are true: see answers.pxd. A new name becomes a definition.

        A saved snapshot keeps no code: there they are never true, until `Snapshot.answer_slots`.
        """
        answers = SlotAnswers(names, function, asks)
        for name in answers.names:
            if name in self.reaches or any(name in other.names for other in self.answers):
                raise ValueError(f"@{name} has an answer already")
        for name in answers.names:
            if not self.has_definition(name):
                self.define(name, "false")
        with self.lock:
            self.answers.append(answers)
            self.base = None        # what is frozen does not know of it
            self._change()

    def set_routes(self, names, links, labels, sources, *, spare=(), attribute="publisher.id"):
        """Gives the index the exchange graph, or a new one.

        `names` by party, in whose order ties go; `links` are (edge id, seller, buyer, what the fee
        leaves of 10,000), each with a definition `edge.<id>`; `labels` by party are what answers
        call it, and for `sources`, the publishers, what a visit carries as `attribute`. `spare` are
        ids of edges that have a definition and may come into the graph later (rerouting.pyx).
        """
        with self.lock:
            give_routes(self, names, links, labels, sources, spare, attribute)
            self.base = None        # what is frozen knows another graph
            self._change()

    def define_reach(self, party, hops):
        """Returns the name of a definition that is true if the visit's publisher reaches the party
        within some hops over edges that the visit satisfies. It cannot be negated, nor used in
        another."""
        with self.lock:
            name = find_reach(self, party, hops)
            if name not in self.reaches:
                add_reach_of(self, name, party, hops)
                self.base = None
                self._change()
        return name

    def match(self, visit):
        """Returns the ids whose expressions are true of the visit, ascending."""
        return numpy.sort(self.match_ids(visit)).tolist()

    def match_ids(self, visit):
        """Returns the same ids as a numpy array, in no promised order."""
        base, overlay, beside = self._view()
        if beside is None:
            return base.match_ids(visit)
        return match_beside(base.match_ids, overlay, beside, visit)[0]

    def match_with_warnings(self, visit):
        """Matches and names malformed attributes, as `Snapshot.match_with_warnings` does."""
        base, overlay, beside = self._view()
        if beside is None:
            return base.match_with_warnings(visit)
        matched, malformed = match_beside(base.match_with_warnings, overlay, beside, visit)
        return numpy.sort(matched), malformed

    def _view(self):
        with self.lock:
            return view_index(self)

    def learn_truth_rates(self, visits):
        """Measures how often each predicate is true of a sample; the next freeze goes by it."""
        with self.lock:
            learn_rates(&self.store, self.catalog, visits)
            self.frozen = None

    def set_truth_rates(self, rates):
        """Takes measured rates by the text of a predicate; returns how many are in the index."""
        cdef uint32_t node
        known = 0
        rates = {text: check_rate(text, rate) for text, rate in rates.items()}
        with self.lock:
            for text, rate in rates.items():
                read_texts(self, [text])
                node = NOTHING
                if not has_refused(self):
                    begin_form(&self.store, &self.form)
                    node = find(&self.store, &self.form, self.form.roots[0])
                if node != NOTHING and self.store.nodes[node].kind == NORMAL_PREDICATE:
                    self.store.rates[self.store.nodes[node].first] = rate
                    known += 1
            self.frozen = None
        return known

    def has_definition(self, str name):
        cdef bytes encoded = name.encode()
        return find_definition(&self.store, encoded, len(encoded)) != NOTHING

    def copy_definition(self, Snapshot snapshot, str name):
        """Takes over a definition, and those that it refers to, unless the name has one here."""
        cdef uint32_t definition, root
        cdef vector[uint32_t] copies
        cdef bytes encoded = name.encode()
        if self.has_definition(name):
            return
        definition = find_plan_definition(&snapshot.plan, encoded)
        if definition == NOTHING:
            raise UnknownDefinitionError(f"@{name} has no definition")
        if is_reach(&snapshot.plan, definition):
            with self.lock:
                add_false(self, name)
                self.borrowed.add(name)
                self._change()
            return
        snapshot._thaw()
        for other in names_below(&snapshot.plan, snapshot.plan.definitions[definition].root):
            self.copy_definition(snapshot, other)
        with self.lock:
            clear_form(&self.form)
            copies.assign(snapshot.plan.node_count, NOTHING)
            root = copy_node(
                &snapshot.plan, snapshot.plan.definitions[definition].root, &copies, &self.form
            )
            begin_form(&self.store, &self.form)
            root = intern(&self.store, &self.form, root)
            add_definition(&self.store, encoded, len(encoded), root)
            self._change()

    def why_not(self, visit, ids):
        """Tells why entries do not match, as `Snapshot.why_not` does."""
        return self.freeze().why_not(visit, ids)

    def to_graphviz(self, entry_id):
        """Draws an entry's nodes, as `Snapshot.to_graphviz` does."""
        return self.freeze().to_graphviz(entry_id)

    def freeze(self):
        """Returns the index as it is now, immutable: the same snapshot until something changes."""
        with self.lock:
            return freeze_index(self)

    def stats(self):
        """Returns the sizes of the index."""
        with self.lock:
            return {
                "entries": self.roots.size(),
                "nodes": self.store.live,
                "edges": self.store.live_links,
                "predicates": self.store.predicates.size() - self.store.free_predicates.size(),
                "definitions": self.store.definitions.size(),
            }

    def _check_new(self, vector[int64_t] ids):
        cdef int64_t entry_id
        if len(set(ids)) != <Py_ssize_t>ids.size():
            raise DuplicateIdError("an id is given twice")
        for entry_id in ids:
            if self.roots.count(entry_id):
                raise DuplicateIdError(f"id {entry_id} is already in the index")

    def _add_chunk(self, vector[int64_t] ids):
        cdef vector[uint32_t] nodes
        cdef size_t i
        with nogil:
            begin_form(&self.store, &self.form)
            intern_roots(&self.store, &self.form, &nodes)
            for i in range(ids.size()):
                self.roots[ids[i]] = nodes[i]

    def _remove(self, int64_t entry_id):
        release(&self.store, self.roots[entry_id])
        self.roots.erase(entry_id)

    def _reaches(self, uint32_t root, uint32_t definition):
        cdef vector[uint32_t] found
        collect_references(&self.store, root, &found)
        return definition in list(found)


def compile_catalog(catalog):
    """Returns a CompiledCatalog as it is, or the one that a catalogue of the language carries."""
    if isinstance(catalog, CompiledCatalog):
        return catalog
    return catalog.compiled


def text_of(expression):
    """Returns an expression's text; a plain text is its own."""
    return expression if isinstance(expression, str) else expression.text
