"""Parts that know nothing of the field: errors, randomness, tables, networks, checked settings."""
