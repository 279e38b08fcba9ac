//! Time and power of one workload over clocks and power limits.
//!
//! [`series`] refuses rows that no model could be made of; [`forms`] holds the physics, one form a file; [`fit`] fits a form,
//! [`residual`] what it leaves, [`curve`] chooses among forms and says how far off it may be; [`card`] is what the workloads of
//! a GPU share; [`model`] is time and power together, [`file`](mod@file) their file.

pub mod card;
pub(crate) mod cholesky;
pub mod curve;
pub mod file;
pub mod fit;
pub mod forms;
pub mod model;
#[cfg(test)]
mod planted;
pub mod residual;
pub mod scope;
pub mod series;
#[cfg(test)]
mod tests;
pub mod workload;

pub use model::{Model, Said, Setting, fit_all};
pub use workload::Workload;
