"""Base-learners: one file per algorithm, and the protocol that any learner can follow."""
