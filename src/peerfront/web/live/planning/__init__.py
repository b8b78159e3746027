"""Plans of a running study: made by a worker process each night or on request, or at once for one person."""
