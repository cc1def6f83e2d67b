"""One policy for many tasks: what helps a DQN or PPO to learn them one after another (`docs/single-policy.md`)."""
