"""The lifetime itself: Algorithm 1, episodes, seeds, task sequences, the tally of blocks and their scores."""
