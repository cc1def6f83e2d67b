"""The cursor of a replay memory: what its numbers are, `cursor[at.HEAD]` and so on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Cursor = NDArray[np.int64]

# The first four belong to all kinds.
(CAPACITY, KIND, SAMPLING, HELD) = range(4)
# A ring: next slot to write, slots in use; with episodes, the table's first entry and how many there are.
(HEAD, USED, FIRST_EPISODE, EPISODE_COUNT) = range(4, 8)
# Finished episodes: experiences written in this pass, episodes written in it, start and length of the running one.
(WRITTEN, PLACE, START, LENGTH) = range(8, 12)
# Matching: unused slots, size of the heap, the queue of the newest and its capacity, slot of the running episode.
(FREE_COUNT, HEAP_COUNT, QUEUE_FIRST, QUEUE_COUNT, PROTECTED, OPEN) = range(12, 18)
# Bits of an observation whose elements take two values, 0 if they take more; first steps of an episode not to draw.
(BITS, LEAD) = range(18, 20)
SIZE = 20
FIXED = [CAPACITY, KIND, SAMPLING, PROTECTED, BITS, LEAD]
"""The places that settings decide."""
