"""Work that tests let other processes do; as a script, work that ends only by an interruption."""

import os
import signal
import sys
import time

from acegraph.graph.experiments.jobs import side_by_side
from acegraph.nodes.runtime.usage import begin_call


def ask(number: int) -> tuple[int, int]:
    """Count a call of a model; tell the number and the process."""
    begin_call("scripted")
    return number, os.getpid()


def sleep(_: int) -> None:
    """Say that the work began, and go on for ever."""
    os.write(1, b"began\n")  # at once: two processes write
    time.sleep(600)


if __name__ == "__main__":
    # Whatever started the tests may ignore interruptions.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        list(side_by_side(sleep, range(2), 2))
    except KeyboardInterrupt:
        sys.exit("interrupted")
