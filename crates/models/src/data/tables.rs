//! The three tables: every column once, for writers, readers and the dictionary.

use std::collections::BTreeSet;

use super::column::{Column, Value};
use super::counters;
use super::rows::{Gang, Pair, Point, Provenance, Side};

/// The longest time, s; the most of anything else that is counted.
const MOST: f64 = 1e18;
/// Above 0, as near as a number comes.
const ABOVE_ZERO: f64 = f64::MIN_POSITIVE;

/// A row of a table.
pub trait Row: Default + 'static {
    /// Name of the table and of its files.
    const TABLE: &'static str;
    /// What a row is.
    const MEANING: &'static str;

    /// The columns that every such table has.
    fn columns() -> Vec<Column<Self>>;

    /// Names of counters that rows have.
    fn counters(_rows: &[Self]) -> BTreeSet<String> {
        BTreeSet::new()
    }

    /// The column of a counter.
    fn counter(_name: &str) -> Option<Column<Self>> {
        None
    }
}

/// All columns of a table with these rows.
pub fn columns_of<R: Row>(rows: &[R]) -> Vec<Column<R>> {
    let mut columns = R::columns();
    columns.extend(R::counters(rows).iter().filter_map(|name| R::counter(name)));
    columns
}

/// A column over a field of the same name.
macro_rules! field {
    ($row:ty, $field:ident, $meaning:expr) => {
        Column::new(
            stringify!($field),
            $meaning,
            |row: &$row| row.$field.clone(),
            |row: &mut $row, value| row.$field = value,
        )
    };
}

impl Row for Point {
    const TABLE: &'static str = "points";
    const MEANING: &'static str = "One workload at one operating point of one type of GPU.";

    fn columns() -> Vec<Column<Self>> {
        let mut columns = vec![
            field!(Self, source, "short name of the source"),
            field!(Self, gpu, "type of GPU"),
            field!(Self, workload, "name of what ran, unique within source and GPU"),
            field!(Self, model, "model, application or kernel alone"),
            field!(Self, step, "what one step is"),
            field!(Self, batch, "samples of one GPU in one step")
                .within("samples", ABOVE_ZERO, MOST)
                .missing("not stated"),
            field!(Self, gpus, "GPUs that ran it together, communication included").within("GPUs", 1.0, MOST),
            field!(Self, sm_mhz, "locked SM clock").within("MHz", 1.0, 1e5).missing("not locked: default"),
            field!(Self, mem_mhz, "locked memory clock").within("MHz", 1.0, 1e5).missing("not locked: default"),
            field!(Self, power_limit_w, "power limit of one GPU").within("W", 0.001, 1e6).missing("default"),
            field!(Self, time_s, "time of one step; with the flag `time_relative` in an unknown unit")
                .within("s", ABOVE_ZERO, 1e9)
                .missing("not measured"),
            field!(Self, power_w, "mean board power of one GPU").within("W", ABOVE_ZERO, 1e6).missing("not measured"),
            field!(Self, energy_j, "energy of one GPU in one step: always `power_w` x `time_s`")
                .within("J", ABOVE_ZERO, 1e15)
                .missing("time or power missing or unusable"),
            field!(Self, time_spread, "standard deviation of the time over its mean")
                .within("", 0.0, MOST)
                .missing("not stated"),
            field!(Self, power_spread, "standard deviation of the power over its mean")
                .within("", 0.0, MOST)
                .missing("not stated"),
            field!(Self, samples, "measurements behind the means").within("", 1.0, MOST).missing("not stated"),
            field!(Self, flags, "what is suspicious, separated by blanks").missing("nothing"),
        ];
        columns.extend(provenance(|row: &Self| &row.provenance, |row| &mut row.provenance));
        columns
    }

    fn counters(rows: &[Self]) -> BTreeSet<String> {
        rows.iter().flat_map(|row| row.counters.keys().cloned()).collect()
    }

    fn counter(name: &str) -> Option<Column<Self>> {
        let (read, write) = (name.to_owned(), name.to_owned());
        let counter = counters::find(name);
        let column = Column::new(
            format!("counter_{name}"),
            counter.meaning,
            move |row: &Self| row.counters.get(&read).copied(),
            move |row: &mut Self, value: Option<f64>| {
                if let Some(value) = value {
                    row.counters.insert(write.clone(), value);
                }
            },
        );
        Some(column.within(counter.unit, 0.0, counter.most).missing("not measured"))
    }
}

impl Row for Pair {
    const TABLE: &'static str = "pairs";
    const MEANING: &'static str = "Two jobs side by side on the same GPUs; unordered, each pair once.";

    fn columns() -> Vec<Column<Self>> {
        let mut columns = vec![
            field!(Self, source, "short name of the source"),
            field!(Self, series, "series of measurements within the source"),
            field!(Self, gpu, "type of GPU"),
            field!(Self, gpus, "GPUs that both jobs have").within("GPUs", 1.0, MOST),
            field!(Self, consolidated, "whether they sat on as few nodes as possible").missing("not stated"),
        ];
        columns.extend(side("a", |row: &Self| &row.a, |row| &mut row.a));
        columns.extend(side("b", |row: &Self| &row.b, |row| &mut row.b));
        columns.push(field!(Self, can_share, "whether the two can share a GPU: both rates above 0"));
        columns.push(field!(Self, flags, "what is suspicious, separated by blanks").missing("nothing"));
        columns.extend(provenance(|row: &Self| &row.provenance, |row| &mut row.provenance));
        columns
    }
}

impl Row for Gang {
    const TABLE: &'static str = "gangs";
    const MEANING: &'static str = "One step of a workload on one or more GPUs at the default operating point.";

    fn columns() -> Vec<Column<Self>> {
        let mut columns = vec![
            field!(Self, source, "short name of the source"),
            field!(Self, gpu, "type of GPU"),
            field!(Self, workload, "name of what ran, unique within source and GPU"),
            field!(Self, model, "model alone"),
            field!(Self, batch, "samples of one GPU in one step")
                .within("samples", ABOVE_ZERO, MOST)
                .missing("not stated"),
            field!(Self, gpus, "GPUs of the gang").within("GPUs", 1.0, MOST),
            field!(Self, nodes, "nodes they were spread over").within("nodes", 1.0, MOST).missing("not stated"),
            field!(Self, consolidated, "whether they sat on as few nodes as possible").missing("not stated"),
            field!(Self, time_s, "time of one step, communication included").within("s", ABOVE_ZERO, 1e9),
            field!(Self, power_w, "mean board power of one GPU").within("W", ABOVE_ZERO, 1e6).missing("not measured"),
        ];
        columns.extend(gang_stages());
        columns.extend(gang_model());
        columns.push(field!(Self, flags, "what is suspicious, separated by blanks").missing("nothing"));
        columns.extend(provenance(|row: &Self| &row.provenance, |row| &mut row.provenance));
        columns
    }
}

fn gang_stages() -> Vec<Column<Gang>> {
    let second = |column: Column<Gang>| column.within("s", 0.0, 1e9).missing("not measured");
    vec![
        second(field!(Gang, load_s, "loading and preparing the input of one step; the three stages overlap")),
        second(field!(Gang, compute_s, "computing of one step")),
        second(field!(Gang, network_s, "communicating of one step")),
    ]
}

fn gang_model() -> Vec<Column<Gang>> {
    vec![
        field!(Gang, gradient_bytes, "bytes of one all-reduce").within("bytes", 0.0, MOST).missing("not stated"),
        field!(Gang, tokens_per_s, "tokens of the whole gang")
            .within("1/s", ABOVE_ZERO, MOST)
            .missing("no language model"),
        field!(Gang, parameters, "trained parameters").within("", 1.0, MOST).missing("not stated"),
        field!(Gang, sequence_tokens, "tokens of one sample").within("tokens", 1.0, MOST).missing("no language model"),
        field!(Gang, micro_batch, "samples of one GPU in one pass; several passes make a step")
            .within("samples", ABOVE_ZERO, MOST)
            .missing("not stated"),
        field!(Gang, precision, "number format").missing("not stated"),
        field!(Gang, sharding, "how weights, gradients and optimizer state are spread").missing("not stated"),
        field!(Gang, recompute, "whether activations are computed again in the backward pass").missing("not stated"),
        field!(Gang, offload, "whether activations are kept in host memory").missing("not stated"),
    ]
}

/// A part of a row, to read and to change.
type Part<R, I> = (fn(&R) -> &I, fn(&mut R) -> &mut I);
/// A field of a part, to read and to change.
type Access<I, V> = (fn(&I) -> V, fn(&mut I, V));

/// A column over a field inside a row.
fn inner<R: 'static, I: 'static, V: Value + 'static>(
    name: impl Into<String>,
    meaning: &str,
    outer: Part<R, I>,
    field: Access<I, V>,
) -> Column<R> {
    Column::new(name, meaning, move |row| field.0(outer.0(row)), move |row, value| field.1(outer.1(row), value))
}

fn provenance<R: 'static>(get: fn(&R) -> &Provenance, get_mut: fn(&mut R) -> &mut Provenance) -> Vec<Column<R>> {
    let outer = (get, get_mut);
    let column = |name, meaning, field| inner(name, meaning, outer, field).missing("not stated");
    vec![
        column("file", "file inside the repository", (|p| p.file.clone(), |p, v| p.file = v)),
        column("commit", "revision of the repository", (|p| p.commit.clone(), |p, v| p.commit = v)),
        column("repository", "where it was published", (|p| p.repository.clone(), |p, v| p.repository = v)),
        column("licence", "licence of the measurement", (|p| p.licence.clone(), |p, v| p.licence = v)),
    ]
}

fn side<R: 'static>(which: &str, get: fn(&R) -> &Side, get_mut: fn(&mut R) -> &mut Side) -> Vec<Column<R>> {
    let outer = (get, get_mut);
    let name = |field: &str| format!("{field}_{which}");
    vec![
        inner(name("job"), "the job as the source names it", outer, (|s| s.job.clone(), |s, v| s.job = v)),
        inner(name("model"), "its model alone", outer, (|s| s.model.clone(), |s, v| s.model = v)),
        inner(name("batch"), "its batch size", outer, (|s| s.batch, |s, v| s.batch = v))
            .within("samples", ABOVE_ZERO, MOST)
            .missing("not stated"),
        inner(
            name("alone_rate"),
            "its steps with the GPU to itself",
            outer,
            (|s| s.alone_rate, |s, v| s.alone_rate = v),
        )
        .within("1/s", ABOVE_ZERO, MOST)
        .missing("not measured"),
        inner(
            name("shared_rate"),
            "its steps next to the other job; 0: they cannot share",
            outer,
            (|s| s.shared_rate, |s, v| s.shared_rate = v),
        )
        .within("1/s", 0.0, MOST),
    ]
}
