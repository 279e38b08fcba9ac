//! Time and power of one workload over clocks and power limits.

pub mod card;
pub mod cholesky;
pub mod curve;
pub mod fit;
pub mod forms;
pub mod residual;
pub mod scope;
