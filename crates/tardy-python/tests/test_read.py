"""Files are opened, or refused with the message of the command line."""

import gzip
import subprocess
import sys

import pytest

import tardy

def test_a_run_file_keeps_every_byte(examples):
    text = (examples / "rt.run.json").read_text()
    assert tardy.read(examples / "rt.run.json").to_json() == text
    assert tardy.read(text.encode()).to_json() == text


def test_every_recorded_file_opens_or_says_what_it_lacks(fixtures):
    opened = 0
    for path in sorted(fixtures.iterdir()):
        try:
            run = tardy.read(path)
        except tardy.Error as error:
            assert str(path) in str(error) and "--" in str(error), error
        else:
            opened += 1
            # These count failures or operations, and measure no latency.
            assert len(run.series()) > 0 or path.name.startswith(("ssdd", "stress-ng")), path
    assert opened > 20


def test_what_a_file_does_not_state_is_asked_for_and_given(fixtures):
    path = fixtures / "cyclictest-2.4-hist.txt"
    with pytest.raises(tardy.Error, match="does not state its unit"):
        tardy.read(path)
    assert tardy.read(path, unit="us").series()["max_ns"][0] == 1000 * tardy.read(path, unit="ns").series()["max_ns"][0]


def test_content_and_compressed_files_are_the_same_run(fixtures, tmp_path):
    content = (fixtures / "cyclictest-2.10.json").read_bytes()
    compressed = tmp_path / "a.json.gz"
    compressed.write_bytes(gzip.compress(content))
    expected = tardy.read(content).series().to_dict()
    assert tardy.read(compressed).series().to_dict() == expected
    assert tardy.read(memoryview(content)).series().to_dict() == expected


@pytest.mark.parametrize(
    ("content", "arguments", "expected"),
    [
        (b"", {}, "is empty"),
        (b"\x00\x01binary", {}, "format"),
        (b'{"schema_version":999}', {}, "999"),
        (b"x", {"format": "nonsense"}, "'nonsense' is not a format"),
        (b"x", {"unit": "weeks"}, "unit: 'weeks' is not one of us, ns"),
    ],
)
def test_bad_input_is_an_error_that_names_it(content, arguments, expected):
    with pytest.raises(tardy.Error, match=expected):
        tardy.read(content, **arguments)


def test_a_missing_file_is_an_os_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        tardy.read(tmp_path / "none.json")


def test_formats_have_descriptions():
    assert "cyclictest" in tardy.formats()["cyclictest"]


def test_importing_the_package_imports_no_frames():
    code = (
        "import sys, tardy; "
        "print([name for name in ('numpy', 'pandas', 'polars', 'pyarrow') if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
