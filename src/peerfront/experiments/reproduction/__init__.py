"""The paper's table and figure beside ours: what is run, how it is kept, and how it is told."""
