use super::design::add_coupled;
use super::duality_gap::balance;
use super::norm::Block;
use super::*;
use crate::loss::{Logistic, Softmax};
use crate::solver::{
    CscDesign, DenseDesign, Design, Method, Problem, Regulariser, Solution, minimise,
};
use proptest::prelude::*;

const N: usize = 40;
const P: usize = 5;

/// Two thirds of the entries 0, the second column far from centred and of another scale. Every class has records.
fn instance(seed: u64, k: usize) -> (Vec<f64>, Vec<f64>) {
    let mut state = seed.wrapping_mul(2).wrapping_add(1);
    let mut draw = move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    let mut columns: Vec<f64> = (0..N * P)
        .map(|_| if draw() < 0.3 { 0.0 } else { draw() })
        .collect();
    let targets: Vec<f64> = (0..N)
        .map(|i| {
            let score = 0.5 + 0.4 * columns[i] - 0.3 * columns[2 * N + i] + 0.3 * draw();
            if i < k {
                i as f64
            } else {
                (score.clamp(0.0, 0.999) * k as f64).floor()
            }
        })
        .collect();
    let second = columns[N..2 * N].iter_mut();
    second.for_each(|x| *x = 3.0 * *x + 9.0);
    (columns, targets)
}

fn dense(columns: &[f64]) -> DenseDesign<'_> {
    DenseDesign::from_columns(N, columns).unwrap()
}

fn sparse(columns: &[f64]) -> CscDesign {
    let (mut starts, mut rows, mut values) = (vec![0], Vec::new(), Vec::new());
    for column in columns.chunks_exact(N) {
        for (i, x) in column.iter().enumerate().filter(|(_, x)| **x != 0.0) {
            rows.push(i);
            values.push(*x);
        }
        starts.push(rows.len());
    }
    CscDesign::new(N, starts, rows, values).unwrap()
}

fn run(
    problem: &ClassProblem<'_>,
    norm: ClassNorm,
    form: Form,
    tol: f64,
    max_iter: usize,
) -> ClassSolution {
    let stopping = Stopping { tol, max_iter };
    minimise_classes(problem, norm, form, stopping, None, &mut |_, _| Ok(())).unwrap()
}

/// Omega, written once more.
fn omega(norm: ClassNorm, theta: &[f64], k: usize) -> f64 {
    let rows = theta.chunks_exact(k);
    match norm {
        ClassNorm::L1 => rows.flatten().map(|t| t.abs()).sum(),
        ClassNorm::L21 => rows
            .map(|row| row.iter().map(|t| t * t).sum::<f64>().sqrt())
            .sum(),
    }
}

/// The objective at Theta, feature by feature, and b.
fn objective(
    columns: &[f64],
    problem: &ClassProblem<'_>,
    norm: ClassNorm,
    form: Form,
    (theta, b): (&[f64], &[f64]),
) -> f64 {
    let softmax = Softmax::new(b.len()).unwrap();
    let risk: f64 = (problem.weights().iter().zip(problem.targets()).enumerate())
        .map(|(i, (w, y))| {
            let mut z = b.to_vec();
            for j in 0..P {
                let row = theta[j * b.len()..].iter();
                z.iter_mut()
                    .zip(row)
                    .for_each(|(z, t)| *z += t * columns[j * N + i]);
            }
            w * softmax.value(&z, *y as usize)
        })
        .sum();
    let square: f64 = theta.iter().map(|t| t * t).sum();
    let penalty = match form {
        Form::Penalty(alpha) => alpha * omega(norm, theta, b.len()),
        Form::Ball(_) => 0.0,
    };
    risk + 0.5 * problem.ridge() * square + penalty
}

fn norms() -> impl Strategy<Value = ClassNorm> {
    prop_oneof![Just(ClassNorm::L1), Just(ClassNorm::L21)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Wherever the solver stops, no other point is better by more than the gap: neither the precise solution nor
    /// random ones around it; and the precise one's gap is reached.
    #[test]
    fn gap_bounds_the_suboptimality(
        seed in 0..1000u64,
        k in 2usize..6,
        norm in norms(),
        ball in any::<bool>(),
        stored in any::<bool>(),
        size in prop_oneof![Just(0.003), Just(0.05), Just(1.0), Just(4.0)],
        ridge in prop_oneof![Just(0.0), Just(0.1)],
        fit_intercept in any::<bool>(),
        weighted in any::<bool>(),
        max_iter in 1..40usize,
        moves in prop::collection::vec(-0.1..0.1f64, (P + 1) * 5),
    ) {
        let (columns, y) = instance(seed, k);
        let (dense, sparse) = (dense(&columns), sparse(&columns));
        let design: &dyn ClassDesign = if stored { &sparse } else { &dense };
        let w: Vec<f64> = (0..N).map(|i| if weighted { (1 + i % 3) as f64 } else { 1.0 }).collect();
        let problem = ClassProblem::new(design, &y, k, Some(&w), ridge, fit_intercept).unwrap();
        let form = if ball { Form::Ball(size) } else { Form::Penalty(size) };
        let (rough, precise) = (run(&problem, norm, form, 0.0, max_iter), run(&problem, norm, form, 1e-9, 10_000));
        prop_assert!(rough.n_iter <= max_iter);
        prop_assert!(precise.converged, "{}", precise.duality_gap);
        let value_at = |theta: &[f64], b: &[f64]| objective(&columns, &problem, norm, form, (theta, b));
        let value = value_at(&rough.coefficients, &rough.intercepts);
        prop_assert!((value - rough.objective).abs() <= 1e-12 * (1.0 + value));
        prop_assert!(rough.intercepts.iter().sum::<f64>().abs() < 1e-12);
        // The solver adds up in another order.
        prop_assert!(!ball || omega(norm, &rough.coefficients, k) <= size * (1.0 + 1e-14));
        let moved = |x: &[f64], moves: &[f64]| -> Vec<f64> { x.iter().zip(moves).map(|(x, m)| x + m).collect() };
        let still = vec![0.0; k];
        let b = moved(&precise.intercepts, if fit_intercept { &moves[P * k..] } else { &still });
        let others = [
            (precise.coefficients.clone(), precise.intercepts.clone()),
            (moved(&precise.coefficients, &moves), b),
        ];
        for (mut theta, b) in others {
            if ball {
                let shrink = (size / omega(norm, &theta, k) * (1.0 - 1e-12)).min(1.0);
                theta.iter_mut().for_each(|t| *t *= shrink);
            }
            let other = value_at(&theta, &b);
            prop_assert!(value - other <= rough.duality_gap + 1e-12 * (1.0 + other));
            prop_assert!(precise.objective - other <= precise.duality_gap + 1e-12 * (1.0 + other));
        }
    }

    /// Two classes: with the difference t of a feature's coefficients given, the least |a| + |b| is |t|, the least
    /// Euclidean norm |t|/sqrt 2, and the least (a^2 + b^2)/2 is t^2/4. So the scalar problem has the penalty alpha, or
    /// alpha/sqrt 2, and half the ridge: of l1 and ridge together the first wants a zero and the second a = -b.
    #[test]
    fn two_classes_are_the_scalar_problem(
        seed in 0..1000u64,
        norm in norms(),
        ball in any::<bool>(),
        size in prop_oneof![Just(0.01), Just(0.1), Just(0.5)],
        with_ridge in any::<bool>(),
        fit_intercept in any::<bool>(),
    ) {
        let (columns, y) = instance(seed, 2);
        let x = dense(&columns);
        let ridge = if with_ridge && norm == ClassNorm::L21 { 0.1 } else { 0.0 };
        let problem = ClassProblem::new(&x, &y, 2, None, ridge, fit_intercept).unwrap();
        let signs: Vec<f64> = y.iter().map(|y| 2.0 * y - 1.0).collect();
        let scalar = Problem::new(&x, &signs, None, &Logistic, 0.5 * ridge, fit_intercept).unwrap();
        let factor = if norm == ClassNorm::L21 { 0.5f64.sqrt() } else { 1.0 };
        let (form, scalar_form) = if ball {
            (Form::Ball(size), Form::Ball(size / factor))
        } else {
            (Form::Penalty(size), Form::Penalty(size * factor))
        };
        let fit = run(&problem, norm, form, 1e-11, 10_000);
        let stopping = Stopping { tol: 1e-11, max_iter: 10_000 };
        let expected: Solution = minimise(
            &scalar, Regulariser::L1, scalar_form, Method::Auto, stopping, None, &mut |_, _| Ok(()),
        ).unwrap();
        let tolerance = fit.duality_gap + expected.duality_gap;
        prop_assert!((fit.objective - expected.objective).abs() <= tolerance);
        prop_assert!(tolerance < 1e-8);
        for (row, t) in fit.coefficients.chunks_exact(2).zip(&expected.coefficients) {
            prop_assert!((row[1] - row[0] - t).abs() < 1e-3 * (1.0 + t.abs()), "{row:?} {t}");
        }
    }

    /// The step of one feature: what the definition says, dense and sparse alike.
    #[test]
    fn steps_of_a_feature_move_all_slopes(
        seed in 0..1000u64,
        steps in prop::collection::vec(-1.0..1.0f64, 3),
        j in 0..P,
    ) {
        let (columns, _) = instance(seed, 3);
        let (dense, sparse) = (dense(&columns), sparse(&columns));
        let h: Vec<f64> = (0..N).map(|i| 0.1 + (i % 4) as f64).collect();
        let p: Vec<f64> = (0..3 * N).map(|i| 0.2 + 0.1 * (i % 5) as f64).collect();
        let (mut a, mut b, mut c) = (vec![1.0; 3 * N], vec![1.0; 3 * N], vec![1.0; 3 * N]);
        dense.add_coupled(j, &steps, &p, &h, &mut a);
        sparse.add_coupled(j, &steps, &p, &h, &mut b);
        add_coupled(&columns[j * N..(j + 1) * N], &steps, &p, &h, &mut c);
        for i in 0..N {
            let mean: f64 = (0..3).map(|k| p[k * N + i] * steps[k]).sum();
            for k in 0..3 {
                let expected = 1.0 + h[i] * columns[j * N + i] * p[k * N + i] * (steps[k] - mean);
                for out in [&a, &b, &c] {
                    prop_assert!((out[k * N + i] - expected).abs() < 1e-12);
                }
            }
        }
        prop_assert!((dense.weighted_square(j, &h) - dense.squared_norm(j, &h)).abs() < 1e-10);
        prop_assert!((sparse.weighted_square(j, &h) - dense.squared_norm(j, &h)).abs() < 1e-10);
    }

    /// Whatever the intercepts are, the mixed slopes add up to 0 in every class and stay those of probability vectors.
    #[test]
    fn balanced_slopes_are_a_dual_point(
        seed in 0..1000u64,
        k in 2usize..6,
        scores in prop::collection::vec(-6.0..6.0f64, N * 5),
    ) {
        let (columns, y) = instance(seed, k);
        let x = dense(&columns);
        let w: Vec<f64> = (0..N).map(|i| (1 + i % 3) as f64).collect();
        let problem = ClassProblem::new(&x, &y, k, Some(&w), 0.0, true).unwrap();
        let mut slopes = vec![0.0; N * k];
        crate::loss::Model::slopes(&Softmax::new(k).unwrap(), &scores[..N * k], &y, &mut slopes);
        balance(&problem, &mut slopes);
        for plane in slopes.chunks_exact(N) {
            let sum: f64 = plane.iter().zip(problem.weights()).map(|(a, w)| a * w).sum();
            prop_assert!(sum.abs() < 1e-14);
        }
        for (i, own) in y.iter().enumerate() {
            let row: Vec<f64> = (0..k).map(|class| slopes[class * N + i]).collect();
            prop_assert!(row.iter().sum::<f64>().abs() < 1e-14);
            for (class, a) in row.iter().enumerate() {
                let q = a + f64::from(u8::from(class as f64 == *own));
                prop_assert!((-1e-15..=1.0 + 1e-15).contains(&q));
            }
        }
    }

    /// One visit falls by what it says at least, and ends where no shift of all coefficients is better.
    #[test]
    fn a_visit_falls_and_leaves_no_better_shift(
        norm in norms(),
        p in prop::collection::vec(0.01..1.0f64, 4),
        gradient in prop::collection::vec(-2.0..2.0f64, 4),
        theta in prop::collection::vec(prop_oneof![Just(0.0), -2.0..2.0f64], 4),
        alpha in prop_oneof![Just(0.0), Just(0.1), Just(1.0)],
        ridge in prop_oneof![Just(0.0), Just(0.3)],
        shift in -1.0..1.0f64,
    ) {
        let k = p.len();
        let total: f64 = p.iter().sum();
        let hessian: Vec<f64> = (0..k * k)
            .map(|e| p[e / k] / total * (f64::from(u8::from(e / k == e % k)) - p[e % k] / total))
            .collect();
        let mean = gradient.iter().sum::<f64>() / k as f64;
        let gradient: Vec<f64> = gradient.iter().map(|g| g - mean).collect();
        let block = Block { hessian: &hessian, least: 1e-9, alpha, ridge };
        let penalty = |t: &[f64]| alpha * omega(norm, t, k) + 0.5 * ridge * t.iter().map(|t| t * t).sum::<f64>();
        let (mut t, mut step, mut scratch) = (theta.clone(), vec![0.0; k], vec![0.0; 2 * k]);
        let least = block.update(norm, &gradient, &mut t, &mut step, &mut scratch);
        let mut change = penalty(&t) - penalty(&theta);
        for a in 0..k {
            prop_assert_eq!(step[a], t[a] - theta[a]);
            let bent: f64 = (0..k).map(|b| hessian[a * k + b] * step[b]).sum();
            change += (gradient[a] + 0.5 * bent) * step[a];
        }
        prop_assert!(least >= 0.0 && change <= -least + 1e-12, "{change} {least}");
        let shifted: Vec<f64> = t.iter().map(|t| t + shift).collect();
        prop_assert!(penalty(&t) <= penalty(&shifted) + 1e-12);
    }
}

#[test]
fn storage_does_not_matter() {
    let (columns, y) = instance(5, 4);
    let (dense, sparse) = (dense(&columns), sparse(&columns));
    for norm in [ClassNorm::L1, ClassNorm::L21] {
        for form in [Form::Penalty(0.02), Form::Ball(2.0)] {
            let of = |design| {
                let problem = ClassProblem::new(design, &y, 4, None, 0.01, true).unwrap();
                run(&problem, norm, form, 1e-12, 10_000)
            };
            let (a, b) = (of(&dense as &dyn ClassDesign), of(&sparse));
            let (ours, theirs) = (
                a.coefficients.iter().chain(&a.intercepts),
                b.coefficients.iter().chain(&b.intercepts),
            );
            assert!(ours.zip(theirs).all(|(a, b)| (a - b).abs() < 1e-5));
        }
    }
}

fn at<'s>(solution: &'s ClassSolution, dual: &'s [f64]) -> Option<ClassStart<'s>> {
    Some(ClassStart {
        coefficients: &solution.coefficients,
        intercepts: &solution.intercepts,
        dual: Some(dual),
    })
}

/// Whatever dual point comes with a start, the gap is one; that of a solution certifies it at once.
#[test]
fn any_start_is_sound_and_a_solution_is_kept() {
    let (columns, y) = instance(3, 3);
    let x = dense(&columns);
    let stopping = Stopping {
        tol: 1e-6,
        max_iter: 10_000,
    };
    for (norm, form, ridge, fit_intercept) in [
        (ClassNorm::L1, Form::Penalty(0.02), 0.0, true),
        (ClassNorm::L21, Form::Penalty(0.02), 0.1, false),
        (ClassNorm::L1, Form::Ball(1.0), 0.1, true),
        (ClassNorm::L21, Form::Ball(0.7), 0.0, true),
    ] {
        let problem = ClassProblem::new(&x, &y, 3, None, ridge, fit_intercept).unwrap();
        let run = |start: Option<ClassStart<'_>>| {
            minimise_classes(&problem, norm, form, stopping, start, &mut |_, _| Ok(()))
        };
        let first = run(None).unwrap();
        assert!(first.converged);
        let again = run(at(&first, &first.dual)).unwrap();
        assert_eq!(again.n_iter, 0);
        let moved = again.coefficients.iter().zip(&first.coefficients);
        assert!(moved.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) < 1e-14);
        assert!(again.duality_gap <= first.duality_gap + 1e-13);
        let wild: Vec<f64> = (0..3 * N).map(|i| (i % 7) as f64 - 3.0).collect();
        for dual in [
            wild,
            vec![0.0; 3 * N],
            first.dual.iter().rev().copied().collect(),
        ] {
            let other = run(at(&first, &dual)).unwrap();
            assert!(other.objective - first.objective <= other.duality_gap + 1e-12);
            assert!(first.objective - other.objective <= first.duality_gap + 1e-12);
        }
        assert!(run(at(&first, &first.dual[1..])).is_err());
        assert!(
            run(Some(ClassStart {
                coefficients: &[0.0; 4],
                intercepts: &[0.0; 3],
                dual: None
            }))
            .is_err()
        );
        let infinite = [f64::INFINITY; 3];
        assert!(
            run(Some(ClassStart {
                coefficients: &[0.0; 3 * P],
                intercepts: &infinite,
                dual: None
            }))
            .is_err()
        );
    }
}

#[test]
fn the_least_penalty_without_coefficients_and_a_path() {
    let (columns, y) = instance(8, 3);
    let x = dense(&columns);
    for norm in [ClassNorm::L1, ClassNorm::L21] {
        let problem = ClassProblem::new(&x, &y, 3, None, 0.0, true).unwrap();
        let largest = classes_alpha_max(&problem, norm).unwrap();
        let zero = |alpha| {
            let fit = run(&problem, norm, Form::Penalty(alpha), 1e-10, 10_000);
            fit.coefficients.iter().all(|t| *t == 0.0)
        };
        assert!(zero(largest * 1.001) && !zero(largest * 0.99));
        let stopping = Stopping {
            tol: 1e-9,
            max_iter: 10_000,
        };
        let alphas = [largest, 0.3 * largest, 0.01 * largest];
        let fits = classes_path(&problem, norm, &alphas, stopping, &mut |_, _| Ok(())).unwrap();
        for (fit, alpha) in fits.iter().zip(alphas) {
            let alone = run(&problem, norm, Form::Penalty(alpha), 1e-9, 10_000);
            assert!(fit.converged && fit.dual.is_empty());
            assert!((fit.objective - alone.objective).abs() <= fit.duality_gap + alone.duality_gap);
        }
    }
}

#[test]
fn bad_problems_are_refused_and_progress_may_stop_a_run() {
    let (columns, y) = instance(1, 3);
    let x = dense(&columns);
    let problem = |y: &[f64], k, w: Option<&[f64]>, ridge| {
        ClassProblem::new(&x, y, k, w, ridge, true)
            .map(|_| ())
            .is_err()
    };
    assert!(!problem(&y, 3, None, 0.0));
    assert!(problem(&y[1..], 3, None, 0.0) && problem(&y, 3, Some(&[1.0; 3]), 0.0));
    assert!(problem(&y, 2, None, 0.0) && problem(&y, 1, None, 0.0) && problem(&y, 4, None, 0.0));
    assert!(problem(&[0.5; N], 3, None, 0.0) && problem(&[f64::NAN; N], 3, None, 0.0));
    assert!(problem(&y, 3, None, -1.0) && problem(&y, 3, Some(&[0.0; N]), 0.0));
    let w: Vec<f64> = y.iter().map(|y| f64::from(u8::from(*y != 1.0))).collect();
    assert!(
        problem(&y, 3, Some(&w), 0.0),
        "a class without weight has no best intercept"
    );
    let problem = ClassProblem::new(&x, &y, 3, None, 0.0, true).unwrap();
    let fit = |form, tol, max_iter, stop: bool| {
        let mut report = |step: usize, _| {
            if stop && step > 2 {
                Err(Error::Interrupted)
            } else {
                Ok(())
            }
        };
        let stopping = Stopping { tol, max_iter };
        minimise_classes(&problem, ClassNorm::L1, form, stopping, None, &mut report)
    };
    for (form, tol, max_iter) in [
        (Form::Penalty(0.0), 1e-6, 10),
        (Form::Penalty(-1.0), 1e-6, 10),
        (Form::Ball(0.0), 1e-6, 10),
        (Form::Ball(1.0), f64::NAN, 10),
        (Form::Ball(1.0), 1e-6, 0),
    ] {
        assert!(fit(form, tol, max_iter, false).is_err());
    }
    assert_eq!(
        fit(Form::Penalty(0.01), 1e-9, 100, true),
        Err(Error::Interrupted)
    );
    assert!(!fit(Form::Penalty(1e-4), 1e-12, 3, false).unwrap().converged);
}
