"""The command `kolkhoz`: one module a command, listed in `kolkhoz_train.cli.main.COMMANDS`."""

import os

# Before numpy is loaded: for the small products of an agent its BLAS would keep a thread a core,
# which spin for a while after each and take the processor from torch's threads. Training with half
# of the tables against the heuristic was slowed by a third.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
