"""Run a live study: begin, serve, demonstrate, import, export, back up, restore, verify (`peerfront live`)."""
