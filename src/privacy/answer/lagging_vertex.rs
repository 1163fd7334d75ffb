//! Choices of a vertex at slopes that may lag behind, at the cost of what has changed since the last choice.

use super::vertex::VertexState;
use crate::error::{Error, Result};
use crate::exact::noise::source::Source;
use crate::exact::selection::{IncrementalSelection, InverseTemperature};
use crate::numeric::kernel::on_large_pages;
use crate::polytope::Structure;
use crate::privacy::records::{LaggingPass, Records, Watch};
use crate::question::{SelectionNoise, Vertex};

/// The candidates, ready for a choice.
pub(super) struct Choices {
    selection: IncrementalSelection,
    /// Where the candidates of each column begin in the list, which goes column by column.
    starts: Vec<u32>,
}

impl Choices {
    fn new(
        list: &[(u32, i64)],
        origin: Option<i64>,
        columns: usize,
        eta: InverseTemperature,
    ) -> Result<Self> {
        let mut starts = on_large_pages(vec![0u32; columns + 1]);
        for &(j, _) in list {
            starts[j as usize + 1] += 1;
        }
        for j in 0..columns {
            starts[j + 1] += starts[j];
        }
        let mut scores = on_large_pages(Vec::with_capacity(list.len() + 1));
        scores.resize(list.len(), 0);
        scores.extend(origin);
        Ok(Self {
            selection: IncrementalSelection::new(scores, eta)?,
            starts,
        })
    }
}

impl Vertex {
    /// The exponential mechanism on the scores as a lagging pass leaves them.
    pub(super) fn choose_lagging(
        &self,
        pass: &LaggingPass<'_>,
        records: &dyn Records,
        state: &mut VertexState,
        source: &mut Source,
        watch: Watch<'_>,
    ) -> Result<Vec<(u32, i64)>> {
        let (list, selection) = self.follow_lagging(pass, records, state, watch)?;
        // One beyond the list is the origin.
        let choice = selection.draw(source);
        Ok(list.get(choice).copied().into_iter().collect())
    }

    /// The listed candidates and their scores after a lagging pass.
    pub(super) fn follow_lagging<'s>(
        &'s self,
        pass: &LaggingPass<'_>,
        records: &dyn Records,
        state: &'s mut VertexState,
        watch: Watch<'_>,
    ) -> Result<(&'s [(u32, i64)], &'s mut IncrementalSelection)> {
        let (Structure::Coordinates(list), SelectionNoise::Exponential { epsilon0 }) =
            (self.polytope.structure(), self.noise)
        else {
            return Err(Error::invalid("refresh", "is for lists of coordinates"));
        };
        let changed = records.lagging(pass, &mut state.states, watch)?;
        let choices = match &mut state.choices {
            Some(choices) => choices,
            empty => {
                let eta = InverseTemperature::new(epsilon0, self.sensitivity)?;
                let columns = records.n_columns();
                empty.insert(Choices::new(list, self.origin, columns, eta)?)
            }
        };
        let Choices { selection, starts } = choices;
        selection.update(changed.0.iter().flat_map(|&(j, sum)| {
            let candidates = starts[j as usize] as usize..starts[j as usize + 1] as usize;
            candidates.map(move |k| (k, list[k].1 * sum))
        }));
        Ok((list, selection))
    }
}
