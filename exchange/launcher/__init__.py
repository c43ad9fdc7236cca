"""Sets the project up and runs all of it on one machine: servers, web, worker and beat.

It owns processes, their logs and the folder `var/run`. It knows nothing about the market: what
happens in the database is asked of management commands.
"""
