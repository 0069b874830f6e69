"""The report as a file: its figures are those of the command, and nothing in it runs or is fetched.

The page is looked at in a real browser where there is one.
"""

import csv
import json
import re
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from acegraph.graph import generate_transactions
from acegraph.graph.cli.main import app
from acegraph.graph.experiments.experiment import Experiment
from acegraph.graph.experiments.report.page import report_page, write_report
from acegraph.graph.metrics.records import Counts, Record
from acegraph.graph.metrics.run import Run
from acegraph.graph.training.report import TrainingReport
from acegraph.state import Bullet, Condition

CHROMIUM = Path("/usr/bin/chromium")
HOSTILE = [
    "<script>window.hit = 1</script>",
    "</title></style></svg><script>window.hit = 1</script>",
    '"><img src=x onerror="window.hit = 1">',
    "'><svg onload='window.hit = 1'>",
    '" autofocus onfocus="window.hit = 1" x="',
    "<iframe srcdoc='<script>parent.hit = 1</script>'></iframe>",
    "<a href=\"javascript:window.hit = 1\">x</a><base href='//evil.example/'>",
    '<link rel="stylesheet" href="https://evil.example/x"><meta http-equiv="refresh" content="0">',
    "{{ 7 * 7 }}{% raw %}{{ experiment.__class__ }}",
    "--><!--<script>window.hit = 1</script>",
    "<math><mtext><table><mglyph><style><img src=x onerror=window.hit=1>",
    "&lt;script&gt;window.hit = 1&lt;/script&gt; \u202e <plaintext>",
]


class Cells(HTMLParser):
    """The figures of a page: the `data` elements of each cell, by row and by name of the figure."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.values: dict[tuple[str, str], list[float]] = {}
        self.row = self.figure = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        known = {name: value or "" for name, value in attributes}
        if tag == "tr":
            self.row = known.get("id", "")
        elif tag == "td":
            self.figure = known.get("data-figure", "")
        elif tag == "data" and self.row and self.figure:
            place = self.values.setdefault((self.row, self.figure), [])
            place.append(float(known["value"]))

    def handle_endtag(self, tag: str) -> None:
        if tag == "tr":
            self.row = ""


def some_run(seed: int) -> Run:
    rng = np.random.default_rng(seed)
    run = Run()
    for i in range(120):
        risk = float(rng.random())
        truth = "DECLINE" if rng.random() < risk else "APPROVE"
        run.add(truth, "DECLINE" if risk > 0.5 else "APPROVE", risk, str(i))
    run.amounts = [10.0] * 120
    return run


def experiment_of(text: str) -> Experiment:
    """A small experiment in which a text stands wherever data can put one."""
    evidence = {"fires": 9, "precision": 0.8, "precision_low": 0.5, "precision_high": 0.9}
    bullet = Bullet("b1", text, "fraud_detection", evidence=evidence)
    graded = Condition.parse(f"DECLINE by x: 0, {json.dumps(text)} +1.5, missing +0.25")
    curve = Bullet("b2", graded.render(), "fraud_detection", condition=graded)
    trained = TrainingReport(80, 9, 0, 0, 1, 1, Run(), evidence=80, since_change=80)
    return Experiment(
        modes={"vanilla": [some_run(1)], "offline_online": [some_run(2)]},
        baselines={"logistic_regression": [some_run(3)]},
        training=[trained],
        bullets=[bullet, curve],
        records=dict.fromkeys(("b1", "b2"), Record(text, "DECLINE", 80, fired=Counts(9, 7, 2))),
        group_values={text: [[text, "other"] * 60]},
        data=text,
        split=text,
        model=text,
        notes=[text],
    )


@pytest.fixture
def cards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file whose name, columns and values are markup."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "cards <b>&amp;.csv"
    rows = [
        {**e.fields, "<i>gender": f"<u>{'FM'[i % 2]}", "is_fraud": e.answer}
        for i, e in enumerate(generate_transactions(60, seed=1))
    ]
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def expected(figures: Mapping[str, Any], name: str) -> list[float]:
    """A figure of the JSON as numbers, in the order in which the page has them."""
    figure: Any = figures
    path = {
        "against_vanilla": ("against", "balanced_accuracy"),
        "cost_against_vanilla": ("against", "cost_per_1000"),
    }
    for key in path.get(name, (name,)):
        figure = figure[key]
    if isinstance(figure, Mapping):
        figure = [figure["mean"], figure["low"], figure["high"]]
    return [x for x in (figure if isinstance(figure, list) else [figure]) if x is not None]


def check_figures(page: str, figures: Mapping[str, Any]) -> None:
    """Every figure of every table is that of the JSON."""
    ways, cells = figures["modes"] | figures["challengers"], Cells(page).values
    shown = {(place, name) for place, name in cells if place.partition("-")[2] in ways}
    assert set(ways) == {place.partition("-")[2] for place, _ in shown if "decisions" in place}
    for place, name in shown:
        way = ways[place.partition("-")[2]]
        assert cells[place, name] == expected(way, name), (place, name)
    assert len(shown) >= 10 * len(ways)
    for bullet in figures["bullets"]:
        tested = bullet["on_test_cases"]
        names = ("precision", "precision_low", "precision_high") if tested["fired"]["fires"] else ()
        found = cells.get((f"bullet-{bullet['id']}", "on_test_cases"), [])
        assert found == [tested[name] for name in names]


@pytest.mark.slow
def test_the_figures_of_the_report_are_those_of_the_json(cards: Path) -> None:
    words = ["compare", str(cards), "--label", "is_fraud", "--baselines", "none"]
    words += ["--as", "<i>gender=protected", "--json", "--report", "out/report.html"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    page = Path("out/report.html").read_text()
    check_figures(page, json.loads(done.stdout))
    assert "cards &lt;b&gt;&amp;amp;.csv" in page
    assert "&lt;u&gt;F" in page
    assert str(cards.parent) not in page  # a colleague need not know where the file was
    assert len(page.encode()) < 2_000_000
    assert "Report: out/report.html" in done.stderr


@pytest.fixture(scope="module")
def hostile() -> tuple[Experiment, str]:
    """An experiment of hostile texts, and its report."""
    experiment = experiment_of(" ".join(HOSTILE))
    return experiment, report_page(experiment)


@pytest.mark.slow
def test_the_figures_of_other_learners_are_those_of_the_json(
    hostile: tuple[Experiment, str],
) -> None:
    experiment, page = hostile
    check_figures(page, json.loads(json.dumps(experiment.to_json())))


def test_a_report_that_cannot_be_written_is_refused_before_any_work(cards: Path) -> None:
    done = CliRunner().invoke(app, ["compare", "nowhere.csv", "--report", "report.pdf"])
    assert "a report is .html, not 'report.pdf'" in str(done.exception)


def test_a_report_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("the one before")
    with pytest.raises(StopIteration):
        write_report(Experiment(), path)
    assert path.read_text() == "the one before"
    assert list(tmp_path.iterdir()) == [path]


def test_what_was_not_decided_is_a_stroke_and_no_error() -> None:
    nothing = Run(["APPROVE", "DECLINE"], ["UNDECIDED", "UNDECIDED"], [None, None])
    modes = ("vanilla", "offline", "offline_online", "online")
    assert "Nothing was learned" in report_page(Experiment({mode: [nothing] for mode in modes}))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if not CHROMIUM.exists():
        pytest.skip("no browser: apt install chromium")
    sync_api = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


def looked_at(browser: Any, file: Path) -> dict[str, Any]:
    """What a browser without a network makes of a page."""
    context = browser.new_context(offline=True)
    context.set_default_timeout(300_000)  # on a busy machine
    page = context.new_page()
    requests: list[str] = []
    complaints: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(file.as_uri())
    found: dict[str, Any] = page.evaluate(
        """() => {
          const all = [...document.querySelectorAll("*")];
          const ids = all.map((e) => e.id).filter((id) => id);
          const names = all.flatMap((e) => e.getAttributeNames());
          return {
            hit: window.hit === undefined ? null : window.hit,
            doubled: ids.filter((id, i) => ids.indexOf(id) !== i),
            handlers: names.filter((n) => n.startsWith("on") || n === "autofocus" || n === "src"),
            odd: all.map((e) => e.localName).filter((n) => ["script", "img", "iframe", "a", "base",
              "link", "object", "form", "math", "plaintext", "foreignObject"].includes(n)),
            pictures: document.querySelectorAll("figure svg").length,
            sections: document.querySelectorAll("main > section").length,
            overflow: document.documentElement.scrollWidth > window.innerWidth,
            title: document.title,
          };
        }"""
    )
    context.close()
    return {**found, "requests": requests, "complaints": complaints}


@pytest.mark.parametrize("with_policy", [True, False])
def test_no_text_of_the_data_becomes_markup(
    browser: Any, tmp_path: Path, hostile: tuple[Experiment, str], with_policy: bool
) -> None:
    """Neither with the page's own policy against scripts nor, by escaping alone, without it."""
    page = hostile[1]
    assert page.count("evil.example") >= 20  # in the title, tables, bullets, groups
    drawn = page.partition('class="curve"')[2].partition("</svg>")[0]
    assert re.findall(r">(0|\+[\d.]+|missing)<", drawn) == ["0", "+1.5", "+0.25", "missing"]
    if not with_policy:
        page = re.sub(r"<meta http-equiv=\"Content-Security-Policy\"[^>]*>", "", page)
    file = tmp_path / "report.html"
    file.write_text(page)
    found = looked_at(browser, file)
    assert found["hit"] is None
    assert (found["odd"], found["handlers"], found["doubled"]) == ([], [], [])
    assert (found["requests"], found["complaints"]) == ([file.as_uri()], [])
    assert (found["pictures"], found["sections"], found["overflow"]) == (2, 8, False)
    assert HOSTILE[0] in found["title"]
