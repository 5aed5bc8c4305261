"""`python -m kolkhoz_train` is the command `kolkhoz`."""

import sys

from kolkhoz_train.cli.main import main

sys.exit(main())
