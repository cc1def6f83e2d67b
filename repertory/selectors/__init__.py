"""Policy selectors: which policy of a library plays the next episode of a task."""
