"""Task capacity: how many tasks one policy can hold."""
