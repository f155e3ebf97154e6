"""``python -m robosim``: the command line, where its script is not on the path."""

from robosim.cli import main

if __name__ == "__main__":
    main()
