"""Run `peerfront` as a module: `python -m peerfront`."""

from peerfront.cli.main import main

if __name__ == "__main__":
    main()
