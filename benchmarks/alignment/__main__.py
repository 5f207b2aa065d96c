"""The command: see evaluate.py."""

from benchmarks.alignment.evaluate import main

main()
