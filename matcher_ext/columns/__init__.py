"""Owns visits laid out by column, in blocks: the bytes of a table, how they are made and checked."""
