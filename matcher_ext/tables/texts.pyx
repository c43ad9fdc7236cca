"""Parses texts and answers them over all blocks (texts.pxd)."""
import numpy

from cpython.unicode cimport PyUnicode_AsUTF8AndSize
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy
from libcpp.vector cimport vector

from matcher_ext.language.normal cimport normalise_texts
from matcher_ext.machine.links cimport NOTHING
from matcher_ext.plan.plan cimport Plan, PlanNode
from matcher_ext.tables.asking cimport Answer, Asker, ask_node, measure_need, open_block
from matcher_ext.tables.bound_index cimport BoundIndex
from matcher_ext.tables.questions cimport Question, add_form, order_children
from matcher_ext.tables.wording cimport plan_of_form, word_node
from matcher_ext.values.normal_form cimport NORMAL_AND, NormalForm
from matcher_ext.values.tree cimport Tree

from matcher_ext.language.reading import check_text
from matcher_ext.values.refusals import UnknownDefinitionError


cdef int parse_texts(BoundIndex bound, list texts, NormalForm* form) except -1:
    cdef vector[const char*] starts
    cdef vector[size_t] lengths
    cdef Py_ssize_t length = 0
    cdef Tree tree
    for text in texts:
        check_text(bound.catalog, text, composed=True)
        starts.push_back(PyUnicode_AsUTF8AndSize(text, &length))
        lengths.push_back(<size_t>length)
    with nogil:
        normalise_texts(
            &bound.catalog.table, starts.data(), lengths.data(), <uint32_t>starts.size(), True,
            &tree, form,
        )
    return 0


cdef int find_targets(
    BoundIndex bound, Question* question, const NormalForm* form, vector[uint32_t]* targets,
    vector[uint8_t]* is_edge,
) except -1:
    cdef size_t i
    cdef uint32_t node
    for i in range(form.names.size()):
        span = form.names[i]
        name = form.bytes.data()[span.offset:span.offset + span.length]
        node = bound.add_reach(question, name)
        if node == NOTHING:
            node = bound.definitions.get(name.decode(), NOTHING)
        if node == NOTHING:
            raise UnknownDefinitionError(f"@{name.decode()} has no definition")
        targets.push_back(node)
        is_edge.push_back(name.startswith(b"edge."))
    return 0


cdef void keep_all(Question* question, uint32_t first) noexcept nogil:
    """Keeps the answers of texts: their parts are asked for one by one as well."""
    cdef uint32_t i
    for i in range(first, <uint32_t>question.nodes.size()):
        question.nodes[i].is_kept = 1


cdef AskedTexts begin_texts(BoundIndex bound, list texts):
    cdef AskedTexts asked = AskedTexts.__new__(AskedTexts)
    cdef NormalForm* form = &asked.form
    cdef vector[uint32_t] targets
    cdef vector[uint8_t] is_edge
    cdef Question* question
    cdef Asker* asker
    cdef uint32_t base
    parse_texts(bound, texts, form)
    asked.bound = bound
    asked.thread = bound.take()
    question = &asked.thread.question
    asker = &asked.thread.asker
    asked.nodes = question.nodes.size()
    asked.children = question.children.size()
    asked.bounds = question.binding.bounds.size()
    asked.runs = question.binding.runs.size()
    asked.shapes = question.binding.shapes.size()
    asked.reaches = question.reaches.size()
    try:
        find_targets(bound, question, form, &targets, &is_edge)
        with nogil:
            base = add_form(
                question, bound.table, bound.columns.data(), form, targets.data(), is_edge.data()
            )
            order_children(question, <uint32_t>asked.nodes)
            keep_all(question, <uint32_t>asked.nodes)
            asker.answers.resize(2 * question.nodes.size(), Answer(NULL, 0))
            if bound.routes != NULL:
                measure_need(asker, <uint32_t>asked.reaches, <uint32_t>question.reaches.size())
    except BaseException:
        asked.end()
        raise
    asked.base = base
    asked.roots = [base + root for root in form.roots]
    return asked


cdef class AskedTexts:
    def conditions(self, uint32_t number):
        """Lists (text, node) of what a text is an `and` of."""
        cdef vector[PlanNode] nodes
        cdef Plan plan = plan_of_form(&self.form, &nodes)
        cdef uint32_t root = self.form.roots[number]
        cdef uint32_t i
        parts = [root]
        if nodes[root].kind == NORMAL_AND:
            parts = [plan.edges[nodes[root].first + i] for i in range(nodes[root].count)]
        return [(word_node(&plan, self.bound.catalog, part), self.base + part) for part in parts]

    cdef int end(self) except -1:
        cdef Question* question = &self.thread.question
        cdef Asker* asker = &self.thread.asker
        question.nodes.resize(self.nodes)
        question.children.resize(self.children)
        question.binding.bounds.resize(self.bounds)
        question.binding.runs.resize(self.runs)
        question.binding.shapes.resize(self.shapes)
        question.reaches.resize(self.reaches)
        asker.answers.resize(2 * self.nodes)
        if self.bound.routes != NULL:
            measure_need(asker, 0, <uint32_t>self.reaches)
        return self.bound.give_back(self.thread)


cdef int ask_blocks(Asker* asker, uint32_t root, uint64_t** targets) except -1 nogil:
    """Copies the rows of which a node is true and false, block by block; the rest is unknown."""
    cdef const uint64_t* rows
    cdef uint64_t first
    cdef uint32_t block, i
    cdef int wanted
    for block in range(asker.table.block_count):
        open_block(asker, block)
        first = asker.table.blocks[block].first_word
        for wanted in range(2):
            rows = ask_node(asker, root, wanted)
            memcpy(targets[1 - wanted] + first, rows, 8 * <size_t>asker.words)
        for i in range(asker.words):
            targets[2][first + i] = asker.every[i] & ~(
                targets[0][first + i] | targets[1][first + i]
            )
    return 0


cdef tuple ask_text(BoundIndex bound, str text, uint64_t words):
    cdef AskedTexts asked = begin_texts(bound, [text])
    cdef uint64_t* targets[3]
    cdef uint64_t[::1] view
    cdef uint32_t root = asked.roots[0]
    cdef int i
    found = [numpy.zeros(max(words, <uint64_t>1), dtype=numpy.uint64) for _ in range(3)]
    for i in range(3):
        view = found[i]
        targets[i] = &view[0]
    with nogil:
        ask_blocks(&asked.thread.asker, root, targets)
    asked.end()
    return tuple(each[:words].view(numpy.uint8) for each in found)
