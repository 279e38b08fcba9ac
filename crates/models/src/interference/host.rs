//! The host's cores, which jobs on all GPUs of a node share.
//!
//! # Model
//! Job j keeps `d[j]` cores busy while it runs at its rate alone. As long as the sum of demands is at most the number of
//! physical cores, nobody is slowed down; beyond that every job gets its share in proportion:
//!
//! ```text
//! rate of every job with d > 0 = min(1, cores / sum of d)
//! ```
//!
//! # Limits
//! Hyper-threads are not cores. A job that also waits for its GPU loses less than this says: the part of a step that
//! needs no core ([`stage_rate`]) does not stretch.
//!
//! # References
//! J. Mohan et al., "Looking Beyond GPUs for DNN Scheduling on Multi-Tenant Clusters" (Synergy), OSDI 2022; Y. Zhao et
//! al., "Multi-Resource Interleaving for Deep Learning Training" (Muri), SIGCOMM 2022.

/// The rate, over the rate alone, that the cores leave to jobs with these demands (cores each); 1 up to the number of cores.
/// `None` for demands or cores that are negative or no numbers, and for no cores.
pub fn share(cores: f64, demands: &[f64]) -> Option<f64> {
    let sum: f64 = demands.iter().sum();
    let usable = cores.is_finite() && cores > 0.0 && demands.iter().all(|demand| demand.is_finite() && *demand >= 0.0);
    usable.then(|| if sum > cores { cores / sum } else { 1.0 })
}

/// The normalized rate of a step of which the host's part takes `host_s` and, beside it, everything else `other_s`
/// (seconds, overlapping), when the host gives it only `share` of what it had alone: the longer part sets the pace.
pub fn stage_rate(host_s: f64, other_s: f64, share: f64) -> Option<f64> {
    let usable = host_s >= 0.0 && other_s >= 0.0 && host_s + other_s > 0.0 && share > 0.0 && share <= 1.0;
    usable.then(|| host_s.max(other_s) / (host_s / share).max(other_s))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_slowed_down_until_the_cores_are_full() {
        assert_eq!(share(40.0, &[30.0, 10.0]), Some(1.0));
        // 50 of 40 cores: 0.8.
        assert_eq!(share(40.0, &[30.0, 20.0]), Some(0.8));
        assert_eq!((share(0.0, &[1.0]), share(4.0, &[-1.0]), share(f64::NAN, &[])), (None, None, None));
    }

    #[test]
    fn only_the_part_on_the_host_stretches() {
        // 0.1 s on the host at half the cores: 0.2 s against 0.15 s: the rate falls to 0.15 / 0.2.
        assert!((stage_rate(0.1, 0.15, 0.5).unwrap() - 0.75).abs() < 1e-12);
        assert_eq!(stage_rate(0.05, 0.15, 0.5), Some(1.0));
        assert_eq!(stage_rate(0.0, 0.0, 0.5), None);
    }
}
