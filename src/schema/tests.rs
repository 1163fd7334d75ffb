use super::*;

/// Sizes add up to sums where bounds begin or end at zero.
#[test]
fn signs_are_those_of_the_bounds() {
    let bounds = Bounds {
        lower: vec![0.0, -3.0, -1.0, 0.0, 2.0],
        upper: vec![1.0, 0.0, 1.0, 0.0, 5.0],
    };
    let signs = (0..5).map(|j| bounds.sign(j));
    assert!(signs.eq([1.0, -1.0, 0.0, 0.0, 0.0]));
}

/// What would abort, or be ended by the system, is refused: 512 GB of maps and models.
#[test]
fn more_features_than_memory_holds_are_refused() {
    let bounds = Bounds {
        lower: vec![0.0],
        upper: vec![1.0],
    };
    let p = 4_000_000_000;
    let refused = Schema::new(p, bounds, Geometry::Centred, Target::Classes, true, None);
    let bytes = Some(512_000_000_000);
    assert_eq!(refused.unwrap_err(), Error::TooLarge { bytes });
}

/// Values of any size become what the bounds allow, in either geometry; so do targets.
#[test]
fn bounds_that_make_coefficients_infinite_are_refused() {
    let of = |low: f64, high: f64, width: f64, geometry| {
        let bounds = Bounds {
            lower: vec![low],
            upper: vec![high],
        };
        let target = Target::Interval {
            low: -width,
            high: width,
        };
        Schema::new(1, bounds, geometry, target, true, None)
    };
    for geometry in [Geometry::Centred, Geometry::Uncentred] {
        for (low, high, width) in [
            (0.0, 1e-124, 1e265),
            (-1e-306, 1e-306, 1.0),
            (0.0, 1.0, 8e307),
        ] {
            let error = of(low, high, width, geometry).unwrap_err();
            assert!(error.to_string().starts_with("bounds must"), "{error}");
        }
        for (low, high, width) in [(0.0, 1e-90, 1e200), (-1e250, 1e250, 1e-250)] {
            let schema = of(low, high, width, geometry).unwrap();
            let (coefficients, intercept) = schema.to_user_units(&[10.0, 10.0]);
            assert!(coefficients[0].is_finite() && intercept.is_finite());
        }
    }
}

#[test]
fn features_and_targets_are_clipped() {
    let bounds = Bounds {
        lower: vec![-4.0, 0.0, 1.0],
        upper: vec![2.0, 8.0, 3.0],
    };
    let target = Target::Interval {
        low: -1.0,
        high: 5.0,
    };
    let ends = [
        (Geometry::Centred, [(-1.0, 1.0); 3]),
        (
            Geometry::Uncentred,
            [(-1.0, 0.5), (0.0, 1.0), (1.0 / 3.0, 1.0)],
        ),
    ];
    for (geometry, ends) in ends {
        for intercept in [true, false] {
            let schema = Schema::new(3, bounds.clone(), geometry, target, intercept, None);
            let schema = schema.unwrap();
            for (j, (low, high)) in ends.into_iter().enumerate() {
                let unit = f64::from(MAX_FEATURE);
                let value = |x: f64| f64::from(schema.lattice_value(x, j));
                for far in [1.0, 1e4, 1e300, f64::INFINITY] {
                    assert!(
                        (value(9.0 * far) - high * unit).abs() <= 0.5,
                        "{geometry:?} {j}"
                    );
                    assert!(
                        (value(-9.0 * far) - low * unit).abs() <= 0.5,
                        "{geometry:?} {j}"
                    );
                }
            }
            let least = if intercept { -1.0 } else { -0.2 };
            for far in [5.0, 6.0, 1e300, f64::INFINITY] {
                assert_eq!(schema.scale_target(far), 1.0);
                assert_eq!(schema.scale_target(-far), least);
            }
            let counts = Target::counts(0.5, 4.0, intercept);
            let schema = Schema::new(3, bounds.clone(), geometry, counts, intercept, None);
            let schema = schema.unwrap();
            for far in [5.0, 1e300, f64::INFINITY] {
                assert_eq!(schema.scale_target(far), 1.0);
                assert_eq!(schema.scale_target(-far), 0.125);
            }
        }
    }
}

/// e^score in the user's units is the rate that units of the schema say; coefficients go back and forth.
#[test]
fn rates_are_in_the_unit_of_counts() {
    let bounds = Bounds {
        lower: vec![-1.0, 0.0],
        upper: vec![1.0, 4.0],
    };
    for intercept in [true, false] {
        let target = Target::counts(0.0, 40.0, intercept);
        let units = target.units().unwrap();
        assert_eq!(units, if intercept { 8.0 } else { 40.0 });
        let geometry = if intercept {
            Geometry::Centred
        } else {
            Geometry::Uncentred
        };
        let schema = Schema::new(2, bounds.clone(), geometry, target, intercept, None).unwrap();
        let theta = [0.3, -0.2, 0.7];
        let (coefficients, constant) = schema.to_user_units(&theta[..schema.n_columns()]);
        let x = [0.5, 3.0];
        let unit = f64::from(MAX_FEATURE);
        let scaled = |j: usize| f64::from(schema.lattice_value(x[j], j)) / unit;
        let last = if intercept { 0.7 } else { 0.0 };
        let score = 0.3 * scaled(0) - 0.2 * scaled(1) + last;
        // Counts are 40 times the targets, rates e^score/units of them.
        let rate = 40.0 * score.exp() / units;
        let ours = (coefficients[0] * x[0] + coefficients[1] * x[1] + constant).exp();
        assert!((ours / rate - 1.0).abs() < 1e-3, "{ours} {rate}");
        if intercept {
            let back = schema.to_scaled_units(&coefficients, constant).unwrap();
            let apart = back.iter().zip(&theta).map(|(a, b)| (a - b).abs());
            assert!(apart.fold(0.0, f64::max) < 1e-12);
        }
    }
    let refused = |low: f64, high: f64| {
        let target = Target::counts(low, high, true);
        Schema::new(2, bounds.clone(), Geometry::Centred, target, true, None).is_err()
    };
    assert!(refused(-1.0, 2.0) && refused(2.0, 2.0) && refused(0.0, f64::INFINITY));
}

#[test]
fn constant_features_are_known() {
    let bounds = Bounds {
        lower: vec![0.0, 2.0, -1.0],
        upper: vec![1.0, 2.0, 5.0],
    };
    let target = Target::Classes;
    let schema = Schema::new(3, bounds, Geometry::Uncentred, target, true, Some(9.0)).unwrap();
    assert_eq!((schema.n_varying(), schema.varying()), (2, vec![0, 2]));
    let some = schema.with_features(&[1, 2]);
    assert_eq!(
        (some.n_features(), some.n_varying(), some.row_norm()),
        (2, 1, Some(9.0))
    );
    assert_eq!(some.lattice_value(5.0, 1), MAX_FEATURE);
    assert_eq!(schema.restricted(&[1, 2]).row_norm(), None);
}

/// Facts that are read are those that functions leave: what a sensitivity rests on is checked again.
#[test]
fn facts_that_are_read_are_checked() {
    let bounds = Bounds {
        lower: vec![-1.0],
        upper: vec![1.0],
    };
    let schema = |norm| {
        let of = (Geometry::Centred, Target::Classes);
        Schema::new(2, bounds.clone(), of.0, of.1, true, norm).unwrap()
    };
    let short = schema(Some(0.5)).with_intercept_value(0.25).unwrap();
    let weighted = schema(None)
        .with_gradient_norm(0.75)
        .unwrap()
        .with_max_weight(3.0)
        .unwrap();
    let texts = [&short, &weighted].map(|schema| {
        let text = serde_json::to_string(schema).unwrap();
        assert_eq!(serde_json::from_str::<Schema>(&text).unwrap(), *schema);
        text
    });
    for (text, from, to, naming) in [
        (
            0,
            "\"intercept\":4096",
            "\"intercept\":-32768",
            "fit_intercept",
        ),
        (0, "\"intercept\":4096", "\"intercept\":-1", "fit_intercept"),
        (
            0,
            "\"intercept\":4096",
            "\"intercept\":16384",
            "fit_intercept",
        ),
        (
            0,
            "\"gradient_norm\":null",
            "\"gradient_norm\":1.0",
            "row_norm",
        ),
        (0, "\"row_norm\":0.5", "\"row_norm\":-0.5", "row_norm"),
        (
            1,
            "\"gradient_norm\":0.75",
            "\"gradient_norm\":-0.75",
            "row_norm",
        ),
        (
            1,
            "\"gradient_norm\":0.75",
            "\"gradient_norm\":0.0",
            "row_norm",
        ),
        (1, "\"max_weight\":3.0", "\"max_weight\":-3.0", "max_weight"),
        (1, "\"max_weight\":3.0", "\"max_weight\":0.0", "max_weight"),
    ] {
        assert!(texts[text].contains(from), "{}", texts[text]);
        let read = serde_json::from_str::<Schema>(&texts[text].replace(from, to));
        let error = read.expect_err(to).to_string();
        assert!(error.starts_with(naming), "{error}");
    }
}
