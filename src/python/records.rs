//! Records from Python: numpy buffers are read once, in the pass that clips them.

use numpy::ndarray::Dimension;
use numpy::{Element, PyArrayMethods, PyReadonlyArray, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;

use super::threads::detached;

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

/// The array itself, or a copy where its memory is not laid out in whole, aligned elements (a field of a packed record array, a
/// shifted buffer): a view of such memory would mix the bytes of several records.
pub(super) fn plain<'py, T: Element, D: Dimension>(
    array: &PyReadonlyArray<'py, T, D>,
) -> PyResult<PyReadonlyArray<'py, T, D>> {
    let whole = array.strides().iter().all(|stride| stride % size_of::<T>() as isize == 0);
    if whole && array.data().is_aligned() {
        return Ok(array.clone());
    }
    array.as_any().call_method0("copy")?.extract()
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
        let y: Vec<f64> = plain(y)?.as_array().iter().copied().collect();
        let data = match self {
            Records::Double(x) => {
                let x = plain(x)?;
                let x = x.as_array();
                detached(py, || BoundedData::from_dense(x, &y, schema))?
            }
            Records::Single(x) => {
                let x = plain(x)?;
                let x = x.as_array();
                detached(py, || BoundedData::from_dense(x, &y, schema))?
            }
            Records::Compressed(orientation, shape, starts, indices, values) => {
                let problem = || Error::invalid("X", "must have contiguous index and value arrays of one kind");
                macro_rules! ingest {
                    ($starts:expr, $indices:expr, $values:expr) => {{
                        let (starts, indices, values) = (plain($starts)?, plain($indices)?, plain($values)?);
                        let parts = (
                            starts.as_slice().map_err(|_| problem())?,
                            indices.as_slice().map_err(|_| problem())?,
                            values.as_slice().map_err(|_| problem())?,
                        );
                        detached(py, || compressed(orientation, *shape, parts, &y, schema))?
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
