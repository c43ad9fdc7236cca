"""Owns the way from a request's bytes to what it asks: JSON visits, bid requests."""

from matcher_ext.requests.bid_sources import BidReader
from matcher_ext.requests.json_visits import Stamps

__all__ = ["BidReader", "Stamps"]
