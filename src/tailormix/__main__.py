"""``python -m tailormix``: the command line, as ``torchrun -m tailormix`` starts it on every rank."""

from tailormix.cli.main import main

if __name__ == "__main__":
    main()
