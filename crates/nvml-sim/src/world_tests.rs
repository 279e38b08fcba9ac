//! Numbers that can be checked by hand: on type `new` a step takes 2 s at 500 MHz, 1 s at 1000 and 0.75 s at 1500, at 100,
//! 200 and 400 W; idle 50 W, blocked 80 W, limit 400 W.

use super::*;
use crate::settings;
use crate::state::JobState;

const SECOND: u64 = 1_000_000_000;
const GANG: u32 = 0;
const PLAIN: u32 = 1;
const NOTHING: [u32; MAX_GPUS] = [0; MAX_GPUS];

fn world() -> World {
    World::new(serde_json::from_str(include_str!("../tests/data/plain.json")).unwrap())
}

/// A process on the GPUs of a mask.
fn start(state: &mut State, gpus: u64, workload: u32) -> usize {
    let free = state.jobs.iter().position(|job| job.used == 0).unwrap();
    let target = f64::INFINITY;
    state.jobs[free] = JobState { used: 1, gpus, workload, target, begins_ns: state.sim_ns, ..JobState::default() };
    free
}

fn lock(world: &World, state: &mut State, gpu: usize, mhz: u32) {
    settings::lock_sm(world.config.kind(gpu), &mut state.gpus[gpu], mhz, mhz, 0).unwrap();
}

/// Joules that a GPU drew in so many seconds.
fn drawn(world: &World, state: &mut State, gpu: usize, seconds: u64) -> f64 {
    let before = state.gpus[gpu].energy_mj;
    world.advance(state, state.sim_ns + seconds * SECOND, &NOTHING);
    (state.gpus[gpu].energy_mj - before) / 1000.0
}

fn assert_near(value: f64, expected: f64) {
    assert!((value - expected).abs() <= 1e-6 * expected.abs().max(1.0), "{value} is not {expected}");
}

#[test]
fn an_idle_gpu_draws_idle_power_at_its_lowest_clock() {
    let (world, mut state) = (world(), world().initial(1));
    assert_near(drawn(&world, &mut state, 0, 10), 500.0);
    assert_eq!((state.gpus[0].sm_mhz, state.gpus[0].reasons), (250, reason::IDLE));
}

#[test]
fn a_locked_clock_gives_the_time_and_power_of_its_point() {
    let (world, mut state) = (world(), world().initial(1));
    lock(&world, &mut state, 0, 1000);
    let job = start(&mut state, 1, PLAIN);
    // 10 s at 200 W and 1 s a step.
    assert_near(drawn(&world, &mut state, 0, 10), 2000.0);
    assert_near(state.jobs[job].progress, 10.0);
    assert_eq!((state.gpus[0].sm_mhz, state.gpus[0].reasons), (1000, reason::SETTING));
}

#[test]
fn between_points_power_is_linear_in_the_clock_and_time_in_its_inverse() {
    // 750 MHz: half way from 100 to 200 W; (1/500 - 1/750) / (1/500 - 1/1000) = 2/3 of the way from 2 s to 1 s.
    let at = world().truth(0).at(PLAIN as usize, 750, 1000).unwrap();
    assert_near(at.power_mw, 150_000.0);
    assert_near(at.step_s, 4.0 / 3.0);
}

#[test]
fn below_the_lowest_point_time_follows_the_clock_and_power_falls_towards_idle() {
    // 250 MHz: all of the step goes with the clock, 2 s x 2; 50 W + (100 - 50) / 2.
    let at = world().truth(0).at(PLAIN as usize, 250, 1000).unwrap();
    assert_near(at.power_mw, 75_000.0);
    assert_near(at.step_s, 4.0);
}

#[test]
fn a_lower_memory_clock_costs_time_and_saves_power() {
    // Half the memory clock: 2 s x (1 + 0.5 (2 - 1)) = 3 s; 100 W - 0.2 (1 - 0.5) (100 - 50) W = 95 W.
    let at = world().truth(0).at(PLAIN as usize, 500, 500).unwrap();
    assert_near(at.step_s, 3.0);
    assert_near(at.power_mw, 95_000.0);
}

#[test]
fn a_slow_gpu_takes_longer_at_the_same_power() {
    let at = world().truth(2).at(PLAIN as usize, 1000, 1000).unwrap();
    assert_near(at.step_s, 1.15);
    assert_near(at.power_mw, 200_000.0);
}

#[test]
fn own_factors_stay_within_their_spread_and_follow_the_seed() {
    let mut config = world().config;
    (config.power_spread, config.speed_spread) = (0.05, 0.03);
    let all: Vec<_> = (0..6).map(|gpu| crate::truth::factors(&config, gpu)).collect();
    assert!(all.iter().all(|(power, speed)| (power - 1.0).abs() <= 0.05 && (speed - 1.0).abs() <= 0.03));
    assert!(all.windows(2).all(|pair| pair[0] != pair[1]), "{all:?}");
    config.seed = 9;
    assert_ne!(all[0], crate::truth::factors(&config, 0));
}

#[test]
fn the_power_limit_picks_the_highest_clock_within_it() {
    let (world, mut state) = (world(), world().initial(1));
    settings::set_limit(world.config.kind(0), &mut state.gpus[0], 250_000).unwrap();
    start(&mut state, 1, PLAIN);
    // 400 W at 1500 MHz is too much, 200 W at 1000 MHz is not.
    assert_near(drawn(&world, &mut state, 0, 4), 800.0);
    assert_eq!((state.gpus[0].sm_mhz, state.gpus[0].reasons), (1000, reason::POWER));
    assert_eq!(state.gpus[0].power_capped_ns, 4 * SECOND);
}

#[test]
fn the_counter_shows_the_energy_of_the_last_tick() {
    let (world, mut state) = (world(), world().initial(1));
    lock(&world, &mut state, 0, 1000);
    start(&mut state, 1, PLAIN);
    let before = state.gpus[0].counter_mj;
    for (ms, joules) in [(99, 0.0), (100, 20.0), (250, 40.0), (299, 40.0), (300, 60.0)] {
        world.advance(&mut state, ms * 1_000_000, &NOTHING);
        assert_near((state.gpus[0].counter_mj - before) / 1000.0, joules);
    }
}

#[test]
fn averaged_power_is_that_of_the_last_second() {
    let (world, mut state) = (world(), world().initial(1));
    lock(&world, &mut state, 0, 1000);
    world.advance(&mut state, 5 * SECOND, &NOTHING);
    start(&mut state, 1, PLAIN);
    world.advance(&mut state, 5 * SECOND + SECOND / 2, &NOTHING);
    // Half a second at 50 W, half at 200 W.
    assert_near(average_mw(&state.gpus[0], state.sim_ns), 125_000.0);
    assert_near(state.gpus[0].power_mw, 200_000.0);
    world.advance(&mut state, 6 * SECOND, &NOTHING);
    assert_near(average_mw(&state.gpus[0], state.sim_ns), 200_000.0);
}

#[test]
fn a_change_of_clock_counts_from_its_moment() {
    let (world, mut state) = (world(), world().initial(1));
    lock(&world, &mut state, 0, 1000);
    let job = start(&mut state, 1, PLAIN);
    world.advance(&mut state, 5 * SECOND, &NOTHING);
    lock(&world, &mut state, 0, 500);
    world.advance(&mut state, 9 * SECOND, &NOTHING);
    // 5 s at 1 step/s, 4 s at half of it.
    assert_near(state.jobs[job].progress, 7.0);
}

#[test]
fn the_last_step_ends_at_its_own_time_and_the_gpu_is_idle_after() {
    let (world, mut state) = (world(), world().initial(1));
    lock(&world, &mut state, 0, 1000);
    let job = start(&mut state, 1, PLAIN);
    state.jobs[job].target = 2.5;
    // 2.5 s at 200 W, 1.5 s at 50 W, however late anybody looks.
    assert_near(drawn(&world, &mut state, 0, 4), 575.0);
    assert_eq!(state.jobs[job].ended_ns, 5 * SECOND / 2);
}

#[test]
fn the_last_of_many_steps_ends_too() {
    let (world, mut state) = (world(), world().initial(1));
    let job = start(&mut state, 1, PLAIN);
    (state.jobs[job].progress, state.jobs[job].target) = (1e8 + 0.3, 1e8 + 1.0);
    world.advance(&mut state, 2 * SECOND, &NOTHING);
    // 0.7 steps of 0.75 s, to within the tolerance of 1e-4 steps.
    assert!(state.jobs[job].ended_ns.abs_diff(525_000_000) < 200_000, "{}", state.jobs[job].ended_ns);
}

#[test]
fn start_up_draws_blocked_power() {
    let (world, mut state) = (world(), world().initial(1));
    let job = start(&mut state, 1, PLAIN);
    state.jobs[job].begins_ns = 3 * SECOND;
    lock(&world, &mut state, 0, 1000);
    // 3 s at 80 W, 1 s at 200 W.
    assert_near(drawn(&world, &mut state, 0, 4), 440.0);
    assert_near(state.jobs[job].progress, 1.0);
}

#[test]
fn a_gang_waits_for_its_slowest_gpu_and_its_ring() {
    let (world, mut state) = (world(), world().initial(1));
    lock(&world, &mut state, 0, 1000);
    lock(&world, &mut state, 1, 500);
    let job = start(&mut state, 0b11, GANG);
    // Slowest 2 s; 2 (2-1)/2 x 1 GB at 2 GB/s = 0.5 s: 2.5 s a step.
    world.advance(&mut state, 10 * SECOND, &NOTHING);
    assert_near(state.jobs[job].progress, 4.0);
    // GPU 0 computes 1 s of 2.5 at 200 W and waits at 80 W: (200 + 120) / 2.5.
    assert_near(state.gpus[0].power_mw, 128_000.0);
    assert_near(state.gpus[1].power_mw, (2.0 * 100_000.0 + 0.5 * 80_000.0) / 2.5);
}

#[test]
fn gangs_on_a_shared_link_slow_each_other() {
    let (world, mut state) = (world(), world().initial(1));
    (0..4).for_each(|gpu| lock(&world, &mut state, gpu, 1000));
    let first = start(&mut state, 0b0011, GANG);
    world.advance(&mut state, 3 * SECOND, &NOTHING);
    // Alone 1 + 0.5 s; with another gang 1 + 1 s.
    assert_near(state.jobs[first].progress, 2.0);
    start(&mut state, 0b1100, GANG);
    world.advance(&mut state, 7 * SECOND, &NOTHING);
    assert_near(state.jobs[first].progress, 4.0);
}

#[test]
fn processes_on_one_gpu_take_turns() {
    let (world, mut state) = (world(), world().initial(1));
    lock(&world, &mut state, 0, 1000);
    let jobs = [start(&mut state, 1, PLAIN), start(&mut state, 1, PLAIN)];
    assert_near(drawn(&world, &mut state, 0, 10), 2000.0);
    for job in jobs {
        assert_near(state.jobs[job].progress, 5.0);
    }
}

#[test]
fn before_volta_the_application_clock_holds() {
    let (world, mut state) = (world(), world().initial(1));
    start(&mut state, 1 << 4, PLAIN);
    world.advance(&mut state, SECOND, &NOTHING);
    assert_eq!((state.gpus[4].sm_mhz, state.gpus[4].reasons), (1000, reason::SETTING));
    settings::set_application(world.config.kind(4), &mut state.gpus[4], 1000, 1500).unwrap();
    world.advance(&mut state, 2 * SECOND, &NOTHING);
    assert_eq!((state.gpus[4].sm_mhz, state.gpus[4].reasons), (1500, 0));
}

#[test]
fn heat_lowers_the_clock_and_keeps_the_temperature_at_the_threshold() {
    let mut world = world();
    world.config.gpus[0].warmer_c = 35.0;
    let mut state = world.initial(1);
    start(&mut state, 1, PLAIN);
    // Steady at 400 W: 27 + 35 + 42 = 104 degrees, above 87.
    let mut seen = 0;
    for second in 1..=300 {
        world.advance(&mut state, second * SECOND, &NOTHING);
        assert!(state.gpus[0].temperature_c < 87.5, "{}", state.gpus[0].temperature_c);
        seen |= state.gpus[0].reasons;
    }
    assert_ne!(seen & reason::HEAT, 0);
    assert!(state.gpus[0].heat_capped_ns > 100 * SECOND);
    assert!(state.gpus[0].temperature_c > 80.0);
}

#[test]
fn one_long_span_is_many_short_ones() {
    let run = |step_ns: u64| {
        let (world, mut state) = (world(), world().initial(1));
        lock(&world, &mut state, 0, 1000);
        let job = start(&mut state, 0b11, GANG);
        state.jobs[job].begins_ns = 1_234_567_890;
        state.jobs[job].target = 7.0;
        while state.sim_ns < 40 * SECOND {
            let next = (state.sim_ns + step_ns).min(40 * SECOND);
            world.advance(&mut state, next, &NOTHING);
        }
        state
    };
    let (long, short) = (run(40 * SECOND), run(7_654_321));
    for gpu in 0..2 {
        let (long, short) = (&long.gpus[gpu], &short.gpus[gpu]);
        assert_near(long.counter_mj, short.counter_mj);
        assert_near(average_mw(long, 40 * SECOND), average_mw(short, 40 * SECOND));
        assert_near(long.temperature_c, short.temperature_c);
    }
    // The end may differ by the nanosecond to which spans are rounded.
    assert!(long.jobs[0].ended_ns.abs_diff(short.jobs[0].ended_ns) <= 2);
}

#[test]
fn a_silently_lower_clock_has_no_reason() {
    let (world, mut state) = (world(), world().initial(1));
    let mut lowered = NOTHING;
    lowered[0] = 100;
    start(&mut state, 1, PLAIN);
    world.advance(&mut state, SECOND, &lowered);
    // 1500 - 100 MHz snaps down to 1000.
    assert_eq!((state.gpus[0].sm_mhz, state.gpus[0].reasons), (1000, 0));
}

#[test]
fn requested_clocks_snap_down_to_supported_ones() {
    let (world, mut state) = (world(), world().initial(1));
    for (asked, snapped) in [(1499, 1000), (1500, 1500), (9999, 1500), (1, 250), (750, 750)] {
        lock(&world, &mut state, 0, asked);
        assert_eq!(state.gpus[0].lock_max, snapped, "{asked}");
    }
    let kind = world.config.kind(0);
    settings::lock_sm(kind, &mut state.gpus[0], 1000, 1000, 2).unwrap();
    assert_eq!(state.gpus[0].lock_max, 500);
}
