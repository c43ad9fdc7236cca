"""Opens an empty state, and forgets what was frozen (dynamic_state.pxd)."""
import threading

from matcher_ext.nodes.shared_nodes cimport open_store


cdef class DynamicState:
    def __cinit__(self, *args, **options):
        self.lock = threading.Lock()
        self.added = set()
        self.dead = set()
        self.redefined = set()
        self.answers = []
        self.nodes = None
        self.reaches = {}
        self.borrowed = set()
        open_store(&self.store)

    cdef int _change(self) except -1:
        self.frozen = None
        self.view = None
        return 0
