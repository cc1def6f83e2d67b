"""A policy that `repertory save RUN policy.npz --task 0` wrote, at work with NumPy alone: python FILE policy.npz"""

import sys

import gymnasium
import numpy as np

policy, env = np.load(sys.argv[1]), gymnasium.make("CartPole-v1")
(observation, _info), actions, is_over = env.reset(seed=0), [], False
while not is_over:
    hidden = np.maximum(observation @ policy["w1"] + policy["b1"], 0)
    hidden = np.maximum(hidden @ policy["w2"] + policy["b2"], 0)
    actions.append(int(np.argmax(hidden @ policy["w3"] + policy["b3"])))
    observation, _reward, terminated, truncated, _info = env.step(actions[-1])
    is_over = terminated or truncated
print(len(actions), "steps:", *actions)
