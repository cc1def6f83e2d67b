"""Task domains."""
