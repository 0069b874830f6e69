"""`python -m acegraph.graph.cli`: the same as `acegraph`."""

from acegraph.graph.cli.main import main

if __name__ == "__main__":
    main()
