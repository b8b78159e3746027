"""Words and shapes that templates of the live study need."""
