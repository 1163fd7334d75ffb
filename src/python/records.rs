//! Records from Python: numpy buffers are read once, in the pass that clips them.

use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::error::{Error, Result};
use crate::privacy::{BoundedData, Compressed, Orientation, Schema};

/// A dense array, or the parts (orientation, shape, starts, indices, values) of a compressed one.
#[derive(FromPyObject)]
pub(super) enum Records<'py> {
    Double(PyReadonlyArray2<'py, f64>),
    Single(PyReadonlyArray2<'py, f32>),
    Compressed(
        String,
        (usize, usize),
        Indices<'py>,
        Indices<'py>,
        Values<'py>,
    ),
}

#[derive(FromPyObject)]
pub(super) enum Indices<'py> {
    Short(PyReadonlyArray1<'py, i32>),
    Long(PyReadonlyArray1<'py, i64>),
}

#[derive(FromPyObject)]
pub(super) enum Values<'py> {
    Double(PyReadonlyArray1<'py, f64>),
    Single(PyReadonlyArray1<'py, f32>),
}

fn compressed<T, I>(
    orientation: &str,
    shape: (usize, usize),
    (starts, indices, values): (&[I], &[I], &[T]),
    y: &[f64],
    schema: Schema,
) -> Result<BoundedData>
where
    T: Copy + Into<f64> + Sync,
    I: Copy + TryInto<usize> + Sync,
{
    let orientation = match orientation {
        "csr" => Orientation::Rows,
        _ => Orientation::Columns,
    };
    BoundedData::from_sparse(Compressed { starts, indices, values }, orientation, shape, y, schema)
}

impl Records<'_> {
    /// Bounded integers, with the interpreter free for others meanwhile.
    pub(super) fn ingest(&self, py: Python<'_>, y: &PyReadonlyArray1<'_, f64>, schema: &Schema) -> PyResult<BoundedData> {
        let schema = schema.clone();
        let y = y.as_array();
        let y: Vec<f64> = y.iter().copied().collect();
        let data = match self {
            Records::Double(x) => {
                let x = x.as_array();
                py.detach(|| BoundedData::from_dense(x, &y, schema))
            }
            Records::Single(x) => {
                let x = x.as_array();
                py.detach(|| BoundedData::from_dense(x, &y, schema))
            }
            Records::Compressed(orientation, shape, starts, indices, values) => {
                let problem = || Error::invalid("X", "must have contiguous index and value arrays of one kind");
                macro_rules! ingest {
                    ($starts:expr, $indices:expr, $values:expr) => {{
                        let parts = (
                            $starts.as_slice().map_err(|_| problem())?,
                            $indices.as_slice().map_err(|_| problem())?,
                            $values.as_slice().map_err(|_| problem())?,
                        );
                        py.detach(|| compressed(orientation, *shape, parts, &y, schema))
                    }};
                }
                match (starts, indices, values) {
                    (Indices::Short(s), Indices::Short(i), Values::Double(v)) => ingest!(s, i, v),
                    (Indices::Short(s), Indices::Short(i), Values::Single(v)) => ingest!(s, i, v),
                    (Indices::Long(s), Indices::Long(i), Values::Double(v)) => ingest!(s, i, v),
                    (Indices::Long(s), Indices::Long(i), Values::Single(v)) => ingest!(s, i, v),
                    _ => Err(problem()),
                }
            }
        };
        Ok(data?)
    }
}
