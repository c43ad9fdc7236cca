"""Owns visits laid out by column, in blocks: the bytes of a table, made and checked."""
