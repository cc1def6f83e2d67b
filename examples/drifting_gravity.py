"""Gravity changes in steps, and nobody says when: Gymnasium's CartPole on three planets, told apart by how it falls.

python examples/drifting_gravity.py
"""

import argparse

import gymnasium

import repertory
from repertory.analysis.hidden import contexts_of_episodes, inference_of

GRAVITIES = {"Moon": 1.6, "Earth": 9.8, "Jupiter": 24.8}


class CartPoleOn(gymnasium.Wrapper):
    """CartPole-v1 with another gravity."""

    def __init__(self, gravity: float) -> None:
        super().__init__(gymnasium.make("CartPole-v1"))
        self.unwrapped.gravity = gravity


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--blocks", type=int, default=12)
    parser.add_argument("--block-steps", type=int, default=1500)
    options = parser.parse_args()

    planets = list(GRAVITIES)
    domain = repertory.Domain("planets", tuple(planets), lambda task: CartPoleOn(GRAVITIES[planets[task]]))
    record = repertory.live(
        domain,
        repertory.DQN(learning_starts=500),
        policies=3,
        blocks=options.blocks,
        block_steps=options.block_steps,
        agent=repertory.InferTasks(max_contexts=8),
        hidden_tasks=True,
    )

    contexts, episode = contexts_of_episodes(record.blocks), 0
    for block, task, episodes in record.blocks[["block", "task", "episodes"]].itertuples(index=False):
        played = contexts[episode : episode + episodes]
        moves = [f"{c} from episode {e}" for e, c in enumerate(played) if e == 0 or c != played[e - 1]]
        print(f"block {block:2d} on {planets[task]:8s}context {', '.join(moves)}")
        episode += episodes
    found = inference_of(record.blocks)
    print(
        f"{found.contexts} contexts for {record.blocks['task'].nunique()} planets, noticed after {found.detection:.0f}"
    )


if __name__ == "__main__":
    main()
