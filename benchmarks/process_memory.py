"""The memory of a process; apart from the rest, so that a measured process imports nothing else."""

from pathlib import Path


def peak_mb() -> int:
    """The most memory that this process has had; `getrusage` would count that of its parent."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) // 1024 for line in lines if line.startswith("VmHWM"))
