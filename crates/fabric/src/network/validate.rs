//! The rules of a valid network. Every broken one is reported, with code and place.

use std::collections::BTreeMap;

use rats_domain::codes::Code;
use rats_domain::decimal::Decimal;
use rats_domain::format::{Document, FabricFile};
use rats_domain::problem::{Problem, Problems};
use rats_domain::units::KilobytesPerSecond;

use super::{Network, areas};

/// More than any host has.
const MOST_GPUS_OF_HOST: i64 = 1024;

/// More than can be reduced in minutes.
const MOST_VERTICES: usize = 100_000;

/// The greatest capacity of a link, kB/s: 1e6 GB/s.
const MOST_CAPACITY: i64 = 1_000_000_000_000;

/// The most links that may be written; sums of their capacities stay below 2^60.
const MOST_LINKS: usize = 1_000_000;

/// Collects problems and numbers the vertices.
struct Reader<'f> {
    file: &'f FabricFile,
    problems: Vec<Problem>,
    vertices: BTreeMap<String, usize>,
}

pub(super) fn network(file: FabricFile) -> Result<Network, Problems> {
    let mut reader = Reader { file: &file, problems: Vec::new(), vertices: BTreeMap::new() };
    reader.head();
    let gpus = reader.gpus();
    let gpus = gpus.ok_or_else(|| Problems(std::mem::take(&mut reader.problems)))?;
    let storage = file.storage.as_ref().map(|_| gpus);
    reader.vertices(gpus + usize::from(storage.is_some()));
    let mut links = reader.links();
    links.extend(storage.and_then(|storage| reader.storage(storage)));
    let (vertices, mut problems) = (reader.vertices, reader.problems);
    match areas::areas(&file) {
        Ok(areas) if problems.is_empty() => Ok(Network { file, areas, gpus, storage, vertices, links }),
        Ok(_) => Err(Problems(problems)),
        Err(more) => {
            problems.extend(more.0);
            Err(Problems(problems))
        }
    }
}

impl Reader<'_> {
    fn problem(&mut self, code: Code, place: impl Into<String>, message: impl Into<String>) {
        self.problems.push(Problem::new(code, place, message));
    }

    fn head(&mut self) {
        if self.file.format != FabricFile::FORMAT {
            self.problem(Code::R02, "format", format!("expected `{}`.", FabricFile::FORMAT));
        }
        for (position, level) in self.file.levels.iter().enumerate() {
            let place = format!("levels[{position}]");
            if ["gpu", "island", "node"].contains(&level.as_str()) || self.file.levels[..position].contains(level) {
                self.problem(Code::I07, place, format!("`{level}` is reserved or used twice."));
            }
        }
    }

    /// Numbers the GPUs; `None` if their number is out of hand.
    fn gpus(&mut self) -> Option<usize> {
        if self.file.hosts.is_empty() {
            self.problem(Code::I01, "hosts", "there must be at least one host.");
            return None;
        }
        let mut count = 0;
        for (position, host) in self.file.hosts.iter().enumerate() {
            let place = format!("hosts[{position}]");
            if !(1..=MOST_GPUS_OF_HOST).contains(&host.gpus) {
                let message = format!("{} GPUs; it must be 1 to {MOST_GPUS_OF_HOST}.", host.gpus);
                self.problem(Code::I02, format!("{place}.gpus"), message);
                return None;
            }
            if host.parent.is_some() || host.uplink_gb_s.is_some() || host.island_uplink_gb_s.is_some() {
                self.problem(Code::T13, &place, "parent and uplinks of a host are computed, leave them out.");
            }
            if !self.file.gpu_types.iter().any(|kind| kind.id == host.gpu_type) {
                self.problem(Code::T02, format!("{place}.gpu_type"), format!("there is no type `{}`.", host.gpu_type));
            }
            for index in 0..host.gpus {
                self.vertices.insert(format!("{}/{index}", host.id), count);
                count += 1;
            }
            if count > MOST_VERTICES {
                self.problem(Code::T12, &place, format!("more than {MOST_VERTICES} GPUs so far."));
                return None;
            }
        }
        Some(count)
    }

    /// Numbers hosts and switches, from `next` on.
    fn vertices(&mut self, mut next: usize) {
        let file = self.file;
        let hosts = file.hosts.iter().enumerate().map(|(p, host)| (format!("hosts[{p}].id"), &host.id));
        let switches = file.switches.iter().enumerate().map(|(p, switch)| (format!("switches[{p}]"), switch));
        for (place, id) in hosts.chain(switches) {
            if id.is_empty() || id.contains('/') || id.contains(char::is_control) {
                self.problem(Code::T03, place, format!("`{}` cannot be a name.", id.escape_debug()));
            } else if self.vertices.contains_key(id) {
                self.problem(Code::T03, place, format!("`{id}` is already a host or switch."));
            } else {
                self.vertices.insert(id.clone(), next);
                next += 1;
            }
        }
        if next > MOST_VERTICES || file.links.len() > MOST_LINKS {
            let message = format!("more than {MOST_VERTICES} GPUs, hosts and switches or {MOST_LINKS} links.");
            self.problem(Code::T12, "file", message);
        }
    }

    fn links(&mut self) -> Vec<(usize, usize, KilobytesPerSecond)> {
        let file = self.file;
        let mut links = Vec::new();
        for (position, link) in file.links.iter().enumerate() {
            let place = format!("links[{position}]");
            let a = self.vertex(&format!("{place}.a"), &link.a);
            let b = self.vertex(&format!("{place}.b"), &link.b);
            let capacity = self.capacity(&format!("{place}.gb_s"), link.gb_s, link.count);
            if link.a == link.b {
                self.problem(Code::T10, place, format!("both ends are `{}`.", link.a));
            } else if let (Some(a), Some(b), Some(capacity)) = (a, b, capacity) {
                links.push((a, b, capacity));
            }
        }
        links
    }

    fn storage(&mut self, vertex: usize) -> Option<(usize, usize, KilobytesPerSecond)> {
        let storage = self.file.storage.as_ref()?;
        let at = self.vertex("storage.at", &storage.at);
        let capacity = self.capacity("storage.gb_s", storage.gb_s, 1);
        Some((vertex, at?, capacity?))
    }

    fn vertex(&mut self, place: &str, name: &str) -> Option<usize> {
        let vertex = self.vertices.get(name).copied();
        if vertex.is_none() {
            self.problem(Code::T02, place, format!("there is no host, GPU or switch `{}`.", name.escape_debug()));
        }
        vertex
    }

    fn capacity(&mut self, place: &str, gb_s: Decimal, count: i64) -> Option<KilobytesPerSecond> {
        let one = gb_s.scaled(6).and_then(|value| i64::try_from(value).ok()).filter(|value| *value > 0);
        let all = one.filter(|_| count > 0).and_then(|value| value.checked_mul(count));
        let capacity = all.filter(|value| *value <= MOST_CAPACITY).map(KilobytesPerSecond);
        if capacity.is_none() {
            self.problem(Code::T04, place, format!("{count} x {gb_s} GB/s cannot be a capacity."));
        }
        capacity
    }
}
