"""The records of a running study in a database (Django): rows that follow from a chain of events."""
