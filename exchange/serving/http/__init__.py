"""Speaks HTTP/1.1 with ad servers, by events: a slow client costs a socket and nothing else.

The parser (httptools: llhttp) and the loop (uvloop: libuv) are libraries; here are the rules of a
connection, of all connections together, and of what an endpoint looks like.
"""
