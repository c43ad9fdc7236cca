"""The language's door for Python: trees, normal forms and problems as Python objects.

Trees are built by the caller's own constructors, so that this package needs nothing of the
packages above it. The bulk path makes no Python object per node and runs without the GIL.
"""
from cpython.unicode cimport PyUnicode_AsUTF8AndSize
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libcpp.vector cimport vector

from matcher_ext.language.normal cimport normalise, normalise_texts
from matcher_ext.language.parser cimport parse_text
from matcher_ext.machine.links cimport NOTHING
from matcher_ext.values.catalog cimport CatalogTable, CompiledCatalog
from matcher_ext.values.normal_form cimport (
    NORMAL_AND, NORMAL_FALSE, NORMAL_OR, NORMAL_PREDICATE, NORMAL_REFERENCE, NORMAL_TRUE,
    NormalForm, NormalNode, clear_form, view_predicates,
)
from matcher_ext.values.predicate cimport (
    BOOLEAN, FALSE, FLOAT, GEO, INTEGER, INTEGER_SET, PRESENT, TRUE, UNDEFINED, Predicate, Truth,
    float_of, holds_text,
)
from matcher_ext.values.problems cimport NOT_UNICODE, UNKNOWN_LIST
from matcher_ext.values.spans cimport Span, text_length, text_offset
from matcher_ext.values.tree cimport (
    NODE_CONDITION, NODE_FALSE, NODE_NOT, NODE_REFERENCE, NODE_TRUE, Condition, Node, Tree,
)
from matcher_ext.visits.dict_reader cimport read_visit
from matcher_ext.visits.predicate_tests cimport test_predicate
from matcher_ext.visits.visit cimport Visit, has_required

from matcher_ext.language.errors import ExpressionError, describe_problem
from matcher_ext.language.words import NODES, OPERATORS, TESTS

cdef enum:
    CHUNK = 1024


cdef const char* utf8_of(str text, size_t* length) except NULL:
    cdef Py_ssize_t size = 0
    cdef const char* data = PyUnicode_AsUTF8AndSize(text, &size)
    length[0] = <size_t>size
    return data


cdef int parse_into(CompiledCatalog catalog, str text, bint composed, Tree* tree) except -1:
    """Parses; raises ExpressionError with all the problems of the text."""
    cdef size_t length = 0
    cdef const char* data
    try:
        data = utf8_of(text, &length)
    except UnicodeEncodeError as error:
        found = (NOT_UNICODE, error.start, 1, NOTHING, 0)
        raise ExpressionError(text, (describe_problem(found, text, None, catalog),)) from None
    with nogil:
        parse_text(&catalog.table, data, length, composed, tree)
    if not tree.problems.empty():
        raise ExpressionError(text, describe_problems(catalog, text, tree))
    return 0


cdef tuple describe_problems(CompiledCatalog catalog, str text, const Tree* tree):
    cdef bytes encoded = text.encode()
    cdef uint32_t i
    described = []
    for i in range(<uint32_t>tree.problems.size()):
        found = (
            tree.problems[i].code, tree.problems[i].start, tree.problems[i].length,
            tree.problems[i].attribute, tree.problems[i].other,
        )
        described.append(describe_problem(found, text, encoded, catalog))
    found_order = dict.fromkeys(described)
    return tuple(sorted(found_order, key=lambda problem: (problem.line, problem.column)))


def check_text(CompiledCatalog catalog, str text, *, bint composed=False):
    """Raises ExpressionError where `normalise` would refuse the text; returns nothing."""
    cdef Tree tree
    cdef uint32_t i
    parse_into(catalog, text, composed, &tree)
    if catalog.table.knows_lists:
        return
    encoded = text.encode()
    for i in range(<uint32_t>tree.conditions.size()):
        if tree.conditions[i].list_name != NOTHING:
            name = tree.names[tree.conditions[i].list_name]
            found = (UNKNOWN_LIST, name.offset - 1, name.length + 1, NOTHING, 0)
            raise ExpressionError(text, (describe_problem(found, text, encoded, catalog),))


def read_tree(CompiledCatalog catalog, str text, constructors, *, bint composed=False):
    """Makes a text's tree by `constructors`, a mapping by the words in words.NODES and `note`:

    and, or, xor, xnor: (children, notes); not: (child, notes); constant: (value, notes);
    reference: (name, notes); note: (text, disabled); predicate: (attribute, operator, operands,
    negated, counted, list name or None, notes).
    """
    cdef Tree tree
    parse_into(catalog, text, composed, &tree)
    builder = TreeBuilder(catalog, text.encode(), constructors)
    builder.gather_notes(&tree)
    return builder.build(&tree, tree.root)


def find_references(CompiledCatalog catalog, str text):
    """Lists names and places (start, length in code points) of a correct text's `@name`s."""
    cdef Tree tree
    cdef uint32_t i
    parse_into(catalog, text, False, &tree)
    encoded = text.encode()
    found = []
    for i in range(<uint32_t>tree.nodes.size()):
        if tree.nodes[i].kind == NODE_REFERENCE:
            span = tree.names[tree.nodes[i].first]
            name = encoded[span.offset : span.offset + span.length].decode()
            found.append((name, len(encoded[: span.offset - 1].decode()), span.length + 1))
    return found


def find_spans(CompiledCatalog catalog, str text):
    """Lists the places (start, end in code points) of a correct text's nodes, in the order of a
    walk: parents first, left to right. A group's place is without the brackets around it."""
    cdef Tree tree
    cdef list found = []
    parse_into(catalog, text, False, &tree)
    gather_spans(&tree, tree.root, found)
    if text.isascii():
        return found
    points = count_points(text)
    return [(points[start], points[end]) for start, end in found]


cdef int gather_spans(const Tree* tree, uint32_t number, list found) except -1:
    cdef const Node* node = &tree.nodes[number]
    cdef uint32_t i
    found.append((node.start, node.end))
    if node.kind <= NODE_NOT:
        for i in range(node.count):
            gather_spans(tree, tree.edges[node.first + i], found)
    return 0


def count_points(str text):
    """Lists, for each byte of the text and its end, how many code points begin before it."""
    points = []
    for number, character in enumerate(text):
        points.extend([number] * len(character.encode()))
    points.append(len(text))
    return points


cdef class TreeBuilder:
    cdef CompiledCatalog catalog
    cdef bytes text
    cdef dict notes         # node -> tuple of notes
    cdef tuple makers       # by NodeKind
    cdef object make_note

    def __init__(self, CompiledCatalog catalog, bytes text, constructors):
        self.catalog = catalog
        self.text = text
        self.notes = {}
        self.makers = tuple(constructors[name] for name in NODES)
        self.make_note = constructors["note"]

    cdef int gather_notes(self, const Tree* tree) except -1:
        cdef uint32_t i
        for i in range(<uint32_t>tree.notes.size()):
            span = tree.notes[i].span
            note = self.make_note(
                self.text[span.offset : span.offset + span.length].decode(),
                bool(tree.notes[i].disabled),
            )
            owner = tree.notes[i].owner
            self.notes[owner] = (*self.notes.get(owner, ()), note)
        return 0

    cdef object build(self, const Tree* tree, uint32_t number):
        cdef const Node* node = &tree.nodes[number]
        cdef tuple notes = self.notes.get(number, ()) if self.notes else ()
        cdef uint32_t i
        make = self.makers[<Py_ssize_t>node.kind]
        if node.kind == NODE_CONDITION:
            return self.build_predicate(tree, &tree.conditions[node.first], make, notes)
        if node.kind == NODE_REFERENCE:
            return make(self.name(tree, node.first), notes)
        if node.kind == NODE_TRUE or node.kind == NODE_FALSE:
            return make(node.kind == NODE_TRUE, notes)
        if node.kind == NODE_NOT:
            return make(self.build(tree, tree.edges[node.first]), notes)
        children = tuple([
            self.build(tree, tree.edges[node.first + i]) for i in range(node.count)
        ])
        return make(children, notes)

    cdef str name(self, const Tree* tree, uint32_t number):
        cdef Span span = tree.names[number]
        return self.text[span.offset : span.offset + span.length].decode()

    cdef object build_predicate(
        self, const Tree* tree, const Condition* condition, object make, tuple notes
    ):
        cdef bint managed = condition.list_name != NOTHING
        return make(
            self.catalog.names[<Py_ssize_t>condition.attribute],
            OPERATORS[<Py_ssize_t>condition.op],
            () if managed else operands_of(&self.catalog.table, tree, condition),
            bool(condition.negated),
            bool(condition.counted),
            self.name(tree, condition.list_name) if managed else None,
            notes,
        )


cdef tuple operands_of(const CatalogTable* table, const Tree* tree, const Condition* condition):
    cdef uint8_t type = table.attributes[condition.attribute].type
    cdef const int64_t* words = tree.words.data() + condition.first
    cdef uint32_t i
    if condition.raw_count > 0:
        words = tree.raw.data() + condition.raw_first
        return tuple([text_at(tree.bytes.data(), words[i]) for i in range(condition.raw_count)])
    if condition.counted or type == INTEGER or type == INTEGER_SET:
        return tuple([words[i] for i in range(condition.count)])
    if type == BOOLEAN:
        return tuple([bool(words[i]) for i in range(condition.count)])
    if type == FLOAT or type == GEO:
        return tuple([float_of(words[i]) for i in range(condition.count)])
    return tuple([text_at(tree.bytes.data(), words[i]) for i in range(condition.count)])


cdef str text_at(const char* pool, int64_t word):
    cdef const char* start = pool + text_offset(word)
    return start[:text_length(word)].decode()


def normalise_many(CompiledCatalog catalog, list texts, *, bint composed=False):
    """Normalises many texts, for measuring and checking: (nodes, predicates, failed).

    Works chunk by chunk, like the index, so that form and tree stay in the cache.
    """
    cdef vector[const char*] starts
    cdef vector[size_t] lengths
    cdef size_t length = 0
    cdef size_t done = 0
    cdef size_t nodes = 0
    cdef size_t predicates = 0
    cdef uint32_t failed = 0
    cdef uint32_t count
    cdef NormalForm form
    cdef Tree tree
    for text in texts:
        starts.push_back(utf8_of(text, &length))
        lengths.push_back(length)
    with nogil:
        while done < starts.size():
            count = <uint32_t>min(<size_t>CHUNK, starts.size() - done)
            clear_form(&form)
            failed += normalise_texts(
                &catalog.table, &starts[done], &lengths[done], count, composed, &tree, &form
            )
            nodes += form.nodes.size()
            predicates += form.predicates.size()
            done += count
    return nodes, predicates, failed


cdef class Normal:
    """One expression in normal form. Immutable; answers visits with the compiled tests."""
    cdef CompiledCatalog catalog
    cdef NormalForm form

    def __init__(self, CompiledCatalog catalog, str text, *, bint composed=False):
        cdef Tree tree
        cdef size_t length = 0
        self.catalog = catalog
        parse_into(catalog, text, composed, &tree)
        cdef const char* data = utf8_of(text, &length)
        if normalise(&catalog.table, data, &tree, &self.form) == NOTHING:
            check_text(catalog, text, composed=composed)

    def size(self):
        """Counts the nodes that the root reaches, each once."""
        seen = set()
        waiting = [self.form.roots[0]]
        while waiting:
            number = waiting.pop()
            if number not in seen:
                seen.add(number)
                waiting.extend(self._children(number))
        return len(seen)

    def _children(self, uint32_t number):
        cdef const NormalNode* node = &self.form.nodes[number]
        cdef uint32_t i
        if node.kind != NORMAL_AND and node.kind != NORMAL_OR:
            return []
        return [self.form.edges[node.first + i] for i in range(node.count)]

    def to_json(self):
        """Makes nested lists and dicts, predicates with the names and words of predicate.pxd."""
        return self._document(self.form.roots[0])

    def _document(self, uint32_t number):
        cdef const NormalNode* node = &self.form.nodes[number]
        if node.kind == NORMAL_TRUE or node.kind == NORMAL_FALSE:
            return node.kind == NORMAL_TRUE
        if node.kind == NORMAL_REFERENCE:
            name = self._name(node.first)
            return {"reference": name, "negated": bool(node.negated)}
        if node.kind == NORMAL_PREDICATE:
            return self._predicate(&self.form.predicates[node.first])
        kind = "and" if node.kind == NORMAL_AND else "or"
        return {kind: [self._document(child) for child in self._children(number)]}

    cdef object _name(self, uint32_t number):
        cdef Span span = self.form.names[number]
        cdef const char* start = self.form.bytes.data() + span.offset
        return start[:span.length].decode()

    cdef object _predicate(self, const Predicate* predicate):
        cdef const int64_t* words = self.form.words.data() + predicate.first
        cdef uint32_t i
        if holds_text(predicate.type, predicate.test):
            values = [text_at(self.form.bytes.data(), words[i]) for i in range(predicate.count)]
        elif predicate.type == GEO or (predicate.type == FLOAT and predicate.test != PRESENT):
            values = [float_of(words[i]) for i in range(predicate.count)]
        else:
            values = [words[i] for i in range(predicate.count)]
        return {
            "attribute": self.catalog.names[<Py_ssize_t>predicate.attribute],
            "test": TESTS[<Py_ssize_t>predicate.test],
            "negated": bool(predicate.negated),
            "values": values,
        }

    def evaluate(self, visit, references=None):
        """Returns True, False or None. `references` answers `@name`s; one that it lacks is
        undefined.

        A required attribute that is missing makes it False: the visit matches nothing.
        """
        answer = self._evaluate(visit, references or {}, False)
        return None if answer == UNDEFINED else answer == TRUE

    def matches(self, visit, references=None):
        """Says what the index says (the paper's zero suppression): undefined counts as false."""
        return self._evaluate(visit, references or {}, True) == TRUE

    cdef Truth _evaluate(self, visit, references, bint suppress) except *:
        cdef Visit compiled
        cdef vector[Truth] truths
        cdef Truth truth
        cdef uint32_t i
        read_visit(self.catalog, visit, &compiled)
        if not has_required(&self.catalog.table, &compiled):
            return FALSE
        for i in range(<uint32_t>self.form.nodes.size()):
            truth = self._test(i, &compiled, &truths, references)
            truths.push_back(FALSE if suppress and truth == UNDEFINED else truth)
        return truths[self.form.roots[0]]

    cdef Truth _test(
        self, uint32_t number, const Visit* visit, const vector[Truth]* truths, references
    ) except *:
        cdef const NormalNode* node = &self.form.nodes[number]
        cdef Truth decisive = FALSE if node.kind == NORMAL_AND else TRUE
        cdef Truth answer = TRUE if node.kind == NORMAL_AND else FALSE
        cdef uint32_t i
        if node.kind == NORMAL_PREDICATE:
            return test_predicate(
                view_predicates(&self.form), &self.form.predicates[node.first],
                &self.catalog.table, visit,
            )
        if node.kind == NORMAL_REFERENCE:
            known = references.get(self._name(node.first))
            return UNDEFINED if known is None else TRUE if known != bool(node.negated) else FALSE
        if node.kind == NORMAL_TRUE or node.kind == NORMAL_FALSE:
            return TRUE if node.kind == NORMAL_TRUE else FALSE
        for i in range(node.count):
            child = truths[0][self.form.edges[node.first + i]]
            if child == decisive:
                return decisive
            if child == UNDEFINED:
                answer = UNDEFINED
        return answer


def read_warnings(CompiledCatalog catalog, visit):
    """Lists the attributes whose value in the visit has the wrong type, ascending by name."""
    cdef Visit compiled
    cdef uint32_t i
    read_visit(catalog, visit, &compiled)
    return sorted({
        catalog.names[compiled.malformed[i]]
        for i in range(<uint32_t>compiled.malformed.size())
    })
