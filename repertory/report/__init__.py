"""Pictures, tables and progress for people."""
