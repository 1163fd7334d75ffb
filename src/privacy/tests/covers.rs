//! What a perturbed objective pays for beside its linear term.

use super::harness::bounds;
use crate::accounting::event::{Adjacency, Event};
use crate::exact::noise::spherical_gamma::SphericalGamma;
use crate::loss::Logistic;
use crate::privacy::{Geometry, RoomModel, Schema, Statement, Target};
use crate::question::{Algorithm, DrawnTilt, GAMMA_FAILURE, StronglyConvex, TiltNoise};

fn minimiser(p: usize, n: usize, adjacency: Adjacency, ridge: f64) -> StronglyConvex {
    let schema = Schema::new(
        p,
        bounds(),
        Geometry::Uncentred,
        Target::Classes,
        true,
        None,
    );
    let statement = Statement::new(schema.unwrap(), n, adjacency, 1).unwrap();
    let model = RoomModel::new(&Logistic.into(), None).unwrap();
    statement.strongly_convex(&model, None, ridge).unwrap()
}

/// The cover of a perturbed minimiser pays for all that sets it apart from the exact one, on either side: the residual
/// at which the solver stops, the floats in which it sees it, the lattice (or floats) of b, and that of the point.
#[test]
fn covers_pay_for_the_solver_for_roundings_and_for_floats() {
    for (p, n) in [(1, 50), (40, 2000)] {
        for adjacency in [Adjacency::ReplaceOne, Adjacency::AddRemove] {
            for ridge in [1e-3, 0.5] {
                let minimiser = minimiser(p, n, adjacency, ridge);
                let cover = 0.2;
                for noise in [
                    TiltNoise::Gaussian { sigma: 30.0, cover },
                    TiltNoise::Gamma {
                        epsilon: 0.5,
                        cover,
                    },
                ] {
                    let question = minimiser.with_random_tilt(noise).unwrap();
                    let Algorithm::Minimise(_, Some(tilt)) = &question.answer.algorithm else {
                        panic!("a tilt");
                    };
                    let (columns, lattice) = (p + 1, question.answer.noise.lattice);
                    let root = (columns as f64).sqrt();
                    let curvature = n as f64 * ridge;
                    let floats =
                        (minimiser.objective(tilt.bound, None)).float_error(columns) / ridge;
                    // The solver takes a residual of four times the error with which it is computed.
                    let residual = 4.0 * floats;
                    let (stated, of_tilt, to_l1, of_point) =
                        match (tilt.law, question.events()[1].0) {
                            (
                                DrawnTilt::Gaussian { lattice: fine, .. },
                                Event::Gaussian { sensitivity, .. },
                            ) => (sensitivity, 0.5 * fine * root / curvature, 1.0, root),
                            (DrawnTilt::Gamma { size }, Event::Laplace { sensitivity, .. }) => {
                                let gamma = SphericalGamma::new(columns, size).unwrap();
                                let error = gamma.error(GAMMA_FAILURE).unwrap();
                                (sensitivity, error / curvature, root, columns as f64)
                            }
                            (_, event) => panic!("{event:?}"),
                        };
                    let parts = [
                        2.0 * to_l1 * residual,
                        2.0 * to_l1 * floats,
                        2.0 * to_l1 * of_tilt,
                        of_point * lattice,
                    ];
                    let (stated, needed) = (stated * lattice, parts.iter().sum::<f64>());
                    assert!(
                        stated >= needed * (1.0 - 1e-12),
                        "{noise:?}: {stated} {parts:?}"
                    );
                    // None of them is so small that nobody would miss it, and nothing else is paid for.
                    for part in parts {
                        assert!(part > 1e-8 * stated, "{noise:?}: {stated} {parts:?}");
                    }
                    assert!(stated <= needed * (1.0 + 1e-9));
                }
            }
        }
    }
}
