"""`python -m ingest`: the command, for where it is not on the path."""

from ingest.cli.main import main

if __name__ == "__main__":
    main()
