//! What releases cost together, and how much noise a budget buys: no records are needed for either.

use dpsparse::Result;
use dpsparse::accounting::accountant::Accountant;
use dpsparse::accounting::calibrate::gaussian_sigma;
use dpsparse::accounting::event::Event;

fn main() -> Result<()> {
    // A hundred noisy gradients of sensitivity 1, and one choice of the model to keep.
    let mut accountant = Accountant::new();
    accountant.add(Event::gaussian(1.0, 40.0)?, 100)?;
    accountant.add(Event::exponential(0.1)?, 1)?;
    let epsilon = accountant.epsilon(1e-6)?;
    println!("100 Gaussians and a choice: epsilon {epsilon:.4} at delta 1e-6");
    for delta in [1e-5, 1e-7, 1e-9] {
        println!(
            "                            epsilon {:.4} at delta {delta:e}",
            accountant.epsilon(delta)?
        );
    }
    // Both directions are proved bounds, and agree.
    assert!(accountant.delta(epsilon)? <= 1.000_001e-6);

    // The other way: the least noise of one release of sensitivity 1 for that budget.
    let sigma = gaussian_sigma(1.0, epsilon, 1e-6)?;
    println!("one release for the same budget: sigma {sigma:.3}");
    let mut one = Accountant::new();
    one.add(Event::gaussian(1.0, sigma)?, 1)?;
    assert!(one.epsilon(1e-6)? <= epsilon && sigma < 40.0 / 100_f64.sqrt() * 1.2);
    Ok(())
}

#[test]
fn it_runs() {
    main().unwrap();
}
