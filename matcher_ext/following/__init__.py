"""Owns matching in an ad server's own process: fetches, keeps and answers."""

from matcher_ext.following.downloading import DownloadError
from matcher_ext.following.follower import Follower, NoStateError, StaleStateError, Status
from matcher_ext.following.kept_files import FolderInUseError

__all__ = [
    "DownloadError",
    "FolderInUseError",
    "Follower",
    "NoStateError",
    "StaleStateError",
    "Status",
]
