//! Models of GPU work, fitted to measured data: time and power over operating points, kernels and pairs that nobody
//! measured, and gangs; each with a statement of how far it can be trusted.

pub mod data;
pub mod dvfs;
pub mod evaluate;
pub mod interference;
pub mod scaling;
pub mod score;
pub mod split;
pub mod statistics;
pub mod trees;
pub mod unseen;
