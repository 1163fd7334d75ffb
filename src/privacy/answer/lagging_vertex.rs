//! Choices of a vertex at slopes that may lag behind, at the cost of what has changed since the last choice.

use std::collections::BTreeMap;

use super::vertex::VertexState;
use crate::error::{Error, Result};
use crate::exact::noise::source::Source;
use crate::exact::selection::{Drawn, InverseTemperature, LazySelection};
use crate::numeric::kernel::on_large_pages;
use crate::polytope::Structure;
use crate::privacy::changing_sums::Changed;
use crate::privacy::lagging_gradient::Lagging;
use crate::privacy::rare_columns::RareColumns;
use crate::privacy::records::{LaggingPass, Records, States, Watch};
use crate::question::{SelectionNoise, Vertex};

/// The candidates, ready for a choice.
pub(super) struct Choices {
    selection: LazySelection,
    /// Of the candidates whose scores are known, column by column: their signs; and their places in the list, with one
    /// behind it for the origin, if there is one.
    signs: Vec<i64>,
    places: Vec<u32>,
    /// Where those of each column begin, by the number of the column.
    starts: Vec<u32>,
    /// Of each group of the others: s b in the score s sum_i d_i b of a column of zeros, b the lattice value of 0.
    zeros: Vec<i64>,
}

impl Choices {
    /// After the first pass, which tells rare columns from others.
    fn new(
        list: &[(u32, i64)],
        origin: Option<i64>,
        (records, states): (&dyn Records, &States),
        eta: InverseTemperature,
    ) -> Result<Self> {
        let rare = states.lagging.as_ref().and_then(Lagging::rare);
        let numbers = rare.map_or(records.n_columns(), RareColumns::others);
        let number_of = |j: usize| rare.map_or(Some(j), |rare| rare.number_of(j));
        let mut starts = on_large_pages(vec![0u32; numbers + 1]);
        let (mut signs, mut places) = (Vec::new(), Vec::new());
        let mut groups: BTreeMap<i64, Vec<u32>> = BTreeMap::new();
        for (place, &(j, sign)) in (0..).zip(list) {
            if let Some(number) = number_of(j as usize) {
                starts[number + 1] += 1;
                signs.push(sign);
                places.push(place);
            } else {
                let zero = records.schema().lattice_value(0.0, j as usize);
                let group = groups.entry(sign * i64::from(zero));
                group.or_default().push(place);
            }
        }
        for number in 0..numbers {
            starts[number + 1] += starts[number];
        }
        let mut scores = on_large_pages(Vec::with_capacity(places.len() + groups.len() + 1));
        scores.resize(places.len(), 0);
        if let Some(origin) = origin {
            places.push(list.len() as u32);
            scores.push(origin);
        }
        let (zeros, groups) = groups.into_iter().unzip();
        Ok(Self {
            selection: LazySelection::new(scores, groups, eta)?,
            signs,
            places,
            starts,
            zeros,
        })
    }

    /// After a pass.
    fn update(&mut self, changed: &Changed, states: &States) {
        let total = states.lagging.as_ref().map_or(0, Lagging::total);
        let centres: Vec<i64> = self.zeros.iter().map(|zero| zero * total).collect();
        let (signs, starts) = (&self.signs, &self.starts);
        let changes = changed.0.iter().flat_map(|&(number, sum)| {
            let candidates = starts[number as usize] as usize..starts[number as usize + 1] as usize;
            candidates.map(move |k| (k, signs[k] * sum))
        });
        self.selection.update(changes, &centres);
    }

    /// The place in the list of what is chosen.
    fn draw(
        &mut self,
        list: &[(u32, i64)],
        (records, states): (&dyn Records, &States),
        source: &mut Source,
    ) -> usize {
        let score = |k: u32| {
            let (j, sign) = list[k as usize];
            sign * records.lagging_sum(j as usize, states)
        };
        #[cfg(test)]
        self.tell(list.len(), &score);
        let place = match self.selection.draw(score, source) {
            Drawn::Known(known) => self.places[known],
            Drawn::Member(member) => member,
        };
        place as usize
    }

    /// All scores, in their order.
    #[cfg(test)]
    fn tell(&self, listed: usize, score: &dyn Fn(u32) -> i64) {
        use crate::exact::tap::{Seen, see};
        see(|| {
            let all = listed.max(self.places.last().map_or(0, |&last| last as usize + 1));
            let known: BTreeMap<_, _> = self.places.iter().zip(self.selection.known()).collect();
            let score = |k: u32| known.get(&k).map_or_else(|| score(k), |&&known| known);
            Seen::Scores((0..all as u32).map(score).collect(), self.selection.eta())
        });
    }

    /// All that a draw does to the candidates.
    pub(super) fn settle(&mut self) {
        self.selection.settle();
    }
}

/// The list after a pass, with its scores and what the pass left.
pub(super) struct Followed<'s> {
    list: &'s [(u32, i64)],
    pub(super) choices: &'s mut Choices,
    states: &'s States,
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
        let Followed {
            list,
            choices,
            states,
        } = self.follow_lagging(pass, records, state, watch)?;
        let choice = choices.draw(list, (records, states), source);
        // One beyond the list is the origin.
        Ok(list.get(choice).copied().into_iter().collect())
    }

    /// What a lagging pass makes of the listed candidates.
    pub(super) fn follow_lagging<'s>(
        &'s self,
        pass: &LaggingPass<'_>,
        records: &dyn Records,
        state: &'s mut VertexState,
        watch: Watch<'_>,
    ) -> Result<Followed<'s>> {
        let (Structure::Coordinates(list), SelectionNoise::Exponential { epsilon0 }) =
            (self.polytope.structure(), self.noise)
        else {
            return Err(Error::invalid("refresh", "is for lists of coordinates"));
        };
        let VertexState {
            states, choices, ..
        } = state;
        let choices = match choices {
            Some(choices) => {
                let changed = records.lagging(pass, states, watch)?;
                choices.update(&changed, states);
                choices
            }
            empty => {
                let eta = InverseTemperature::new(epsilon0, self.sensitivity)?;
                let rare = self.rare(&eta);
                let pass = LaggingPass { rare, ..*pass };
                let changed = records.lagging(&pass, states, watch)?;
                let choices = Choices::new(list, self.origin, (records, states), eta)?;
                let choices = empty.insert(choices);
                choices.update(&changed, states);
                choices
            }
        };
        Ok(Followed {
            list,
            choices,
            states,
        })
    }

    /// Which features are rare ([`LaggingPass::rare`]): |d_i| is at most the bound of slopes, so that the scores of
    /// their candidates are as near to those of zeros as a [`LazySelection`] needs.
    fn rare(&self, eta: &InverseTemperature) -> Option<i64> {
        let slope = self.model.lattice().bound().linf;
        LazySelection::reach(eta).map(|reach| (reach / slope) as i64)
    }
}
