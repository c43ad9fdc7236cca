"""Owns bits, hashes and memory, whatever they mean: bitmaps, large pages, checksums, probing."""
