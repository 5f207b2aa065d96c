"""The command: see evaluate.py."""

from benchmarks.choosing.evaluate import main

main()
