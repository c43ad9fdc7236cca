"""Owns bits and memory, without a meaning: bitmaps, large pages, checksums."""
