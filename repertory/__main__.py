"""`python -m repertory`: the command, where its script is not on the path."""

from repertory.cli import main

main()
