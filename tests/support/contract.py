"""Let schemathesis call the service as its own description says, and otherwise.

`python tests/support/contract.py` starts `acegraph serve` on a playbook with a rule, a decision and
a question, and runs schemathesis beside it (by uv, which needs the network once). It ends with 1
where an answer is not as described, or the service fails.
"""

import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

from acegraph.graph.operations.decide import decide_many
from acegraph.state import BulletPlaybook
from acegraph.state.maintenance.people.users import add_user

CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,"
    "response_headers_conformance,response_schema_conformance,unsupported_method"
)


def main(*words: str) -> int:
    """What schemathesis says."""
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/ace.db"
        with BulletPlaybook(url) as book:
            book.add_bullet("DECLINE when amount >= 900", "fraud_detection")
            book.add_bullet("APPROVE when hour < 2", "fraud_detection", status="candidate")
            token = f"ann.{add_user(book.database, 'ann', 'administrator')}"
            decide_many(book, [{"transaction": {"amount": 20}, "decision_id": "order-1"}])
        with socket.create_server(("127.0.0.1", 0)) as free:
            place = f"http://127.0.0.1:{(port := free.getsockname()[1])}"
        programs = Path(sys.executable).parent
        command = [programs / "acegraph", "--playbook", url, "serve", "--port", str(port)]
        service = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        try:
            wait_for(f"{place}/ready")
            tool = [sys.executable, "-m", "uv", "tool", "run", "schemathesis"]
            user = ("--header", f"Authorization: Bearer {token}")
            run = [*tool, "run", f"{place}/openapi.json", "--checks", CHECKS, *user, *words]
            return subprocess.run(run, cwd=folder, check=False).returncode
        finally:
            service.terminate()
            service.wait(30)


def wait_for(address: str, seconds: float = 60) -> None:
    """Ask until there is an answer."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        try:
            urllib.request.urlopen(address, timeout=5).close()
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.1)
        else:
            return


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
