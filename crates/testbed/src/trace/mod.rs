//! `trace.jsonl`: everything that a run did and saw, line by line.

mod read;
mod record;
mod write;

pub use self::read::{Trace, read};
pub use self::record::{
    Begin, End, FORMAT, JobRecord, JobState, Line, Note, Planned, PlannedJob, Reading, Record, Sampling, SetRecord,
    TRACE_FILE, TracePoint,
};
pub use self::write::Writer;
