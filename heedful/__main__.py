"""`python -m heedful` is the `heedful` command."""

from heedful.cli import main

if __name__ == "__main__":
    main()
