"""Owns bits, hashes and memory, without a meaning: bitmaps, large pages, checksums, probing."""
