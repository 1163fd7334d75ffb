//! A lasso, exact and **not private**, with a proved distance from the optimum: the baseline that a private fit is
//! compared with.

use dpsparse::Result;
use dpsparse::loss::Squared;
use dpsparse::solver::{
    DenseDesign, Form, Method, Problem, Regulariser, Stopping, alpha_max, minimise,
};

fn main() -> Result<()> {
    // 200 records, 500 features, of which 10 and 20 matter; columns one after another.
    let (n, p) = (200_usize, 500_usize);
    let entry = |i: usize, j: usize| {
        // Uniform on [-1, 1] (Steele, Lea & Flood 2014, "SplitMix").
        let mut bits = ((i * p + j + 1) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (bits >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    };
    let columns: Vec<f64> = (0..p)
        .flat_map(|j| (0..n).map(move |i| entry(i, j)))
        .collect();
    let y: Vec<f64> = (0..n).map(|i| 2.0 * entry(i, 10) - entry(i, 20)).collect();

    let x = DenseDesign::from_columns(n, columns)?;
    let problem = Problem::new(&x, &y, None, &Squared, 0.0, true)?;
    let penalty = alpha_max(&problem, Regulariser::L1)? / 10.0;
    let stopping = Stopping {
        tol: 1e-8,
        max_iter: 10_000,
    };
    let solution = minimise(
        &problem,
        Regulariser::L1,
        Form::Penalty(penalty),
        Method::Auto,
        stopping,
        None,
        &mut |_, _| Ok(()),
    )?;

    let support: Vec<usize> = (0..p)
        .filter(|&j| solution.coefficients[j] != 0.0)
        .collect();
    println!(
        "alpha {penalty:.4}: {} of {p} coefficients, objective {:.6}",
        support.len(),
        solution.objective
    );
    println!(
        "at most {:.1e} above the minimum, after {} passes",
        solution.duality_gap, solution.n_iter
    );
    assert!(solution.converged && solution.duality_gap <= 1e-8);
    assert!(solution.coefficients[10] > 1.0 && solution.coefficients[20] < -0.5);
    Ok(())
}

#[test]
fn it_runs() {
    main().unwrap();
}
