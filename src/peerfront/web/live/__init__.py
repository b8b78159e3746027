"""A running study in a browser: its rules, the records of what happened, screens, planning and operations."""
