"""`python -m repertory`: the command, where its script is not on the path."""

from repertory.cli import main

if __name__ == "__main__":
    main()
