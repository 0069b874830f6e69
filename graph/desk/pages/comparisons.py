"""Compare: send a labelled file, watch every mode learn on it, read and keep the report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from starlette.datastructures import UploadFile
from starlette.responses import Response

from acegraph.graph.desk.desk import Desk, Page
from acegraph.graph.desk.jobs import REPORT, ComparisonJob
from acegraph.state.database.kept_values import forget, kept, kept_value
from acegraph.state.errors import InvalidInput

if TYPE_CHECKING:
    from acegraph.graph.desk.visit import Visit

_MOST_BYTES: Final = 200_000_000
_KINDS: Final = (".csv", ".json", ".jsonl")


def show_all(desk: Desk, visit: Visit, error: str = "", status: int = 200) -> Response:
    """The form, the comparison under way, and the reports that were kept."""
    reports = kept(desk.playbook.database, REPORT).items()
    found = {
        "reports": sorted(reports, key=lambda one: str(one[1]["at"]), reverse=True),
        "job": desk.comparison,
        "error": error,
        "label": visit.given("label") or ("is_fraud" if desk.playbook.task().reader else "answer"),
        "positive": visit.given("positive"),
    }
    return desk.page(visit, "compare.html", found, status)


def show_progress(desk: Desk, visit: Visit) -> Response:
    """How far a comparison has come; when it has ended, the page goes to its report."""
    job = desk.comparison
    if job is not None and not job.is_running and not job.failure:
        there = f"{visit.base}/compare/{job.id}"
        return Response(status_code=204, headers={"HX-Redirect": there})
    return desk.page(visit, "_progress.html", {"job": job})


def start(desk: Desk, visit: Visit) -> Response:
    """Compare on the file that was sent."""
    from acegraph.graph.data.files import FileLayout

    file, label = visit.form.get("file"), visit.given("label")
    try:
        if not isinstance(file, UploadFile) or not file.filename:
            raise InvalidInput("Choose a file first.")
        name = Path(file.filename.replace("\\", "/")).name[-100:]
        if Path(name).suffix.lower() not in _KINDS:
            raise InvalidInput(f"A file of {', '.join(_KINDS)} is wanted.")
        layout = FileLayout(
            None if label else "query", label or "answer", visit.given("positive") or None
        )
        if desk.comparison and desk.comparison.is_running:
            raise InvalidInput("Another comparison is under way: wait until it has ended.")
        desk.comparison = ComparisonJob(name, visit.user.name, layout)
        desk.comparison.start(desk.playbook, file.file)
    except InvalidInput as error:
        return show_all(desk, visit, str(error), 422)
    return desk.go(visit, "/compare")


def show_one(desk: Desk, visit: Visit) -> Response:
    """A report that was kept."""
    report_id = visit.part("id")
    report = kept_value(desk.playbook.database, REPORT + report_id)
    if report is None:
        raise InvalidInput("There is no such report; it may have been removed.")
    runs = {**report["found"]["modes"], **report["found"]["challengers"]}
    # The second halves are the same runs again, in part.
    lines = {name: of for name, of in runs.items() if not name.endswith("second_half")}
    found = {"id": report_id, "report": report, "lines": lines, "found": report["found"]}
    return desk.page(visit, "report.html", found)


def remove(desk: Desk, visit: Visit) -> Response:
    """Remove a report."""
    forget(desk.playbook.database, REPORT + visit.part("id"))
    return desk.go(visit, "/compare", "removed")


PAGES: Final = (
    Page("GET", "/compare", "viewer", show_all),
    Page("GET", "/compare/progress", "viewer", show_progress),
    Page("POST", "/compare", "analyst", start, most_bytes=_MOST_BYTES),
    Page("GET", "/compare/{id}", "viewer", show_one),
    Page("POST", "/compare/{id}/remove", "analyst", remove),
)
