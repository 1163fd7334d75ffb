//! A certificate in words.

use super::Certificate;

impl std::fmt::Display for Certificate {
    /// The certificate in words. Where it does not verify, it begins with why there is no guarantee.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (epsilon, delta) = self.claim();
        let claim = format!("({epsilon}, {delta:.3e})");
        let objections = self.objections();
        for objection in &objections {
            writeln!(f, "NO GUARANTEE: {objection}")?;
        }
        if objections.is_empty() {
            writeln!(
                f,
                "{claim}-differential privacy under {} neighbours",
                self.adjacency
            )?;
        } else {
            writeln!(
                f,
                "  asked for  {claim} under {} neighbours",
                self.adjacency
            )?;
        }
        writeln!(f, "  protects   {}", self.unit)?;
        writeln!(f, "  mechanism  {}", self.mechanism)?;
        for spent in &self.events {
            writeln!(
                f,
                "  spent      {} times: {}",
                spent.count,
                spent.event.describe()
            )?;
        }
        let side = |values: &[f64]| match values {
            [one] => one.to_string(),
            many => format!("{} values", many.len()),
        };
        writeln!(
            f,
            "  data       n = {}, p = {}",
            self.n_samples, self.n_features
        )?;
        writeln!(
            f,
            "  bounds     lower {}, upper {}",
            side(&self.bounds.lower),
            side(&self.bounds.upper)
        )?;
        if let Some((low, high)) = self.y_bounds() {
            writeln!(f, "  y_bounds   {low} to {high}")?;
        }
        if let Some(norm) = self.row_norm {
            writeln!(f, "  row_norm   {norm}")?;
        }
        for assumption in &self.assumptions {
            writeln!(f, "  assumes    {assumption}")?;
        }
        writeln!(f, "  version    {}", self.version)
    }
}
