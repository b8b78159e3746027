"""Plans inside a running study: made in a worker process, each night or on a click; and for one person at once."""
