"""From a study's files to a checked study, its schema and its history, and back to files."""
