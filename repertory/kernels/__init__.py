"""Compiled parts shared by learners and domains: layers, optimisers, replay memories, random numbers."""
