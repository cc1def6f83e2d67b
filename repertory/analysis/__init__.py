"""What runs come to: capacity, controls, recommendation, clusters, statistics."""
