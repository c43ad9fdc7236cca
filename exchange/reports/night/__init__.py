"""Reads the tables that the night's jobs write, as people read them: which there are, who sees
which rows, what they show, and how they are taken along."""
