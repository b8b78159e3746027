"""In a browser: one person's files (`app`), a running study of several people (`live`), and their shared `pages`."""
