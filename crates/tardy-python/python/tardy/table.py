"""Tables: named columns that become a frame of polars or pandas, or a dict of lists."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas
    import polars

    from tardy._native import NativeTable

#: The most rows that a notebook shows.
_SHOWN = 20


class Table:
    """Columns of the same length. Times end in `_ns`; a value that is unknown or does not apply is missing.

    A table has the Arrow PyCapsule interface: `polars.DataFrame(table)` and `pyarrow.table(table)` take it as it is.
    """

    def __init__(self, native: NativeTable) -> None:
        self._native = native

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self._native.columns()

    def __len__(self) -> int:
        return len(self._native)

    def __getitem__(self, column: str) -> list[Any]:
        """The values of a column, `None` where one is missing."""
        return self._native.values(column)

    def to_dict(self) -> dict[str, list[Any]]:
        """Every column as a list."""
        return {name: self._native.values(name) for name in self.columns}

    def to_polars(self) -> polars.DataFrame:
        """A frame of polars, by the Arrow C interface."""
        import polars

        return polars.DataFrame(self)

    def to_pandas(self) -> pandas.DataFrame:
        """A frame of pandas, from NumPy columns. Whole numbers with missing values have pandas' types `Int64` and `UInt64`."""
        import numpy
        import pandas

        columns: dict[str, Any] = {}
        for name in self.columns:
            buffer = self._native.buffer(name)
            if buffer is None:
                texts: Any = self._native.values(name)
                columns[name] = pandas.array(texts, dtype="string")
                continue
            kind, content, missing = buffer
            values = numpy.frombuffer(content, dtype=kind)
            mask = numpy.frombuffer(missing, dtype="?")
            if not mask.any():
                columns[name] = values
            elif kind == "f8":
                columns[name] = numpy.where(mask, numpy.nan, values)
            else:
                columns[name] = pandas.arrays.IntegerArray(values.copy(), mask.copy())
        return pandas.DataFrame(columns)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._native.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"<tardy.Table of {len(self)} rows: {', '.join(self.columns)}>"

    def _repr_html_(self) -> str:
        names = self.columns
        shown = [self[name][:_SHOWN] for name in names]
        heads = "".join(f"<th>{escape(name)}</th>" for name in names)
        rows = "".join(
            "<tr>" + "".join(f"<td>{_cell(value)}</td>" for value in row) + "</tr>" for row in zip(*shown)
        )
        more = len(self) - _SHOWN
        remark = f"<p>{more:,} more rows</p>" if more > 0 else ""
        return f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>{remark}"


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:,.3f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return escape(str(value))
