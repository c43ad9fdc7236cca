from tests.people import alice, operator

__all__ = ["alice", "operator"]
