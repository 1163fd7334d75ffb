//! The trusted room's accounting: events, their composition, and calibration (MECHANISMS M12).

pub mod accountant;
pub mod calibrate;
pub mod event;
