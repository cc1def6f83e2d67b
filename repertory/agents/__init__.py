"""Agents: what chooses the policy of every episode. The library of policies with a selector is the default."""
