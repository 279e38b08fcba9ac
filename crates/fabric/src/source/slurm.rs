//! Slurm's `topology.conf` of the tree plug-in.
//!
//! It names switches and what hangs below them, but neither GPUs nor speeds: those come from the command line.

use std::collections::BTreeMap;

use rats_domain::codes::Code;
use rats_domain::format::{DomainFile, StorageFile};
use rats_domain::problem::{Problem, Problems};

use super::hostlist::{MOST, expand};
use super::{Figures, Source};
use crate::host::{empty, gb_s, link_of, node};

/// A switch as its line states it.
#[derive(Debug, Default)]
struct Switch {
    name: String,
    line: usize,
    switches: Vec<String>,
    nodes: Vec<String>,
    height: usize,
}

/// Reads a `topology.conf`.
///
/// # Errors
/// Every damaged line, or a missing figure.
pub fn read(text: &str, figures: &Figures) -> Result<Source, Problems> {
    let mut problems = Vec::new();
    let mut switches = Vec::new();
    for (line, content) in logical_lines(text) {
        match switch(line, &content) {
            Ok(switch) => switches.extend(switch),
            Err(problem) => problems.push(problem),
        }
    }
    if problems.is_empty() && switches.is_empty() {
        problems.push(Problem::new(Code::T01, "file", "no line defines a switch."));
    }
    check_names(&switches, &mut problems);
    if problems.is_empty() {
        heights(&mut switches, &mut problems);
    }
    if !problems.is_empty() {
        return Err(Problems(problems));
    }
    network(&switches, figures)
}

/// Lines without comments, joined where they end in a backslash, each with the number of its first.
fn logical_lines(text: &str) -> Vec<(usize, String)> {
    let mut lines: Vec<(usize, String)> = Vec::new();
    let mut open = false;
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or("").trim();
        let (content, continues) = line.strip_suffix('\\').map_or((line, false), |content| (content, true));
        match lines.last_mut().filter(|_| open) {
            Some((_, last)) => *last = format!("{last} {}", content.trim()),
            None => lines.push((number + 1, content.trim().to_owned())),
        }
        open = continues;
    }
    lines.retain(|(_, content)| !content.is_empty());
    lines
}

fn switch(line: usize, content: &str) -> Result<Option<Switch>, Problem> {
    let place = format!("line {line}");
    let mut switch = Switch { line, ..Switch::default() };
    for word in content.split_whitespace() {
        let Some((key, value)) = word.split_once('=') else {
            if word.eq_ignore_ascii_case("include") {
                return Err(Problem::new(Code::T13, place, "`include` is not followed."));
            }
            return Err(Problem::new(Code::T01, place, format!("`{}` is no `Key=value`.", word.escape_debug())));
        };
        let list = |value| expand(value).map_err(|error| Problem::new(Code::T08, &place, format!("{error}.")));
        match key.to_ascii_lowercase().as_str() {
            "switchname" => value.clone_into(&mut switch.name),
            "switches" => switch.switches.extend(list(value)?),
            "nodes" => switch.nodes.extend(list(value)?),
            // For people only, says Slurm's manual.
            "linkspeed" => {}
            "blockname" | "blocksizes" => {
                return Err(Problem::new(Code::T13, place, "blocks are not trees of switches."));
            }
            _ => return Err(Problem::new(Code::T01, place, format!("unknown key `{}`.", key.escape_debug()))),
        }
    }
    if switch.name.is_empty() {
        return Err(Problem::new(Code::T01, place, "the line has no SwitchName."));
    }
    if switch.switches.is_empty() && switch.nodes.is_empty() {
        return Err(Problem::new(Code::T01, place, format!("switch `{}` has nothing below it.", switch.name)));
    }
    Ok(Some(switch))
}

/// Switches are named once, switches below exist, and everything hangs below one switch at most.
fn check_names(switches: &[Switch], problems: &mut Vec<Problem>) {
    let mut defined: BTreeMap<&str, usize> = BTreeMap::new();
    for switch in switches {
        if let Some(first) = defined.insert(&switch.name, switch.line) {
            let message = format!("`{}` is already defined in line {first}.", switch.name);
            problems.push(Problem::new(Code::T03, format!("line {}", switch.line), message));
        }
    }
    let mut parents: BTreeMap<&str, &str> = BTreeMap::new();
    for switch in switches {
        let place = format!("line {}", switch.line);
        for below in &switch.switches {
            if !defined.contains_key(below.as_str()) {
                problems.push(Problem::new(Code::T02, &place, format!("switch `{below}` is not defined.")));
            }
        }
        for below in &switch.nodes {
            if defined.contains_key(below.as_str()) {
                problems.push(Problem::new(Code::T03, &place, format!("`{below}` is both a node and a switch.")));
            }
        }
        for below in switch.switches.iter().chain(&switch.nodes) {
            if let Some(other) = parents.insert(below, &switch.name) {
                let message = format!("`{below}` already hangs below `{other}`.");
                problems.push(Problem::new(Code::T06, &place, message));
            }
        }
    }
    let nodes: usize = switches.iter().map(|switch| switch.nodes.len()).sum();
    if nodes > MOST {
        problems.push(Problem::new(Code::T12, "file", format!("more than {MOST} nodes.")));
    }
}

/// How high each switch is: 0 with nothing but nodes below it. Without a lowest switch left there is a cycle.
fn heights(switches: &mut [Switch], problems: &mut Vec<Problem>) {
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    while known.len() < switches.len() {
        let before = known.len();
        for switch in switches.iter_mut().filter(|switch| !known.contains_key(&switch.name)).collect::<Vec<_>>() {
            let below: Option<Vec<usize>> = switch.switches.iter().map(|name| known.get(name).copied()).collect();
            if let Some(below) = below {
                switch.height = below.into_iter().max().map_or(0, |height| height + 1);
                known.insert(switch.name.clone(), switch.height);
            }
        }
        if known.len() == before {
            let left: Vec<_> = switches.iter().filter(|switch| !known.contains_key(&switch.name)).collect();
            let names: Vec<_> = left.iter().map(|switch| switch.name.as_str()).collect();
            let message = format!("{} contain one another.", names.join(", "));
            problems.push(Problem::new(Code::T05, format!("line {}", left[0].line), message));
            return;
        }
    }
}

fn network(switches: &[Switch], figures: &Figures) -> Result<Source, Problems> {
    let gpu_type = figures.gpu_type()?;
    let Some(gpus) = figures.gpus_per_node else {
        return Err(Problem::new(Code::T09, "--gpus-per-node", "the input says not how many GPUs a node has.").into());
    };
    let nodes: usize = switches.iter().map(|switch| switch.nodes.len()).sum();
    if !(1..=1024).contains(&gpus) || usize::try_from(gpus).is_ok_and(|gpus| gpus * nodes > MOST) {
        let message = format!("{gpus} GPUs on each of {nodes} nodes cannot be reduced.");
        return Err(Problem::new(Code::T12, "--gpus-per-node", message).into());
    }
    let levels = switches.iter().map(|switch| switch.height).max().unwrap_or(0) + 1;
    if figures.uplinks.len() < levels {
        let message = format!("{levels} uplinks are needed: of nodes and of {} levels of switches.", levels - 1);
        return Err(Problem::new(Code::T09, "--link-gb-s", message).into());
    }
    let mut file = empty(gpu_type);
    file.levels = figures.level_names(levels);
    let id = file.gpu_types[0].id.clone();
    // The GPUs of a node must not be its narrow place.
    let wide = figures.uplinks.iter().copied().max().unwrap_or_default();
    for switch in switches {
        file.switches.push(format!("switch:{}", switch.name));
        for name in &switch.nodes {
            file.hosts.push(node(name, &id, gpus));
            file.links.extend((0..gpus).map(|gpu| link_of(format!("{name}/{gpu}"), name.clone(), wide)));
            file.links.push(link_of(name.clone(), format!("switch:{}", switch.name), figures.uplinks[0]));
        }
        for name in &switch.switches {
            let height = switches.iter().find(|other| other.name == *name).map_or(0, |other| other.height);
            let (below, above) = (format!("switch:{name}"), format!("switch:{}", switch.name));
            file.links.push(link_of(below, above, figures.uplinks[height + 1]));
        }
        let members = switch.switches.iter().chain(&switch.nodes).cloned().collect();
        let level = file.levels[switch.height].clone();
        file.domains.push(DomainFile { id: switch.name.clone(), level, members });
    }
    if let Some(rate) = figures.storage {
        let root = switches.iter().max_by_key(|switch| switch.height).map_or("", |switch| &switch.name);
        file.storage = Some(StorageFile { at: format!("switch:{root}"), gb_s: gb_s(rate) });
    }
    Ok(Source { file, warnings: Vec::new() })
}
