"""Calls the parser for the dynamic index, and describes its refusals (given_texts.pxd)."""
from cpython.unicode cimport PyUnicode_AsUTF8AndSize
from libc.stdint cimport uint32_t
from libcpp.vector cimport vector

from matcher_ext.index.dynamic_state cimport DynamicState
from matcher_ext.language.normal cimport normalise_texts
from matcher_ext.machine.links cimport NOTHING
from matcher_ext.nodes.definitions cimport find_unknown_name
from matcher_ext.values.normal_form cimport clear_form

from matcher_ext.language.errors import ExpressionError
from matcher_ext.language.reading import check_text
from matcher_ext.values.refusals import UnknownDefinitionError


cdef int read_texts(DynamicState index, list texts) except -1:
    cdef vector[const char*] starts
    cdef vector[size_t] lengths
    cdef Py_ssize_t length
    cdef str text
    for text in texts:
        try:
            starts.push_back(PyUnicode_AsUTF8AndSize(text, &length))
        except UnicodeEncodeError:
            length = 0          # an empty text is refused; check_text says why it really is
            starts.push_back(b"")
        lengths.push_back(<size_t>length)
    with nogil:
        clear_form(&index.form)
        normalise_texts(
            &index.catalog.table, starts.data(), lengths.data(), <uint32_t>starts.size(),
            True, &index.tree, &index.form,
        )
    return 0


cdef bint has_refused(DynamicState index):
    cdef uint32_t root
    for root in index.form.roots:
        if root == NOTHING:
            return True
    return False


cdef dict describe_refused(DynamicState index, ids, texts):
    errors = {}
    for entry_id, text in zip(ids, texts, strict=True):
        try:
            check_text(index.catalog, text, composed=True)
        except ExpressionError as error:
            errors[entry_id] = error
    return errors


cdef int check_names(DynamicState index) except -1:
    cdef uint32_t root, name
    if index.form.names.empty():
        return 0
    for root in index.form.roots:
        name = find_unknown_name(&index.store, &index.form, root)
        if name != NOTHING:
            span = index.form.names[name]
            text = index.form.bytes.data()[span.offset:span.offset + span.length].decode()
            raise UnknownDefinitionError(f"@{text} has no definition")
    return 0
