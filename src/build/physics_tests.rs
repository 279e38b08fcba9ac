//! The worked cases of `docs/building.md`, by hand.

use rats_domain::units::{KilobytesPerSecond, Milliwatts, Ticks};

use super::physics::*;

const NONE: Stretch = Stretch { ring: 1.0, read: 1.0 };
const FRAME: Frame = Frame { tick_s: 60.0, idle_w: 50.0 };

/// 0.5 s at 200 W, 70 W while waiting; 0.4 GB of gradients; reads nothing; nothing hides.
const STEP: Step =
    Step { seconds: 0.5, watts: 200.0, blocked_w: 70.0, gradient_bytes: 4e8, input_bytes: 0.0, overlap: 0.0 };

/// 1 GB/s between four-GPU nodes, 0.8 GB/s from the store, no latency.
const NETWORK: Network = Network { link_kb_s: 1e6, behind_link: 4.0, supply_kb_s: 8e5, latency_s: 0.0 };

fn run(step: &Step, gang: u32, network: &Network, stretch: Stretch, (startup_s, steps): (f64, f64)) -> Outcome {
    let gang_step = gang_step(step, gang, network, stretch).unwrap();
    outcome(&gang_step, gang, step.blocked_w, &Length { startup_s, steps, margin: 0.0 }, &FRAME)
}

#[test]
fn case_1_one_gpu_does_not_communicate() {
    // 1000 x 0.5 s = 500 s = 8.33 ticks -> 9. Energy 200 x 500 + 50 x (540 - 500) = 102000 J / 540 s = 188.889 W.
    let found = run(&STEP, 1, &NETWORK, NONE, (0.0, 1000.0));
    assert_eq!((found.ticks, found.power, found.peak), (Ticks(9), Milliwatts(188_889), Milliwatts(200_000)));
    assert_eq!((found.ring, found.read), (KilobytesPerSecond(0), KilobytesPerSecond(0)));
}

#[test]
fn case_2_overlap_hides_none_half_or_all_of_the_ring() {
    // g = 2: volume 0.4 GB, ring 0.4 s at 1 GB/s. Exposed 0.4, 0.4 - 0.25 = 0.15, 0 s.
    let with = |overlap: f64| {
        let step = gang_step(&Step { overlap, ..STEP }, 2, &NETWORK, NONE).unwrap();
        [step.seconds, step.watts, step.ring_kb_s]
    };
    // t = 0.9 s; 2 x (200 x 0.5 + 70 x 0.4) / 0.9 = 284.444 W; the ring needs all of the link while it transfers.
    assert_close(with(0.0), [0.9, 2.0 * 128.0 / 0.9, 1e6]);
    // t = 0.65 s; 2 x (100 + 70 x 0.15) / 0.65 = 340 W; still the whole link.
    assert_close(with(0.5), [0.65, 340.0, 1e6]);
    // t = 0.5 s; 400 W; 0.4 GB spread over the 0.5 s of the step: 0.8 GB/s.
    assert_close(with(1.0), [0.5, 400.0, 8e5]);
}

#[test]
fn case_3_the_store_is_too_slow() {
    // g = 2 reads 2 x 0.4 GB at 0.8 GB/s: 1 s a step, longer than 0.5 s + 0.1 s of ring.
    // Own reads through the link: min(0.8, 2 x 0.4 / 0.5) x 2/2 = 0.8; B = 0.2 GB/s; ring = 0.02 / 0.2 = 0.1 s.
    let step = Step { input_bytes: 4e8, gradient_bytes: 2e7, ..STEP };
    let found = gang_step(&step, 2, &NETWORK, NONE).unwrap();
    // 2 x (200 x 0.5 + 70 x 0.5) / 1 = 270 W.
    assert_close([found.seconds, found.watts, found.read_kb_s], [1.0, 270.0, 8e5]);
    assert_close([found.ring_kb_s, 0.0, 0.0], [2e5, 0.0, 0.0]);
    // A link of 0.8 GB/s has nothing left for the ring; half of the supply leaves 0.4.
    let narrow = Network { link_kb_s: 8e5, ..NETWORK };
    assert_eq!(gang_step(&step, 2, &narrow, NONE), None);
    assert!(gang_step(&step, 2, &narrow, Stretch { ring: 1.0, read: 2.0 }).is_some());
    // One GPU has no ring: it may take all of the link.
    assert!(gang_step(&step, 1, &narrow, NONE).is_some());
}

#[test]
fn case_4_the_ring_is_the_bottleneck() {
    // g = 4, L = 10 ms: volume 2 x 3/4 x 0.4 = 0.6 GB; ring 0.6 s + 6 x 0.01 s = 0.66 s; overlap 0.5 hides 0.25 s.
    let network = Network { latency_s: 0.01, ..NETWORK };
    let found = run(&Step { overlap: 0.5, ..STEP }, 4, &network, NONE, (0.0, 600.0));
    // t = 0.5 + 0.41 = 0.91 s; run 546 s = 9.1 -> 10 ticks. Peak 4 x (100 + 70 x 0.41) / 0.91 = 565.714 W.
    // Mean (514.8 x 600 + 4 x 50 x (600 - 546)) / 600 = 532.8 W. The ring's rate excludes latency: 0.6 / 0.6 = 1 GB/s.
    assert_eq!((found.ticks, found.peak, found.power), (Ticks(10), Milliwatts(565_715), Milliwatts(532_800)));
    assert_eq!(found.ring, KilobytesPerSecond(1_000_000));
}

#[test]
fn case_5_stretch_two_takes_half_the_link_for_twice_the_transfer() {
    // g = 2: ring 0.4 GB at 0.5 GB/s = 0.8 s; t = 1.3 s; 2 x (100 + 70 x 0.8) / 1.3 = 240 W; 100 steps 130 s -> 3 ticks.
    let found = run(&STEP, 2, &NETWORK, Stretch { ring: 2.0, read: 1.0 }, (0.0, 100.0));
    assert_eq!((found.ticks, found.peak, found.ring), (Ticks(3), Milliwatts(240_000), KilobytesPerSecond(500_000)));
    // (240 x 130 + 2 x 50 x 50) / 180 = 201.111 W.
    assert_eq!(found.power, Milliwatts(201_112));
}

#[test]
fn case_6_startup_waits_at_blocked_power() {
    // 100 s of start-up + 1000 x 0.5 s = 600 s = 10 ticks exactly. (200 x 500 + 70 x 100) / 600 = 178.333 W.
    let found = run(&STEP, 1, &NETWORK, NONE, (100.0, 1000.0));
    assert_eq!((found.ticks, found.power, found.peak), (Ticks(10), Milliwatts(178_334), Milliwatts(200_000)));
}

#[test]
fn a_run_that_ends_with_its_tick_takes_no_further_one() {
    // 6000 x 0.1 s is a little more than 600 s in doubles.
    let step = GangStep { seconds: 0.1 + 1e-17, watts: 100.0, ring_kb_s: 0.0, read_kb_s: 0.0 };
    let length = Length { startup_s: 0.0, steps: 6000.0, margin: 0.0 };
    assert_eq!(outcome(&step, 1, 0.0, &length, &FRAME).ticks, Ticks(10));
    // A tenth more: 660 s.
    assert_eq!(outcome(&step, 1, 0.0, &Length { margin: 0.1, ..length }, &FRAME).ticks, Ticks(11));
}

#[test]
fn links_without_a_limit_leave_only_latency() {
    let network = Network { link_kb_s: f64::INFINITY, supply_kb_s: f64::INFINITY, latency_s: 0.01, ..NETWORK };
    let step = Step { input_bytes: 4e8, ..STEP };
    let found = gang_step(&step, 2, &network, NONE).unwrap();
    // t = 0.5 + 2 x 0.01; 2 x 0.4 GB a step.
    assert_close([found.seconds, found.ring_kb_s, found.read_kb_s], [0.52, 0.0, 8e5 / 0.52]);
    // Hidden behind 0.5 s: 0.4 GB in 0.5 - 0.02 s.
    let hidden = gang_step(&Step { overlap: 1.0, ..step }, 2, &network, NONE).unwrap();
    assert_close([hidden.seconds, hidden.ring_kb_s, 0.0], [0.5, 4e5 / 0.48, 0.0]);
}

#[test]
fn a_waiting_gpu_draws_a_tenth_of_its_range_where_nothing_was_measured() {
    // 50 + 10 % of 200.
    assert_close(
        [assumed_blocked_w(50.0, 250.0), steps(1001.0, 2.0, 10.0), steps(1000.0, 2.0, 10.0)],
        [70.0, 51.0, 50.0],
    );
}

#[track_caller]
fn assert_close(found: [f64; 3], expected: [f64; 3]) {
    let close = found.iter().zip(expected).all(|(a, b)| (a - b).abs() <= 1e-9 * b.abs().max(1e-9));
    assert!(close, "{found:?} instead of {expected:?}");
}
