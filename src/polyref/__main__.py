"""`python -m polyref`."""

from polyref.cli import main

if __name__ == "__main__":
    main()
