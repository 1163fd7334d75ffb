//! Records from Python: numpy buffers are read once, in the pass that clips them.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use ndarray::{ArrayView2, Dimension};
use numpy::{
    Element, PyArrayMethods, PyReadonlyArray, PyReadonlyArray1, PyReadonlyArray2,
    PyUntypedArrayMethods,
};
use pyo3::prelude::*;

use super::shards::PyWorkers;
use crate::error::{Error, Result, UserError};
use crate::privacy::{BlockSource, Compressed, Curator, Orientation, TakeBlock};

/// Arrays of every kind of number that doubles hold exactly; `$work` is done with one of any kind.
macro_rules! of_any_kind {
    ($family:ident, $array:expr, $x:ident => $work:expr) => {
        match $array {
            $family::Double($x) => $work,
            $family::Single($x) => $work,
            $family::Byte($x) => $work,
            $family::SignedByte($x) => $work,
            $family::Short($x) => $work,
            $family::UnsignedShort($x) => $work,
            $family::Long($x) => $work,
            $family::UnsignedLong($x) => $work,
        }
    };
}

/// A dense array, read as it is. Booleans come as bytes.
#[derive(FromPyObject)]
pub(super) enum Array<'py> {
    Double(PyReadonlyArray2<'py, f64>),
    Single(PyReadonlyArray2<'py, f32>),
    Byte(PyReadonlyArray2<'py, u8>),
    SignedByte(PyReadonlyArray2<'py, i8>),
    Short(PyReadonlyArray2<'py, i16>),
    UnsignedShort(PyReadonlyArray2<'py, u16>),
    Long(PyReadonlyArray2<'py, i32>),
    UnsignedLong(PyReadonlyArray2<'py, u32>),
}

impl<'py> Array<'py> {
    fn plain(&self) -> PyResult<Array<'py>> {
        Ok(match self {
            Array::Double(x) => Array::Double(plain(x)?),
            Array::Single(x) => Array::Single(plain(x)?),
            Array::Byte(x) => Array::Byte(plain(x)?),
            Array::SignedByte(x) => Array::SignedByte(plain(x)?),
            Array::Short(x) => Array::Short(plain(x)?),
            Array::UnsignedShort(x) => Array::UnsignedShort(plain(x)?),
            Array::Long(x) => Array::Long(plain(x)?),
            Array::UnsignedLong(x) => Array::UnsignedLong(plain(x)?),
        })
    }

    fn view(&self) -> View<'_> {
        match self {
            Array::Double(x) => View::Double(x.as_array()),
            Array::Single(x) => View::Single(x.as_array()),
            Array::Byte(x) => View::Byte(x.as_array()),
            Array::SignedByte(x) => View::SignedByte(x.as_array()),
            Array::Short(x) => View::Short(x.as_array()),
            Array::UnsignedShort(x) => View::UnsignedShort(x.as_array()),
            Array::Long(x) => View::Long(x.as_array()),
            Array::UnsignedLong(x) => View::UnsignedLong(x.as_array()),
        }
    }
}

/// The same as a plain view that other threads can read.
pub(super) enum View<'a> {
    Double(ArrayView2<'a, f64>),
    Single(ArrayView2<'a, f32>),
    Byte(ArrayView2<'a, u8>),
    SignedByte(ArrayView2<'a, i8>),
    Short(ArrayView2<'a, i16>),
    UnsignedShort(ArrayView2<'a, u16>),
    Long(ArrayView2<'a, i32>),
    UnsignedLong(ArrayView2<'a, u32>),
}

/// A dense array, or the parts (format, shape, starts, indices, values) of a compressed one.
#[derive(FromPyObject)]
pub(super) enum Records<'py> {
    Dense(Array<'py>),
    /// ("one-hot", a dense array, first and last + 1 of the columns of each block).
    OneHot(String, Array<'py>, Vec<(usize, usize)>),
    Compressed(
        String,
        (usize, usize),
        Indices<'py>,
        Indices<'py>,
        Values<'py>,
    ),
    /// Blocks: ("blocks", shape, a callable that returns an iterator of dense arrays, directory of files).
    Blocks(String, (usize, usize), Py<PyAny>, Option<PathBuf>),
    /// Records on several machines: ("shards", shape, a session that asks workers), with their targets and weights.
    Shards(String, (usize, usize), Py<PyAny>),
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

/// The same as plain views that other threads can read.
pub(super) enum Views<'a> {
    Dense(View<'a>, Vec<Range<usize>>),
    ShortDouble(Sparse<'a, f64, i32>),
    ShortSingle(Sparse<'a, f32, i32>),
    LongDouble(Sparse<'a, f64, i64>),
    LongSingle(Sparse<'a, f32, i64>),
    Blocks(PyBlocks),
    Shards(Arc<PyWorkers>, usize),
}

/// Blocks that a callable of Python's hands out.
pub(super) struct PyBlocks {
    n_records: usize,
    factory: Py<PyAny>,
    directory: Option<PathBuf>,
}

/// Orientation, shape and parts of a compressed matrix.
type Sparse<'a, T, I> = (Orientation, (usize, usize), Compressed<'a, T, I>);

/// The array itself, or a copy where its memory is not laid out in whole, aligned elements (a field of a
/// packed record array, a shifted buffer): a view of such memory would mix the bytes of several records.
pub(super) fn plain<'py, T: Element, D: Dimension>(
    array: &PyReadonlyArray<'py, T, D>,
) -> PyResult<PyReadonlyArray<'py, T, D>> {
    let whole = array
        .strides()
        .iter()
        .all(|stride| stride % size_of::<T>() as isize == 0);
    if whole && array.data().is_aligned() {
        return Ok(array.clone());
    }
    array.as_any().call_method0("copy")?.extract()
}

pub(super) fn to_vec(y: &PyReadonlyArray1<'_, f64>) -> PyResult<Vec<f64>> {
    Ok(plain(y)?.as_array().to_vec())
}

/// One finite number for each of p features; `argument` is its public name.
pub(super) fn one_per_feature(
    argument: &str,
    vector: &PyReadonlyArray1<'_, f64>,
    p: usize,
) -> PyResult<Vec<f64>> {
    let vector = to_vec(vector)?;
    let invalid = |problem: String| Err(Error::invalid(argument, problem).into());
    if vector.len() != p {
        return invalid(format!(
            "must hold {p} numbers, one per feature; got {}",
            vector.len()
        ));
    }
    if let Some(j) = vector.iter().position(|value| !value.is_finite()) {
        return invalid(format!("must be finite; entry {j} is {}", vector[j]));
    }
    Ok(vector)
}

/// Weights of records, where there are any.
pub(super) fn weights_of(weights: Option<PyReadonlyArray1<'_, f64>>) -> PyResult<Option<Vec<f64>>> {
    weights.map(|weights| to_vec(&weights)).transpose()
}

impl<'py> Records<'py> {
    /// Number of rows in the memory of this process, or read into it.
    pub(super) fn n_records(&self) -> usize {
        match self {
            Records::Dense(array) | Records::OneHot(_, array, _) => {
                of_any_kind!(Array, array, x => x.shape()[0])
            }
            Records::Compressed(_, (rows, _), ..) | Records::Blocks(_, (rows, _), ..) => *rows,
            Records::Shards(..) => 0,
        }
    }

    /// The same over memory that views can read.
    pub(super) fn plain(&self) -> PyResult<Records<'py>> {
        Ok(match self {
            Records::Dense(array) => Records::Dense(array.plain()?),
            Records::OneHot(kind, array, blocks) => {
                Records::OneHot(kind.clone(), array.plain()?, blocks.clone())
            }
            Records::Compressed(format, shape, starts, indices, values) => Records::Compressed(
                format.clone(),
                *shape,
                starts.plain()?,
                indices.plain()?,
                values.plain()?,
            ),
            Records::Blocks(kind, shape, factory, directory) => Records::Blocks(
                kind.clone(),
                *shape,
                Python::attach(|py| factory.clone_ref(py)),
                directory.clone(),
            ),
            Records::Shards(kind, shape, session) => Records::Shards(
                kind.clone(),
                *shape,
                Python::attach(|py| session.clone_ref(py)),
            ),
        })
    }
}

impl<'py> Indices<'py> {
    fn plain(&self) -> PyResult<Indices<'py>> {
        Ok(match self {
            Indices::Short(array) => Indices::Short(plain(array)?),
            Indices::Long(array) => Indices::Long(plain(array)?),
        })
    }
}

impl<'py> Values<'py> {
    fn plain(&self) -> PyResult<Values<'py>> {
        Ok(match self {
            Values::Double(array) => Values::Double(plain(array)?),
            Values::Single(array) => Values::Single(plain(array)?),
        })
    }
}

impl Records<'_> {
    pub(super) fn views(&self) -> Result<Views<'_>> {
        let problem = || {
            Error::invalid(
                "X",
                "must have contiguous index and value arrays of one kind",
            )
        };
        let (format, shape, starts, indices, values) = match self {
            Records::Dense(array) => return Ok(Views::Dense(array.view(), Vec::new())),
            Records::OneHot(_, array, blocks) => {
                let blocks = blocks.iter().map(|&(start, end)| start..end);
                return Ok(Views::Dense(array.view(), blocks.collect()));
            }
            Records::Blocks(_, shape, factory, directory) => {
                return Ok(Views::Blocks(PyBlocks {
                    n_records: shape.0,
                    factory: Python::attach(|py| factory.clone_ref(py)),
                    directory: directory.clone(),
                }));
            }
            Records::Shards(_, shape, session) => {
                return Ok(Views::Shards(PyWorkers::new(session)?, shape.0));
            }
            Records::Compressed(format, shape, starts, indices, values) => {
                (format, *shape, starts, indices, values)
            }
        };
        let orientation = match format.as_str() {
            "csr" => Orientation::Rows,
            "csc" => Orientation::Columns,
            _ => {
                return Err(Error::invalid(
                    "X",
                    "must be a CSR or CSC matrix when sparse",
                ));
            }
        };
        macro_rules! parts {
            ($starts:expr, $indices:expr, $values:expr) => {{
                let starts = $starts.as_slice().map_err(|_| problem())?;
                let indices = $indices.as_slice().map_err(|_| problem())?;
                let values = $values.as_slice().map_err(|_| problem())?;
                (
                    orientation,
                    shape,
                    Compressed {
                        starts,
                        indices,
                        values,
                    },
                )
            }};
        }
        Ok(match (starts, indices, values) {
            (Indices::Short(s), Indices::Short(i), Values::Double(v)) => {
                Views::ShortDouble(parts!(s, i, v))
            }
            (Indices::Short(s), Indices::Short(i), Values::Single(v)) => {
                Views::ShortSingle(parts!(s, i, v))
            }
            (Indices::Long(s), Indices::Long(i), Values::Double(v)) => {
                Views::LongDouble(parts!(s, i, v))
            }
            (Indices::Long(s), Indices::Long(i), Values::Single(v)) => {
                Views::LongSingle(parts!(s, i, v))
            }
            _ => return Err(problem()),
        })
    }
}

impl<'a> Views<'a> {
    /// The keeper of these records, with a weight each or none: the one pass that reads the buffers comes with a
    /// statement.
    pub(super) fn curator(self, y: &'a [f64], weights: Option<&'a [f64]>) -> Curator<'a> {
        let curator = match self {
            Views::Dense(view, blocks) => {
                of_any_kind!(View, view, x => Curator::from_one_hot(x, blocks, y))
            }
            Views::ShortDouble((way, shape, x)) => Curator::from_sparse(x, way, shape, y),
            Views::ShortSingle((way, shape, x)) => Curator::from_sparse(x, way, shape, y),
            Views::LongDouble((way, shape, x)) => Curator::from_sparse(x, way, shape, y),
            Views::LongSingle((way, shape, x)) => Curator::from_sparse(x, way, shape, y),
            Views::Blocks(blocks) => {
                let directory = blocks.directory.clone();
                Curator::from_blocks(blocks, y, directory.as_deref())
            }
            Views::Shards(workers, n_records) => Curator::from_workers(workers, n_records),
        };
        match weights {
            Some(weights) => curator.weighted(weights),
            None => curator,
        }
    }
}

impl BlockSource for PyBlocks {
    fn n_records(&self) -> usize {
        self.n_records
    }

    fn for_each(&self, take: TakeBlock<'_>) -> Result<()> {
        let user = |error: PyErr| Error::User(UserError::new(error));
        Python::attach(|py| {
            let blocks = self.factory.bind(py).call0().map_err(user)?;
            for block in blocks.try_iter().map_err(user)? {
                py.check_signals().map_err(user)?;
                let block = block.map_err(user)?;
                match block
                    .extract::<Records<'_>>()
                    .map_err(user)?
                    .plain()
                    .map_err(user)?
                {
                    Records::Dense(Array::Double(x)) => take(x.as_array().into())?,
                    Records::Dense(Array::Single(x)) => take(x.as_array().into())?,
                    _ => {
                        return Err(Error::InvalidData(
                            "blocks must be dense, of doubles or of single precision".into(),
                        ));
                    }
                }
            }
            Ok(())
        })
    }
}
