//! The heuristic in its own terms: continuous clocks of a grid, queues of tasks, servers that fall asleep.
//!
//! # Idea
//! At every unit of time the tasks that arrived are taken by deadline. A task goes to the GPU that frees first among
//! those of powered servers, at its cheapest clocks if it then ends in time, else sped up to fit if that leaves it more
//! than a part theta of its cheapest time and more than its least time; otherwise to the first GPU of a server that is
//! powered on. A server sleeps once all its GPUs have been idle for two units.
//!
//! # Model
//! Offline, tasks whose cheapest clocks do not fit between arrival and deadline get a GPU each first ("deadline prior"),
//! at the cheapest clocks that do fit. Without DVFS every task runs at the default clocks.
//!
//! # Complexity
//! Tasks times log GPUs, plus the GPUs once for every unit of time in which tasks arrive.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::task::{DEFAULT, Task, UNIT_S};

/// Units of idle time after which a server sleeps.
const SLEEPS_AFTER: f64 = 2.0;
/// What rounding may add to a time.
const NOISE: f64 = 1e-9;

/// What is asked of a run.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// GPUs of a server.
    pub per_server: usize,
    /// Number of GPUs.
    pub gpus: usize,
    /// Theta, or `None` for no DVFS.
    pub theta: Option<f64>,
    /// What happens if no clocks within the slack are cheaper than the default ones.
    pub dear: Dear,
}

/// What happens to a task that passes the test of theta although speeding it up would cost more than the default
/// clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dear {
    /// A server is powered on for it: all deadlines are kept.
    Wakes,
    /// It stays at its cheapest clocks and misses its deadline, as in the authors' public program; there, deadline-prior
    /// tasks miss theirs too.
    Late,
}

/// What a run uses, before it is priced.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Used {
    /// Energy of running tasks, W x units.
    pub run: f64,
    /// GPU x units in which a powered server has a GPU that runs nothing.
    pub idle: f64,
    /// Servers powered on, each time.
    pub turn_ons: u32,
    /// Tasks that end after their deadline.
    pub late: u32,
    /// Tasks that were sped up to fit.
    pub sped_up: u32,
}

/// What idling and powering on cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prices {
    /// Power of a GPU of a powered server that runs nothing, W.
    pub idle_w: f64,
    /// Powering on a server, W x units.
    pub turn_on: f64,
}

impl Used {
    /// The energy, W x units.
    pub fn energy(&self, prices: Prices) -> f64 {
        self.run + self.idle * prices.idle_w + f64::from(self.turn_ons) * prices.turn_on
    }
}

/// Time in units and power in W.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Point {
    time: f64,
    power: f64,
}

impl Point {
    fn energy(self) -> f64 {
        self.time * self.power
    }
}

/// A task as the heuristic sees it.
#[derive(Clone, Debug)]
pub struct Job {
    arrival: i64,
    deadline: f64,
    default: Point,
    grid: Vec<Point>,
    cheapest: Point,
    least: f64,
}

impl Job {
    /// The points of a task.
    pub fn of(task: &Task) -> Self {
        let unit = UNIT_S as f64;
        let point = |clocks| Point { time: task.seconds(clocks) / unit, power: task.watts(clocks) };
        let default = point(DEFAULT);
        let grid: Vec<Point> = task.grid().map(point).collect();
        let cheapest = cheapest(grid.iter().copied().chain([default]), f64::INFINITY).unwrap_or(default);
        let (arrival, least) = (task.arrival, task.least_seconds() / unit);
        Self { arrival, deadline: arrival as f64 + task.window() / unit, default, grid, cheapest, least }
    }

    /// The part of the default energy that the cheapest clocks save.
    pub fn saving(&self) -> f64 {
        1.0 - self.cheapest.energy() / self.default.energy()
    }

    /// Energy at the default and at the cheapest clocks, W x units.
    pub fn energies(&self) -> (f64, f64) {
        (self.default.energy(), self.cheapest.energy())
    }

    /// The point to run at on a server of its own.
    fn own(&self, setting: &Setting) -> Point {
        let window = self.deadline - self.arrival as f64;
        let all = self.grid.iter().copied().chain([self.default]);
        match (setting.theta, setting.dear) {
            (None, _) => self.default,
            (Some(_), Dear::Late) => self.cheapest,
            (Some(_), Dear::Wakes) => cheapest(all, window).unwrap_or(self.default),
        }
    }

    /// The point to run at with this much time left, if it may run there.
    fn queued(&self, slack: f64, own: Point, setting: &Setting) -> Option<Point> {
        if own.time <= slack + NOISE {
            return Some(own);
        }
        if slack <= (setting.theta? * own.time).max(self.least) {
            return None;
        }
        let cheaper = self.grid.iter().copied().filter(|point| point.energy() < self.default.energy());
        cheapest(cheaper, slack).or((setting.dear == Dear::Late).then_some(own))
    }
}

fn cheapest(points: impl Iterator<Item = Point>, longest: f64) -> Option<Point> {
    let fitting = points.filter(|point| point.time <= longest + NOISE);
    fitting.min_by(|a, b| a.energy().total_cmp(&b.energy()))
}

/// Schedules all jobs.
pub fn simulate(jobs: &[Job], setting: Setting) -> Used {
    let mut servers = Servers::new(setting);
    let mut order: Vec<&Job> = jobs.iter().collect();
    order.sort_by(|a, b| a.arrival.cmp(&b.arrival).then(a.deadline.total_cmp(&b.deadline)));
    for batch in order.chunk_by(|a, b| a.arrival == b.arrival) {
        servers.now = batch[0].arrival as f64;
        servers.sleep();
        let prior = |job: &&&Job| setting.theta.is_some() && job.arrival == 0 && job.cheapest.time > job.deadline;
        for (gpu, job) in batch.iter().filter(prior).enumerate() {
            if gpu % setting.per_server == 0 {
                servers.power_on();
            }
            servers.append(gpu, job, job.own(&setting));
        }
        servers.line_up();
        for job in batch.iter().filter(|job| !prior(job)) {
            servers.take(job);
        }
    }
    servers.shut_down()
}

/// A number that a heap can order.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Time(f64);

impl Eq for Time {}

impl PartialOrd for Time {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Time {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// The servers at a time.
struct Servers {
    setting: Setting,
    now: f64,
    /// When each GPU is done with what it was given.
    ends: Vec<f64>,
    /// Since when each server is powered, and the time for which its GPUs run; `None` while it sleeps.
    powered: Vec<Option<(f64, f64)>>,
    /// GPUs of powered servers, first to free first.
    queue: BinaryHeap<Reverse<(Time, usize)>>,
    used: Used,
}

impl Servers {
    fn new(setting: Setting) -> Self {
        let servers = setting.gpus / setting.per_server;
        Self {
            setting,
            now: 0.0,
            ends: vec![0.0; servers * setting.per_server],
            powered: vec![None; servers],
            queue: BinaryHeap::new(),
            used: Used::default(),
        }
    }

    fn gpus_of(&self, server: usize) -> std::ops::Range<usize> {
        server * self.setting.per_server..(server + 1) * self.setting.per_server
    }

    fn last_end(&self, server: usize) -> f64 {
        self.ends[self.gpus_of(server)].iter().copied().fold(0.0, f64::max)
    }

    /// Puts servers to sleep whose time has come.
    fn sleep(&mut self) {
        for server in 0..self.powered.len() {
            let until = self.last_end(server) + SLEEPS_AFTER;
            if self.powered[server].is_some() && until <= self.now {
                self.close(server, until);
            }
        }
    }

    fn close(&mut self, server: usize, until: f64) {
        if let Some((since, busy)) = self.powered[server].take() {
            self.used.idle += (until - since) * self.setting.per_server as f64 - busy;
        }
    }

    /// Makes the queue of all powered GPUs.
    fn line_up(&mut self) {
        let powered = (0..self.powered.len()).filter(|&server| self.powered[server].is_some());
        let gpus = powered.flat_map(|server| self.gpus_of(server));
        self.queue = gpus.map(|gpu| Reverse((Time(self.ends[gpu]), gpu))).collect();
    }

    /// Powers the first server on that sleeps.
    fn power_on(&mut self) -> Option<usize> {
        let server = self.powered.iter().position(Option::is_none)?;
        self.powered[server] = Some((self.now, 0.0));
        self.used.turn_ons += 1;
        Some(server)
    }

    fn take(&mut self, job: &Job) {
        let own = job.own(&self.setting);
        let first = self.queue.peek().map(|&Reverse((Time(end), gpu))| (end, gpu));
        let slack = first.map(|(end, _)| job.deadline - end.max(self.now));
        let queued = slack.and_then(|slack| job.queued(slack, own, &self.setting));
        let woken = if queued.is_none() { self.power_on() } else { None };
        match (woken, first) {
            (Some(server), _) => {
                self.append(self.gpus_of(server).start, job, own);
                let gpus = self.gpus_of(server);
                self.queue.extend(gpus.map(|gpu| Reverse((Time(self.ends[gpu]), gpu))));
            }
            // Without a server left the task waits, and may be late.
            (None, Some((_, gpu))) => {
                self.queue.pop();
                self.append(gpu, job, queued.unwrap_or(own));
                self.queue.push(Reverse((Time(self.ends[gpu]), gpu)));
            }
            (None, None) => self.used.late += 1,
        }
    }

    fn append(&mut self, gpu: usize, job: &Job, point: Point) {
        self.ends[gpu] = self.ends[gpu].max(self.now) + point.time;
        if let Some((_, busy)) = &mut self.powered[gpu / self.setting.per_server] {
            *busy += point.time;
        }
        self.used.run += point.energy();
        self.used.late += u32::from(self.ends[gpu] > job.deadline + NOISE);
        self.used.sped_up += u32::from(point.time < job.cheapest.time && self.setting.theta.is_some());
    }

    /// Ends the run: offline, a server sleeps as soon as it is done.
    fn shut_down(mut self) -> Used {
        let wait = if self.now > 0.0 { SLEEPS_AFTER } else { 0.0 };
        for server in 0..self.powered.len() {
            self.close(server, self.last_end(server) + wait);
        }
        self.used
    }
}
