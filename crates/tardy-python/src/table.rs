//! A table: named columns of one type each, with missing values.

use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, RecordBatchIterator, StringArray,
    UInt64Array,
};
use arrow_schema::{Field, Schema};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyList};

use crate::error::error;

/// The values of one column; `None` is a missing value.
#[derive(Clone, Debug)]
pub(crate) enum Column {
    Unsigned(Vec<Option<u64>>),
    Signed(Vec<Option<i64>>),
    Number(Vec<Option<f64>>),
    Flag(Vec<Option<bool>>),
    Text(Vec<Option<String>>),
}

/// Columns of the same length.
#[pyclass(frozen, module = "tardy._native")]
pub(crate) struct NativeTable {
    columns: Vec<(&'static str, Column)>,
}

/// The type of an array's values for NumPy, the values, and which are missing.
type Buffer<'py> = (&'static str, Bound<'py, PyBytes>, Bound<'py, PyBytes>);

/// The name under which the Arrow PyCapsule interface looks for a stream
/// (<https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>).
const STREAM: &std::ffi::CStr = c"arrow_array_stream";

impl NativeTable {
    pub(crate) fn new(columns: Vec<(&'static str, Column)>) -> Self {
        debug_assert!(columns.windows(2).all(|pair| pair[0].1.len() == pair[1].1.len()));
        Self { columns }
    }

    fn column(&self, name: &str) -> PyResult<&Column> {
        let found = self.columns.iter().find(|(one, _)| *one == name);
        found.map(|(_, column)| column).ok_or_else(|| {
            error(format!("there is no column '{name}'; the table has {}", self.columns().join(", ")))
        })
    }
}

#[pymethods]
impl NativeTable {
    /// The names of the columns.
    fn columns(&self) -> Vec<&'static str> {
        self.columns.iter().map(|(name, _)| *name).collect()
    }

    fn __len__(&self) -> usize {
        self.columns.first().map_or(0, |(_, column)| column.len())
    }

    /// The values of a column as Python objects.
    fn values<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        match self.column(name)? {
            Column::Unsigned(values) => PyList::new(py, values),
            Column::Signed(values) => PyList::new(py, values),
            Column::Number(values) => PyList::new(py, values),
            Column::Flag(values) => PyList::new(py, values),
            Column::Text(values) => PyList::new(py, values),
        }
    }

    /// The values of a column of numbers as the bytes of a NumPy array: its type, the values with 0 for missing ones, and for each
    /// value whether it is missing (1) or not (0). `None` for a column of texts.
    fn buffer<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Option<Buffer<'py>>> {
        let of = |(kind, values, missing): (&'static str, Vec<u8>, Vec<u8>)| {
            Some((kind, PyBytes::new(py, &values), PyBytes::new(py, &missing)))
        };
        Ok(match self.column(name)? {
            Column::Unsigned(values) => of(bytes("u8", values, u64::to_ne_bytes)),
            Column::Signed(values) => of(bytes("i8", values, i64::to_ne_bytes)),
            Column::Number(values) => of(bytes("f8", values, f64::to_ne_bytes)),
            Column::Flag(values) => of(bytes("?", values, |flag| [u8::from(flag)])),
            Column::Text(_) => None,
        })
    }

    /// The table as a stream of Arrow's C data interface, with a single batch. A requested schema is ignored, as the interface
    /// allows.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batch = self.batch().map_err(|reason| error(reason.to_string()))?;
        let schema = batch.schema();
        let stream = FFI_ArrowArrayStream::new(Box::new(RecordBatchIterator::new([Ok(batch)], schema)));
        PyCapsule::new_with_value(py, stream, STREAM)
    }
}

impl NativeTable {
    fn batch(&self) -> Result<RecordBatch, arrow_schema::ArrowError> {
        let arrays: Vec<ArrayRef> = self.columns.iter().map(|(_, column)| column.array()).collect();
        let field = |((name, _), array): (&(&'static str, Column), &ArrayRef)| {
            Field::new(*name, array.data_type().clone(), true)
        };
        let schema = Schema::new(self.columns.iter().zip(&arrays).map(field).collect::<Vec<_>>());
        RecordBatch::try_new(Arc::new(schema), arrays)
    }
}

impl Column {
    fn len(&self) -> usize {
        match self {
            Self::Unsigned(values) => values.len(),
            Self::Signed(values) => values.len(),
            Self::Number(values) => values.len(),
            Self::Flag(values) => values.len(),
            Self::Text(values) => values.len(),
        }
    }

    fn array(&self) -> ArrayRef {
        match self {
            Self::Unsigned(values) => Arc::new(UInt64Array::from(values.clone())),
            Self::Signed(values) => Arc::new(Int64Array::from(values.clone())),
            Self::Number(values) => Arc::new(Float64Array::from(values.clone())),
            Self::Flag(values) => Arc::new(BooleanArray::from(values.clone())),
            Self::Text(values) => Arc::new(StringArray::from_iter(values.iter().map(Option::as_deref))),
        }
    }
}

fn bytes<T: Copy + Default, const N: usize>(
    kind: &'static str,
    values: &[Option<T>],
    to_bytes: impl Fn(T) -> [u8; N],
) -> (&'static str, Vec<u8>, Vec<u8>) {
    let content = values.iter().flat_map(|value| to_bytes(value.unwrap_or_default())).collect();
    let missing = values.iter().map(|value| u8::from(value.is_none())).collect();
    (kind, content, missing)
}
