"""One run: its spec, its folder, checkpoints, formats, and what is read back."""
