"""Verdicts, comparisons, requirements, reports and plots are those of the command line."""

import json
import os
import subprocess

import pytest

import tardy


@pytest.fixture(scope="module")
def run(examples):
    return tardy.read(examples / "rt.run.json")


@pytest.fixture(scope="module")
def standard(examples):
    return tardy.read(examples / "standard.run.json")


def test_a_verdict_bounds_the_share(run):
    verdict = run.verdict("1ms")
    assert verdict["late_at_most"] == 0
    assert 0 < verdict["bound"]["upper"] < 0.01
    with pytest.raises(tardy.Error, match="limit: "):
        run.verdict("12")


def test_requirements_pass_fail_and_are_inconclusive(run):
    passed = tardy.gate(run, "max<1ms")
    assert passed and passed.outcome == "passed"
    failed = tardy.gate([run], ["max<1ms", "max<1us"])
    assert not failed and failed.outcome == "failed"
    assert [one["outcome"] for one in failed.data["judgements"]] == ["passed", "failed"]
    assert tardy.gate(run, "P(>1ms)<1e-9").outcome == "inconclusive"
    with pytest.raises(tardy.Error, match="require: "):
        tardy.gate(run, "quick")
    with pytest.raises(tardy.Error, match="nothing is required"):
        tardy.gate(run, [])


def test_a_comparison_of_one_run_each_is_descriptive(standard, run):
    comparison = tardy.compare(standard, run)
    assert "escriptive only" in comparison.text.replace("\n  ", " ")
    assert comparison.data["candidates"]
    with pytest.raises(tardy.Error, match="at least two runs"):
        tardy.compare(run)


def test_too_few_boots_have_no_test(standard, run):
    groups = tardy.compare_groups([standard], [run])
    assert groups.headline in groups.text.replace("\n  ", " ")
    assert groups.page.html.startswith("<!doctype html>") or "<html" in groups.page.html
    with pytest.raises(tardy.Error, match="factor"):
        tardy.compare_groups([standard], [run], factor="")


def test_a_report_and_a_plot_are_written(standard, run, tmp_path):
    tardy.report(standard, run).save(tmp_path / "a.html")
    assert "</html>" in (tmp_path / "a.html").read_text()
    plot = tardy.plot([standard, run], "exceedance", width=600, x_max="200us")
    plot.save(tmp_path / "a.svg")
    plot.save(tmp_path / "a.csv")
    assert (tmp_path / "a.svg").read_text().startswith("<svg")
    assert len((tmp_path / "a.csv").read_text().splitlines()) > 10
    with pytest.raises(tardy.Error, match="is not a kind of plot"):
        tardy.plot(run, "pie")
    with pytest.raises(tardy.Error, match="draws one run"):
        tardy.plot([standard, run], "heatmap")


def test_a_notebook_shows_a_run(run):
    html = run._repr_html_()
    assert "<svg" in html and "Latencies in" in html and "PREEMPT_RT" in html


def test_a_hostile_name_does_not_reach_a_page(examples):
    document = json.loads((examples / "rt.run.json").read_text())
    document["origin"]["name"] = "<script>alert(1)</script>"
    document["series"][0]["label"] = "<img src=x onerror=alert(1)>"
    run = tardy.read(json.dumps(document).encode())
    for page in (run._repr_html_(), run.series()._repr_html_(), tardy.report(run).html):
        assert "<script>alert" not in page and "<img src=x" not in page


COMMAND = os.environ.get("TARDY_COMMAND")


@pytest.mark.skipif(COMMAND is None, reason="TARDY_COMMAND does not name the command line's program")
def test_the_command_line_says_the_same(examples, tmp_path):
    def output(*arguments):
        return subprocess.run([COMMAND, *arguments], capture_output=True, text=True, check=True).stdout

    path = examples / "rt.run.json"
    run = tardy.read(path)
    assert json.loads(output("show", str(path), "--json"))["verdict"] == run.findings()["verdict"]
    output("report", str(path), "-o", str(tmp_path / "a.html"))
    assert (tmp_path / "a.html").read_text() == tardy.report(run).html
    output("plot", str(path), "-o", str(tmp_path / "a.svg"), "--data", str(tmp_path / "a.csv"))
    assert (tmp_path / "a.svg").read_text() == tardy.plot(run).svg
    assert (tmp_path / "a.csv").read_text() == tardy.plot(run).csv
