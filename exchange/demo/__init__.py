"""Generates a seeded, believable exchange: parties, edges, campaigns, bookings and a log of visits.

Everything here is pure generation (same seed and reference date, same result) except `loading`,
`access`, `visit_log` and `service`, which put it into the database and the file system.
"""
