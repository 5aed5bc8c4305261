"""The command `kolkhoz`, which is `python -m kolkhoz_train` as well."""

import sys


def main() -> int:
    """Run the command; Ctrl-C is heard from the first moment on, while modules are loaded too."""
    try:
        from kolkhoz_train.cli.main import main as run

        return run()
    except KeyboardInterrupt:
        print("kolkhoz: stopped", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
