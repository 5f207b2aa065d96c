"""How fast and how large polyref is, each number beside its peers' in the same run: `python -m benchmarks`.

In:   captions that are made up here, or real data (`--data FOLDER`).
Out:  a table a topic, on the terminal and in docs/benchmarks.md.
Not:  tests: no number fails a run.
"""

import os

# One core each: numpy's threads would help some peers and not others. Must be set before numpy is imported.
THREAD_SETTINGS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
os.environ.update(dict.fromkeys(THREAD_SETTINGS, "1"))
