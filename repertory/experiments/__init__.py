"""Running lifetimes and keeping what comes of them."""
