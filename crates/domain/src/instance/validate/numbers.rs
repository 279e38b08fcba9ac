//! Collects problems while numbers of the file become integers of the right unit.

use std::ops::RangeInclusive;

use crate::codes::Code;
use crate::decimal::{Decimal, excerpt};
use crate::format::{StepFile, StepsFile};
use crate::instance::MAX_TICK;
use crate::problem::{Problem, Warning};
use crate::steps::Steps;
use crate::units::{KilobytesPerSecond, Mebibytes, MicrosPerKwh, Millijoules, Milliwatts, Thousandths, Ticks};

// The limits keep sums over a whole cluster, 10^6 GPUs and 10^6 jobs, within 64 bits (power, traffic) and 128 bits
// (energy), whatever a plan does.

/// Largest power in W, resource amount and price.
const LARGEST: i128 = 1_000_000_000;
/// Largest bandwidth in GB/s.
const LARGEST_BANDWIDTH: i128 = 1_000_000;
/// Largest energy in J.
const LARGEST_ENERGY: i128 = 1_000_000_000_000_000_000_000;
/// Largest weight.
const LARGEST_WEIGHT: f64 = 1e30;
/// Largest memory in MiB.
const LARGEST_MEMORY: i64 = 1 << 40;

/// Problems and warnings found so far.
#[derive(Default)]
pub(super) struct Collector {
    pub problems: Vec<Problem>,
    pub warnings: Vec<Warning>,
}

impl Collector {
    pub fn problem(&mut self, code: Code, place: impl Into<String>, message: impl Into<String>) {
        self.problems.push(Problem::new(code, place, message));
    }

    pub fn id(&mut self, place: &str, id: &str) {
        if id.is_empty() {
            self.problem(Code::I04, place, "the id is empty.");
        } else if id.contains('/') || id.chars().any(char::is_control) {
            self.problem(Code::I04, place, format!("`{}` holds `/` or a control character.", id.escape_debug()));
        }
    }

    /// An integer in `least..=2^31`.
    pub fn integer(&mut self, place: &str, value: i64, least: i64) -> i64 {
        if (least..=MAX_TICK).contains(&value) {
            return value;
        }
        self.problem(Code::I02, place, format!("{value} is not between {least} and {MAX_TICK}."));
        least
    }

    pub fn ticks(&mut self, place: &str, value: i64) -> Ticks {
        Ticks(self.integer(place, value, 0))
    }

    pub fn memory(&mut self, place: &str, value: i64) -> Mebibytes {
        if !(0..=LARGEST_MEMORY).contains(&value) {
            self.problem(Code::I02, place, format!("{value} MiB is not between 0 and {LARGEST_MEMORY}."));
        }
        Mebibytes(value)
    }

    pub fn watts(&mut self, place: &str, value: Decimal) -> Milliwatts {
        Milliwatts(self.amount(place, value, 3, LARGEST, " W"))
    }

    pub fn gigabytes_per_second(&mut self, place: &str, value: Decimal) -> KilobytesPerSecond {
        KilobytesPerSecond(self.amount(place, value, 6, LARGEST_BANDWIDTH, " GB/s"))
    }

    pub fn thousandths(&mut self, place: &str, value: Decimal) -> Thousandths {
        Thousandths(self.amount(place, value, 3, LARGEST, ""))
    }

    pub fn joules(&mut self, place: &str, value: Decimal) -> Millijoules {
        Millijoules(self.scaled(place, value, 3, 0..=LARGEST_ENERGY, " J"))
    }

    pub fn weight(&mut self, place: &str, value: Decimal) -> f64 {
        let weight = value.to_f64();
        if value.is_negative() || !weight.is_finite() || weight > LARGEST_WEIGHT {
            let value = excerpt(&value.to_string());
            self.problem(Code::I02, place, format!("the weight {value} is not between 0 and {LARGEST_WEIGHT:e}."));
            return 0.0;
        }
        weight
    }

    pub fn optional<F, T>(
        &mut self,
        place: &str,
        value: Option<F>,
        convert: impl Fn(&mut Self, &str, F) -> T,
    ) -> Option<T> {
        value.map(|value| convert(self, place, value))
    }

    /// A power limit or power over time: a number or steps.
    pub fn power_steps(&mut self, place: &str, steps: Option<&StepsFile>) -> Option<Steps<Milliwatts>> {
        match steps? {
            StepsFile::Constant(value) => Some(Steps::constant(self.watts(place, *value))),
            StepsFile::Steps(steps) => Some(self.steps(place, steps, Self::watts)),
        }
    }

    /// A tariff: steps from tick 0.
    pub fn tariff(&mut self, place: &str, steps: &[StepFile]) -> Steps<MicrosPerKwh> {
        if steps.first().is_some_and(|first| first.0 != 0) {
            self.problem(Code::I12, place, "the first step of a tariff must be at tick 0.");
        }
        self.steps(place, steps, |collector, place, value| {
            let price = collector.scaled(place, value, 6, -LARGEST..=LARGEST, " per kWh");
            MicrosPerKwh(i64::try_from(price).unwrap_or(0))
        })
    }

    fn steps<V: Copy>(
        &mut self,
        place: &str,
        steps: &[StepFile],
        convert: impl Fn(&mut Self, &str, Decimal) -> V,
    ) -> Steps<V> {
        if steps.is_empty() {
            self.problem(Code::I12, place, "there must be at least one step.");
        }
        if let Some(pair) = steps.windows(2).find(|pair| pair[0].0 >= pair[1].0) {
            let message = format!("tick {} does not come after tick {}.", pair[1].0, pair[0].0);
            self.problem(Code::I12, place, message);
        }
        let convert_step = |(position, step): (usize, &StepFile)| {
            let tick = self.ticks(&format!("{place}[{position}][0]"), step.0);
            (tick, convert(self, &format!("{place}[{position}][1]"), step.1))
        };
        Steps::new(steps.iter().enumerate().map(convert_step).collect())
    }

    fn amount(&mut self, place: &str, value: Decimal, decimals: u32, largest: i128, unit: &str) -> i64 {
        i64::try_from(self.scaled(place, value, decimals, 0..=largest, unit)).unwrap_or(0)
    }

    /// The integer `value` x 10^`decimals`; 0 if `value` has more decimals or lies outside `range`.
    fn scaled(&mut self, place: &str, value: Decimal, decimals: u32, range: RangeInclusive<i128>, unit: &str) -> i128 {
        let scale = 10_i128.pow(decimals);
        let allowed = range.start() * scale..=range.end() * scale;
        if let Some(scaled) = value.scaled(decimals).filter(|scaled| allowed.contains(scaled)) {
            return scaled;
        }
        let written = excerpt(&value.to_string());
        if value.decimals() > decimals {
            self.problem(Code::I03, place, format!("{written}{unit} has more than {decimals} decimals."));
        } else {
            let (least, most) = (range.start(), range.end());
            self.problem(Code::I02, place, format!("{written}{unit} is not between {least} and {most}."));
        }
        0
    }
}
