"""``python -m sidelight``."""

from sidelight.cli import main

if __name__ == "__main__":
    main()
