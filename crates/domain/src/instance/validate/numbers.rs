//! Collects problems while numbers of the file become integers of the right unit.

use crate::codes::Code;
use crate::decimal::Decimal;
use crate::format::{StepFile, StepsFile};
use crate::instance::MAX_TICK;
use crate::problem::{Problem, Warning};
use crate::steps::Steps;
use crate::units::{KilobytesPerSecond, Mebibytes, MicrosPerKwh, Millijoules, Milliwatts, Thousandths, Ticks};

/// Largest power in W, bandwidth in GB/s, resource amount and price.
const LARGEST: i128 = 1_000_000_000;
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
        self.problem(Code::I02, place, format!("{value} is not in {least}..={MAX_TICK}."));
        least
    }

    pub fn ticks(&mut self, place: &str, value: i64) -> Ticks {
        Ticks(self.integer(place, value, 0))
    }

    pub fn memory(&mut self, place: &str, value: i64) -> Mebibytes {
        if !(0..=LARGEST_MEMORY).contains(&value) {
            self.problem(Code::I02, place, format!("{value} MiB is not in 0..={LARGEST_MEMORY}."));
        }
        Mebibytes(value)
    }

    pub fn watts(&mut self, place: &str, value: Decimal) -> Milliwatts {
        Milliwatts(self.amount(place, value, 3, "W"))
    }

    pub fn gigabytes_per_second(&mut self, place: &str, value: Decimal) -> KilobytesPerSecond {
        KilobytesPerSecond(self.amount(place, value, 6, "GB/s"))
    }

    pub fn thousandths(&mut self, place: &str, value: Decimal) -> Thousandths {
        Thousandths(self.amount(place, value, 3, "units"))
    }

    pub fn joules(&mut self, place: &str, value: Decimal) -> Millijoules {
        Millijoules(self.scaled(place, value, 3, 0..=LARGEST_ENERGY, "J"))
    }

    pub fn weight(&mut self, place: &str, value: Decimal) -> f64 {
        let weight = value.to_f64();
        if value.is_negative() || !weight.is_finite() || weight > LARGEST_WEIGHT {
            self.problem(Code::I02, place, format!("the weight {value} is not in 0..={LARGEST_WEIGHT:e}."));
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
            let price = collector.scaled(place, value, 6, -LARGEST..=LARGEST, "per kWh");
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

    fn amount(&mut self, place: &str, value: Decimal, decimals: u32, unit: &str) -> i64 {
        i64::try_from(self.scaled(place, value, decimals, 0..=LARGEST, unit)).unwrap_or(0)
    }

    fn scaled(
        &mut self,
        place: &str,
        value: Decimal,
        decimals: u32,
        range: std::ops::RangeInclusive<i128>,
        unit: &str,
    ) -> i128 {
        let scale = 10_i128.pow(decimals);
        match value.scaled(decimals) {
            None => {
                self.problem(Code::I03, place, format!("{value} {unit} has more than {decimals} decimals."));
                0
            }
            Some(scaled) if scaled < range.start() * scale || scaled > range.end() * scale => {
                let message = format!("{value} {unit} is not in {}..={}.", range.start(), range.end());
                self.problem(Code::I02, place, message);
                0
            }
            Some(scaled) => scaled,
        }
    }
}
