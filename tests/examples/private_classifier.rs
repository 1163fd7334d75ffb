//! Which of twenty features decide a class, asked privately, and how much that cost.

use dpsparse::ndarray::Array2;
use dpsparse::{Certificate, PrivateFit, Result};

fn main() -> Result<()> {
    // Records made up here: features 3 and 7 decide the class.
    let x = Array2::from_shape_fn((20_000, 20), |(i, j)| {
        ((i * (2 * j + 3) * 7919) % 2003) as f64 / 1001.0 - 1.0
    });
    let labels: Vec<&str> = (x.rows().into_iter())
        .map(|row| if row[3] - row[7] > 0.0 { "yes" } else { "no" })
        .collect();

    // Everything that is stated here is public; the plan is known before any record is read.
    let fit = PrivateFit::classifier()
        .classes(["no", "yes"])
        .bounds(-1.0, 1.0)
        .epsilon(1.0)
        .delta(1e-6);
    println!("{:?}\n", fit.plan(x.nrows(), x.ncols())?.summary);

    let model = fit.fit(&x, &labels)?;
    let coefficients = model.coefficients();
    println!(
        "coefficients of 3 and 7: {:.2}, {:.2}",
        coefficients[3], coefficients[7]
    );
    println!("{}", model.certificate());

    let right = (model.predict(&x)?.iter().zip(&labels))
        .filter(|(a, b)| a == b)
        .count();
    assert!(right > 18_000, "{right} of 20000");
    // The certificate travels as JSON, and whoever reads it adds its events up again.
    let read = Certificate::from_json(&model.certificate().to_json())?;
    assert!(read.verify() && read.epsilon(1e-6)? <= 1.0);
    Ok(())
}

#[test]
fn it_runs() {
    main().unwrap();
}
