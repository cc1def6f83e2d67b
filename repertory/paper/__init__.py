"""The paper as data and theory: its experiments, published values, claims, examples and simulation."""
