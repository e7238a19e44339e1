"""`python -m evoenv` and the command `evoenv`: the one module that imports the command line."""

from evoenv.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
