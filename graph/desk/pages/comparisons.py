"""Compare: send a labelled file, watch every mode learn on it, read and keep the report."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final

from starlette.datastructures import UploadFile
from starlette.responses import Response

from acegraph.graph.desk.desk import Desk, Page
from acegraph.graph.desk.jobs import page_of_report, remove_report, report, reports
from acegraph.graph.desk.visit import Visit
from acegraph.graph.server.access import NotAllowed
from acegraph.state.errors import InvalidInput

if TYPE_CHECKING:
    from acegraph.graph.desk.jobs import ComparisonJob

_MOST_BYTES: Final = 200_000_000
_KINDS: Final = (".csv", ".parquet", ".json", ".jsonl")
NAMES: Final = {
    "vanilla": "Without rules",
    "offline": "Rules from history",
    "online": "Learning from the stream",
    "offline_online": "History, then the stream",
    "logistic_regression": "Logistic regression",
    "depth_3_tree": "Decision tree of depth 3",
    "gradient_boosting": "Gradient boosting",
}


def show_all(desk: Desk, visit: Visit, error: str = "", status: int = 200) -> Response:
    """The form, the comparison under way, and the reports that were kept."""
    found = {"reports": reports(desk.playbook), "job": desk.jobs.comparison, "error": error}
    return desk.page(visit, "compare.html", found, status)


def show_progress(desk: Desk, visit: Visit) -> Response:
    """How far a comparison has come; when it has ended, the page goes to its report."""
    job: ComparisonJob | None = desk.jobs.comparison
    if job is not None and not job.is_running and not job.failure:
        there = f"{visit.base}/compare/{job.id}"
        return Response(status_code=204, headers={"HX-Redirect": there})
    return desk.page(visit, "_progress.html", {"job": job})


def start(desk: Desk, visit: Visit) -> Response:
    """Compare on the file that was sent."""
    file = visit.form.get("file")
    try:
        if not isinstance(file, UploadFile) or not file.filename:
            raise InvalidInput("Choose a file first.")
        name = Path(file.filename.replace("\\", "/")).name[:100]
        if Path(name).suffix.lower() not in _KINDS:
            raise InvalidInput(f"A file of {', '.join(_KINDS)} is wanted.")

        def write(place: Path) -> None:
            with place.open("xb") as target:
                shutil.copyfileobj(file.file, target)

        columns = (visit.given("label") or None, visit.given("positive") or None)
        desk.jobs.start_comparison(desk.playbook, name, visit.user.name, write, columns)
    except InvalidInput as error:
        return show_all(desk, visit, str(error), 422)
    return desk.go(visit, "/compare")


def show_one(desk: Desk, visit: Visit) -> Response:
    """A report that was kept."""
    kept = report(desk.playbook, visit.part("id"))
    found = kept["found"]
    runs = {**found["modes"], **found["challengers"]}
    lines = [
        {"name": NAMES.get(name, name.replace("_", " ")), "key": name, **figures}
        for name, figures in runs.items()
        if not name.endswith("second_half")  # the same runs again, in part
    ]
    has_page = page_of_report(desk.playbook, visit.part("id")) is not None
    return desk.page(
        visit, "report.html", {"report": kept, "lines": lines, "found": found, "has_page": has_page}
    )


def download(desk: Desk, visit: Visit) -> Response:
    """A report as JSON."""
    kept = report(desk.playbook, visit.part("id"))
    headers = {"Content-Disposition": 'attachment; filename="report.json"'}
    return Response(json.dumps(kept["found"], indent=1), 200, headers, "application/json")


def download_page(desk: Desk, visit: Visit) -> Response:
    """A report as the file that `acegraph compare --report` writes."""
    page = page_of_report(desk.playbook, visit.part("id"))
    if page is None:
        raise NotAllowed("This report has no page to download.", 404)
    headers = {"Content-Disposition": 'attachment; filename="report.html"'}
    return Response(page, 200, headers, "text/html")


def remove(desk: Desk, visit: Visit) -> Response:
    """Remove a report."""
    remove_report(desk.playbook, visit.part("id"))
    return desk.go(visit, "/compare", "removed")


PAGES: Final = (
    Page("GET", "/compare", "viewer", show_all),
    Page("GET", "/compare/progress", "viewer", show_progress),
    Page("POST", "/compare", "analyst", start, most_bytes=_MOST_BYTES),
    Page("GET", "/compare/{id}", "viewer", show_one),
    Page("GET", "/compare/{id}/report.json", "viewer", download),
    Page("GET", "/compare/{id}/report.html", "viewer", download_page),
    Page("POST", "/compare/{id}/remove", "analyst", remove),
)
