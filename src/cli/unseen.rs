//! `rats unseen`: the curve of a kernel that was measured at a few operating points only, from kernels like it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use rats_domain::codes::Code;
use rats_domain::problem::{Problem, Problems};
use rats_models::data::Point;
use rats_models::unseen::{Estimate, Measured, OperatingPoint, Prediction, UnseenModel};

use super::Answer;
use super::rows::rows;
use crate::document::json;
use crate::report::{Align, number, printable, table};

/// Of `rats unseen`.
#[derive(Debug, Args)]
pub struct UnseenArgs {
    /// The folder of a data set, as `rats dataset build` writes it; instances/profiles if absent.
    pub dataset: Option<PathBuf>,
    /// Whose kernels to learn from.
    #[arg(long, value_name = "SOURCE/GPU")]
    pub like: String,
    /// A measurement of the new kernel: `sm=MHZ,mem=MHZ,limit=W,time=S,power=W`; what is default or unknown is left out.
    /// May be given more than once.
    #[arg(long, value_name = "LIST")]
    pub measured: Vec<Measurement>,
    /// A hardware counter at the first measured point, by its name in the data set; may be given more than once.
    #[arg(long, value_name = "NAME=VALUE")]
    pub counter: Vec<NamedValue>,
    /// Do not predict: name this many operating points that would tell most, given those measured.
    #[arg(long, value_name = "N")]
    pub next: Option<usize>,
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
}

/// A name and a number.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedValue(String, f64);

impl FromStr for NamedValue {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) = text.split_once('=').ok_or("must be NAME=VALUE")?;
        let value = value.trim().parse().map_err(|_| format!("`{value}` is no number"))?;
        Ok(Self(name.trim().to_owned(), value))
    }
}

/// One measurement on the command line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measurement(Measured);

impl FromStr for Measurement {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut point = Point::default();
        for part in text.split(',').filter(|part| !part.trim().is_empty()) {
            let NamedValue(name, value) = part.parse()?;
            #[expect(clippy::cast_possible_truncation, reason = "checked to be whole and small")]
            let clock = || match value {
                _ if value.fract() == 0.0 && (1.0..1e6).contains(&value) => Ok(Some(value as i64)),
                _ => Err(format!("`{part}`: a clock is a whole number of MHz")),
            };
            match name.as_str() {
                "sm" => point.sm_mhz = clock()?,
                "mem" => point.mem_mhz = clock()?,
                "limit" => point.power_limit_w = Some(value),
                "time" => point.time_s = Some(value),
                "power" => point.power_w = Some(value),
                _ => return Err(format!("`{name}` is none of sm, mem, limit, time, power")),
            }
        }
        let at = OperatingPoint::of(&point);
        Ok(Self(Measured { at, time: point.time_s, power: point.power_w }))
    }
}

pub(super) fn run(args: &UnseenArgs) -> Result<Answer, Problems> {
    let points = rows(args.dataset.as_deref())?.points;
    let name = |point: &Point| format!("{}/{}", point.source, point.gpu);
    let like: Vec<Point> = points.iter().filter(|point| name(point) == args.like).cloned().collect();
    if like.is_empty() {
        let mut names: Vec<String> = points.iter().map(name).collect();
        names.dedup();
        let message = format!("the data set has no points of it; it has {}.", names.join(", "));
        return Err(Problem::new(Code::D06, printable(&args.like), message).into());
    }
    let model = UnseenModel::train(&like)?;
    let measured: Vec<Measured> = args.measured.iter().map(|measurement| measurement.0).collect();
    if let Some(count) = args.next {
        let at: Vec<OperatingPoint> = measured.iter().map(|measured| measured.at).collect();
        let next = model.next_points(&at, count)?;
        let lines = next.iter().map(|point| format!("{point}\n")).collect::<Vec<_>>().concat();
        return Ok(Answer::done(if args.json { json(&next) } else { lines }));
    }
    let counters: BTreeMap<String, f64> =
        args.counter.iter().map(|NamedValue(name, value)| (name.clone(), *value)).collect();
    let curve = model.predict(&counters, &measured)?;
    Ok(Answer::done(if args.json { json(&curve) } else { text(&curve) }))
}

fn text(curve: &[Prediction]) -> String {
    let head = ["OPERATING POINT", "TIME", "90 %", "POWER W", "90 %", "ENERGY", ""];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    let energy = |at: &Prediction| Some(at.time?.value * at.power?.value);
    let least = curve.iter().filter_map(energy).fold(f64::INFINITY, f64::min);
    rows.extend(curve.iter().map(|at| {
        let [time, power] = [at.time, at.power].map(|value| value.map_or_else(no_value, shown));
        let best = energy(at).is_some_and(|energy| energy <= least);
        let mark = match (at.measured, best) {
            (true, true) => "measured, least energy",
            (true, false) => "measured",
            (false, true) => "least energy",
            (false, false) => "",
        };
        let [time, within] = time;
        let [power, within_power] = power;
        let energy = energy(at).map_or_else(String::new, number);
        vec![at.at.to_string(), time, within, power, within_power, energy, mark.to_owned()]
    }));
    let (left, right) = (Align::Left, Align::Right);
    table(&rows, &[left, right, left, right, left, right, left])
}

fn no_value() -> [String; 2] {
    [String::new(), String::new()]
}

fn shown(estimate: Estimate) -> [String; 2] {
    let interval = estimate.interval.filter(|(low, high)| low < high);
    let interval = interval.map_or_else(String::new, |(low, high)| format!("{} to {}", number(low), number(high)));
    [number(estimate.value), interval]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measurement_is_read_and_what_is_wrong_is_named() {
        let Measurement(read) = "sm=975, mem=3505,time=2.5,power=130".parse().unwrap();
        assert_eq!(read.at, OperatingPoint { mem_mhz: Some(3505), sm_mhz: Some(975), power_limit_mw: None });
        assert_eq!((read.time, read.power), (Some(2.5), Some(130.0)));
        let wrong = |text: &str| text.parse::<Measurement>().unwrap_err();
        assert_eq!(wrong("sm=975.5"), "`sm=975.5`: a clock is a whole number of MHz");
        assert_eq!(wrong("core=1"), "`core` is none of sm, mem, limit, time, power");
        assert_eq!(wrong("sm"), "must be NAME=VALUE");
        assert_eq!(wrong("time=fast"), "`fast` is no number");
    }
}
