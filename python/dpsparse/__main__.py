"""Run the command line with ``python -m dpsparse``."""

from dpsparse.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
