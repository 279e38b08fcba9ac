//! Benchmarks: solvers over suites of instances, one process a run, judged by the checker, kept row by row.
//!
//! A report is a folder with `raw.csv` (a row a run), `env.json` (circumstances) and `summary.md`, which is made of the
//! other two alone. A run that is repeated with the same folder goes on where it ended. `docs/benchmarking.md` says
//! what the columns and figures mean.

pub mod case;
pub mod charts;
pub mod child;
pub mod compare;
pub mod env;
pub mod judge;
pub mod profile;
pub mod raw;
pub mod reference;
pub mod report;
pub mod row;
pub mod run;
pub mod score;
pub mod statistics;
pub mod summary;
