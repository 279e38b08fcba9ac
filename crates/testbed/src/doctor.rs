//! What stands in the way of measuring and setting GPUs.

use std::time::Duration;

use rats_domain::codes::Code;
use rats_system::clock::{Stopwatch, pause};
use rats_system::files::sentence;

use crate::custody::journal::orphans;
use crate::custody::{GpuLock, Holder, Owner, StateDir, guardian, holder, procfs};
use crate::gpu::{Gpu, GpuError, Gpus, Mig};

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What was looked at, in one word.
    pub check: &'static str,
    /// A GPU's UUID, `NVML`, `state`.
    pub subject: String,
    /// How it is.
    pub state: State,
    /// The code of what is wrong.
    pub code: Option<Code>,
    /// What was found.
    pub message: String,
    /// How to mend it, a command where there is one.
    pub remedy: Option<String>,
}

/// How something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// As it should be.
    Well,
    /// Worth knowing.
    Note,
    /// To be mended.
    Mend,
}

impl State {
    /// Its name in documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::Well => "ok",
            Self::Note => "note",
            Self::Mend => "mend",
        }
    }
}

/// Looks at everything.
///
/// # Errors
/// The driver cannot be asked at all.
pub fn examine(gpus: &Gpus, state: &StateDir) -> Result<Vec<Finding>, GpuError> {
    let mut findings = Findings::default();
    let library = gpus.library().display().to_string();
    let version = gpus.nvml_version()?;
    findings.well("library", "NVML", format!("{library}, version {version}"));
    findings.well("driver", "NVML", format!("driver {}", gpus.driver_version()?));
    let listing = gpus.list()?;
    for (index, error) in &listing.silent {
        findings.error("answer", &format!("GPU {index}"), error, None);
    }
    if listing.gpus.is_empty() {
        findings.mend("answer", "NVML", Code::N03, "no GPU answers".to_owned(), None);
    }
    findings.state(state);
    for gpu in &listing.gpus {
        findings.gpu(gpus, gpu, state);
    }
    Ok(findings.0)
}

#[derive(Default)]
struct Findings(Vec<Finding>);

impl Findings {
    fn well(&mut self, check: &'static str, subject: &str, message: String) {
        let subject = subject.to_owned();
        self.0.push(Finding { check, subject, state: State::Well, code: None, message, remedy: None });
    }

    fn note(&mut self, check: &'static str, subject: &str, code: Option<Code>, message: String) {
        let subject = subject.to_owned();
        self.0.push(Finding { check, subject, state: State::Note, code, message, remedy: None });
    }

    /// Something to mend; without a remedy of its own, the code's.
    fn mend(&mut self, check: &'static str, subject: &str, code: Code, message: String, remedy: Option<String>) {
        let remedy = Some(remedy.unwrap_or_else(|| code.remedy().to_owned()));
        self.0.push(Finding {
            check,
            subject: subject.to_owned(),
            state: State::Mend,
            code: Some(code),
            message,
            remedy,
        });
    }

    fn error(&mut self, check: &'static str, subject: &str, error: &GpuError, remedy: Option<String>) {
        self.mend(check, subject, error.code(), error.to_string(), remedy);
    }

    /// Journals that dead runs left, and whether new ones can be written.
    fn state(&mut self, state: &StateDir) {
        let place = state.path().display().to_string();
        let probe = state.prepare().map_err(|problem| problem.message).and_then(|()| {
            tempfile::Builder::new()
                .prefix(".doctor-")
                .tempfile_in(state.journals())
                .map(drop)
                .map_err(|error| sentence(&error))
        });
        match probe {
            Ok(()) => self.well("state", &place, "journals can be written".to_owned()),
            Err(message) => self.mend("state", &place, Code::N12, message, None),
        }
        let (dead, unread) = orphans(state);
        for orphan in dead {
            let gpus: Vec<_> = orphan.marks.gpus().iter().map(ToString::to_string).collect();
            let on = if gpus.is_empty() { "nothing".to_owned() } else { gpus.join(", ") };
            let message = format!("a run died and left settings on {on}: {}", orphan.owner);
            self.mend("journal", &place, Code::N14, message, Some("rats restore".to_owned()));
        }
        for (path, error) in unread {
            self.mend("journal", &path.display().to_string(), Code::N14, format!("no journal: {error}"), None);
        }
    }

    fn gpu(&mut self, gpus: &Gpus, gpu: &Gpu, state: &StateDir) {
        let facts = gpu.facts();
        let uuid = facts.uuid.to_string();
        let architecture = facts.architecture.map_or("unknown architecture", crate::gpu::Architecture::name);
        self.well("gpu", &uuid, format!("{} at {} ({architecture})", facts.name, facts.pci));
        match gpu.mig() {
            Ok(Mig::On) => {
                let remedy = format!("sudo nvidia-smi -i {uuid} -mig 0");
                self.mend("mig", &uuid, Code::N09, GpuError::Mig.to_string(), Some(remedy));
            }
            Ok(_) => {}
            Err(error) => return self.error("answer", &uuid, &error, None),
        }
        match gpu.persistence() {
            Ok(Some(false)) => {
                let remedy = format!("sudo nvidia-smi -i {uuid} -pm 1");
                self.mend("persistence", &uuid, Code::N20, "persistence mode is off".to_owned(), Some(remedy));
            }
            Ok(_) => self.well("persistence", &uuid, "the driver stays loaded".to_owned()),
            Err(error) => return self.error("answer", &uuid, &error, None),
        }
        self.strangers(gpus, gpu);
        self.counter(gpu);
        match holder(state, gpu.uuid()) {
            Holder::Run(owner) => {
                let who = owner.map_or_else(|| "a run".to_owned(), |owner| owner.to_string());
                self.note("lock", &uuid, Some(Code::N11), format!("{who} holds it; permission not tested"));
            }
            Holder::Nobody => self.permission(gpu, state),
        }
        self.abilities(gpu);
    }

    fn strangers(&mut self, gpus: &Gpus, gpu: &Gpu) {
        let uuid = gpu.uuid().to_string();
        let pids = gpu.processes().unwrap_or_default();
        for pid in &pids {
            let name = procfs::command(*pid).or_else(|| gpus.process_name(*pid));
            let name = name.unwrap_or_else(|| "in another container or of another user".to_owned());
            self.mend("strangers", &uuid, Code::N16, format!("process {pid} uses it: {name}"), None);
        }
        if pids.is_empty() {
            self.well("strangers", &uuid, "nobody uses it".to_owned());
        }
    }

    /// Sets the power limit to what it is: the same permission as any change, without one.
    fn permission(&mut self, gpu: &Gpu, state: &StateDir) {
        let uuid = gpu.uuid().to_string();
        let owner = Owner::this("doctor").map_err(|error| procfs::problem(&error));
        let _lock = match owner.and_then(|owner| GpuLock::take(state, gpu.uuid(), &owner)) {
            Ok(lock) => lock,
            Err(problem) => {
                self.note("permission", &uuid, Some(problem.code), format!("not tested: {}", problem.message));
                return;
            }
        };
        let limit = gpu.power_limit().and_then(|limit| limit.ok_or(GpuError::NotSupported { what: "the power limit" }));
        match limit.and_then(|limit| gpu.set_power_limit(limit)) {
            Ok(_) => self.well("permission", &uuid, "clocks and limits can be set".to_owned()),
            Err(GpuError::Mig | GpuError::NotSupported { .. }) => {
                self.note("permission", &uuid, None, "not tested: its power limit cannot be set".to_owned());
            }
            Err(error @ GpuError::NoPermission { .. }) => {
                let program = std::env::current_exe().unwrap_or_else(|_| guardian::this_program());
                let remedy = format!("sudo setcap cap_sys_admin+ep {}   (or run as root)", program.display());
                self.error("permission", &uuid, &error, Some(remedy));
            }
            Err(error) => self.error("permission", &uuid, &error, None),
        }
    }

    /// Whether the energy counter moves, and how often.
    fn counter(&mut self, gpu: &Gpu) {
        let uuid = gpu.uuid().to_string();
        match cadence(gpu) {
            Ok(Cadence::Missing) => {
                self.note(
                    "counter",
                    &uuid,
                    Some(Code::N18),
                    "no energy counter; energy is integrated from power".to_owned(),
                );
            }
            Ok(Cadence::Still) => {
                self.mend("counter", &uuid, Code::N18, "the energy counter does not move".to_owned(), None);
            }
            Ok(Cadence::Every(period)) => {
                self.well("counter", &uuid, format!("the energy counter moves every {} ms", period.as_millis()));
            }
            Err(error) => self.error("answer", &uuid, &error, None),
        }
    }

    fn abilities(&mut self, gpu: &Gpu) {
        let facts = gpu.facts();
        let uuid = facts.uuid.to_string();
        if let Some(architecture) = facts.architecture {
            let mut lacks = Vec::new();
            if !architecture.locks_sm() {
                lacks.push("SM clocks");
            }
            if !architecture.locks_memory() {
                lacks.push("memory clocks");
            }
            if !lacks.is_empty() {
                self.note("abilities", &uuid, Some(Code::N05), format!("{} cannot be locked", lacks.join(" and ")));
            }
        }
        if facts.power.is_none() {
            self.note("abilities", &uuid, Some(Code::N05), "the power limit cannot be set".to_owned());
        }
    }
}

enum Cadence {
    Missing,
    Still,
    Every(Duration),
}

/// Watches the counter for up to a second or six changes, whichever comes first.
fn cadence(gpu: &Gpu) -> Result<Cadence, GpuError> {
    const WINDOW: Duration = Duration::from_millis(1200);
    const CHANGES: u32 = 6;
    let Some(mut last) = gpu.sample()?.energy else { return Ok(Cadence::Missing) };
    let watch = Stopwatch::start();
    let (mut first, mut latest, mut changes) = (None, Duration::ZERO, 0);
    while watch.elapsed() < WINDOW && changes <= CHANGES {
        if let Some(now) = gpu.sample()?.energy.filter(|now| *now != last) {
            last = now;
            latest = watch.elapsed();
            first.get_or_insert(latest);
            changes += 1;
        }
        pause(Duration::from_millis(2));
    }
    Ok(match first {
        Some(first) if changes > 1 => Cadence::Every(latest.saturating_sub(first) / (changes - 1)),
        Some(first) => Cadence::Every(first),
        None => Cadence::Still,
    })
}
