"""Tables hold what the run file holds, in every kind of frame."""

import numpy
import pandas
import polars
import pyarrow
import pytest

import tardy

TABLES = ["facts", "series", "quantiles", "histogram", "slices", "maxima", "worst", "environment", "events"]


@pytest.fixture(scope="module")
def run(examples):
    return tardy.read(examples / "rt.run.json")


@pytest.mark.parametrize("name", TABLES)
def test_frames_hold_the_same_values(run, name):
    table = getattr(run, name)()
    assert len(table) > 0
    values = table.to_dict()
    assert table.to_polars().to_dict(as_series=False) == values
    assert pyarrow.table(table).to_pydict() == values
    frame = table.to_pandas()
    assert list(frame.columns) == table.columns
    for column, expected in values.items():
        got = [None if pandas.isna(value) else value for value in frame[column]]
        assert got == expected, column


def test_the_histograms_are_those_of_the_run_file(run):
    series = run.to_dict()["series"]
    for which, key in [("measured", "measured"), ("filled", "corrected")]:
        table = run.histogram(which).to_dict()
        rows = list(zip(table["series"], table["lower_ns"], table["upper_ns"], table["count"], strict=True))
        expected = [(index, *one) for index, of in enumerate(series) for one in of[key] or []]
        assert rows == expected
        assert rows, which


def test_a_bin_without_an_end_has_no_upper_edge(fixtures):
    table = tardy.read(fixtures / "cyclictest-2.4-hist.txt", unit="us").histogram().to_pandas()
    assert table["upper_ns"].isna().sum() == 2
    assert table["upper_ns"].dtype == "Int64"


def test_numbers_are_numpy_arrays(run):
    frame = run.histogram().to_pandas()
    assert frame["count"].dtype == numpy.dtype("uint64")
    assert frame["count"].sum() == sum(run.histogram()["count"])


def test_quantiles_have_intervals_that_contain_them(run):
    frame = run.quantiles().to_polars().drop_nulls()
    assert len(frame) > 0
    assert (frame["confidence_lower_ns"] <= frame["value_ns"]).all()
    assert (frame["value_ns"] <= frame["confidence_upper_ns"]).all()


def test_an_unknown_column_is_named(run):
    with pytest.raises(tardy.Error, match="there is no column 'latency'"):
        run.series()["latency"]


def test_a_table_in_a_notebook_is_harmless(run):
    html = tardy.Table(run._native.table("facts"))._repr_html_()
    assert "<th>section</th>" in html
    assert "<script" not in html


def test_samples_are_one_array(fixtures, tmp_path):
    raw = tardy.read_samples(fixtures / "jitterdebugger-samples.raw")
    assert isinstance(raw, numpy.memmap)
    imported = tardy.read(fixtures / "jitterdebugger-samples.raw", unit="us")
    assert len(raw) == sum(imported.series()["recorded"])
    assert raw["value"].max() * 1000 == max(imported.series()["max_ns"])
    text = tmp_path / "a.csv"
    text.write_text("phase,cpu,cycle,at_ns,latency_ns\n0,1,2,3,-4\n0,1,3,1003,5\n")
    samples = tardy.read_samples(text)
    assert samples["latency_ns"].tolist() == [-4, 5]
    assert samples["at_ns"].tolist() == [3, 1003]
    (tmp_path / "other").write_bytes(b"12345")
    with pytest.raises(tardy.Error, match="neither samples of tardy"):
        tardy.read_samples(tmp_path / "other")
