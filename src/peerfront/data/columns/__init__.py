"""What the columns of a study say, and which of them may be used."""
