"""Agents: what can live a lifetime. The library of policies with a selector is one, and the default."""
