//! `rats models evaluate`: every task of prediction, judged by measurements that the model did not see.
//!
//! A task is a function from the data set and seeds to [`Score`](crate::score::Score)s.

pub mod floor;
pub mod regret;
