//! The tree of declared domains, hosts and islands.

use std::collections::BTreeMap;
use std::ops::Range;

use petgraph::algo::tarjan_scc;
use petgraph::graph::DiGraph;
use rats_domain::codes::Code;
use rats_domain::format::FabricFile;
use rats_domain::problem::{Problem, Problems};

use super::{Area, AreaKind};

/// What a member of a domain is: positions below the number of domains are domains, the rest hosts.
struct Members<'f> {
    file: &'f FabricFile,
    names: BTreeMap<&'f str, usize>,
    parents: Vec<Option<usize>>,
    problems: Vec<Problem>,
}

/// The areas of a network, parents before children.
///
/// # Errors
/// Every problem of the declared layers, with code and place.
pub(super) fn areas(file: &FabricFile) -> Result<Vec<Area>, Problems> {
    let mut members = Members {
        file,
        names: BTreeMap::new(),
        parents: vec![None; file.domains.len() + file.hosts.len()],
        problems: Vec::new(),
    };
    members.name();
    members.levels();
    members.resolve();
    members.cycles();
    members.roots();
    members.islands();
    if members.problems.is_empty() { Ok(members.list()) } else { Err(Problems(members.problems)) }
}

impl Members<'_> {
    fn problem(&mut self, code: Code, place: impl Into<String>, message: impl Into<String>) {
        self.problems.push(Problem::new(code, place, message));
    }

    fn name(&mut self) {
        let file = self.file;
        let domains = file.domains.iter().map(|domain| domain.id.as_str());
        for (position, id) in domains.chain(file.hosts.iter().map(|host| host.id.as_str())).enumerate() {
            let Some(place) = position.checked_sub(file.domains.len()) else {
                let place = format!("domains[{position}].id");
                if id.is_empty() || id.contains('/') || id.contains(char::is_control) {
                    self.problem(Code::T03, &place, format!("`{}` cannot be a name.", id.escape_debug()));
                }
                if self.names.insert(id, position).is_some() {
                    self.problem(Code::T03, place, format!("`{id}` is already a domain."));
                }
                continue;
            };
            // Two hosts of one name are reported with the vertices.
            if self.names.get(id).is_some_and(|&other| other < file.domains.len()) {
                self.problem(Code::T03, format!("hosts[{place}].id"), format!("`{id}` is already a domain."));
            }
            self.names.insert(id, position);
        }
    }

    fn levels(&mut self) {
        for (position, domain) in self.file.domains.iter().enumerate() {
            if !self.file.levels.contains(&domain.level) {
                let message = format!("there is no level `{}`.", domain.level);
                self.problem(Code::T02, format!("domains[{position}].level"), message);
            }
            if domain.members.is_empty() {
                self.problem(Code::I01, format!("domains[{position}].members"), "a domain must have members.");
            }
        }
    }

    fn resolve(&mut self) {
        for (position, domain) in self.file.domains.iter().enumerate() {
            for (number, member) in domain.members.iter().enumerate() {
                let place = format!("domains[{position}].members[{number}]");
                let Some(&child) = self.names.get(member.as_str()) else {
                    let message = format!("there is no host or domain `{}`.", member.escape_debug());
                    self.problem(Code::T02, place, message);
                    continue;
                };
                if let Some(other) = self.parents[child] {
                    let message = format!("`{member}` is already in `{}`.", self.file.domains[other].id);
                    self.problem(Code::T06, place, message);
                    continue;
                }
                self.parents[child] = Some(position);
            }
        }
    }

    fn level(&self, domain: usize) -> Option<usize> {
        self.file.levels.iter().position(|level| *level == self.file.domains[domain].level)
    }

    fn cycles(&mut self) {
        let mut graph = DiGraph::<usize, ()>::new();
        let vertices: Vec<_> = (0..self.parents.len()).map(|position| graph.add_node(position)).collect();
        for (child, parent) in self.parents.iter().enumerate() {
            if let Some(parent) = parent {
                graph.add_edge(vertices[child], vertices[*parent], ());
            }
        }
        let mut in_cycle = vec![false; self.parents.len()];
        for component in tarjan_scc(&graph) {
            if component.len() > 1 || graph.contains_edge(component[0], component[0]) {
                let mut members: Vec<_> = component.iter().map(|&vertex| graph[vertex]).collect();
                members.sort_unstable();
                let names: Vec<_> = members.iter().map(|&domain| self.file.domains[domain].id.as_str()).collect();
                let message = format!("{} contain one another.", names.join(", "));
                self.problem(Code::T05, format!("domains[{}]", members[0]), message);
                for member in members {
                    in_cycle[member] = true;
                }
            }
        }
        for child in (0..self.file.domains.len()).filter(|&child| !in_cycle[child]) {
            let Some(parent) = self.parents[child] else { continue };
            if let (Some(below), Some(above)) = (self.level(child), self.level(parent))
                && below >= above
            {
                let (child_file, parent_file) = (&self.file.domains[child], &self.file.domains[parent]);
                let message = format!(
                    "level `{}` is not narrower than `{}` of `{}` around it.",
                    child_file.level, parent_file.level, parent_file.id
                );
                self.problem(Code::T06, format!("domains[{child}].level"), message);
            }
        }
    }

    fn roots(&mut self) {
        let roots: Vec<_> = (0..self.parents.len()).filter(|&member| self.parents[member].is_none()).collect();
        if roots.len() > 1 && self.problems.is_empty() {
            let some: Vec<_> = roots.iter().take(5).map(|&member| format!("`{}`", self.id(member))).collect();
            let more = if roots.len() > 5 { ", ..." } else { "" };
            let message = format!("no domain holds {}{more} together.", some.join(", "));
            self.problem(Code::T06, "domains", message);
        }
    }

    fn id(&self, member: usize) -> &str {
        match member.checked_sub(self.file.domains.len()) {
            None => &self.file.domains[member].id,
            Some(host) => &self.file.hosts[host].id,
        }
    }

    fn islands(&mut self) {
        for (position, host) in self.file.hosts.iter().enumerate() {
            let Some(islands) = &host.islands else { continue };
            let mut listed: Vec<i64> = islands.iter().flatten().copied().collect();
            listed.sort_unstable();
            if !(0..host.gpus).eq(listed) || islands.iter().any(Vec::is_empty) {
                let message = format!("each index of the {} GPUs, from 0, must be listed exactly once.", host.gpus);
                self.problem(Code::I11, format!("hosts[{position}].islands"), message);
            }
        }
    }

    /// Lists the areas of a tree in which no problem was found.
    fn list(&self) -> Vec<Area> {
        let mut areas = Vec::new();
        let first_gpus: Vec<_> = first_gpus(self.file);
        let mut below = vec![Vec::new(); self.parents.len()];
        let mut waiting = Vec::new();
        for (member, parent) in self.parents.iter().enumerate() {
            match parent {
                Some(parent) => below[*parent].push(member),
                None => waiting.push((member, None)),
            }
        }
        // Members are put in reverse so that they come out in order.
        while let Some((member, parent)) = waiting.pop() {
            let area = push(&mut areas, Area::new(self.kind(member), self.id(member), parent));
            waiting.extend(below[member].iter().rev().map(|&child| (child, Some(area))));
            if let AreaKind::Host(host) = areas[area].kind {
                self.list_islands(host, area, first_gpus[host].clone(), &mut areas);
            }
        }
        gather_gpus(&mut areas);
        areas
    }

    fn kind(&self, member: usize) -> AreaKind {
        match member.checked_sub(self.file.domains.len()) {
            None => AreaKind::Domain(member),
            Some(host) => AreaKind::Host(host),
        }
    }

    /// A host of one island has no area below: the island is the host.
    fn list_islands(&self, host: usize, area: usize, gpus: Range<usize>, areas: &mut Vec<Area>) {
        areas[area].gpus = gpus.clone().collect();
        let Some(islands) = self.file.hosts[host].islands.as_ref().filter(|islands| islands.len() > 1) else { return };
        for (position, indices) in islands.iter().enumerate() {
            let name = format!("{} island {position}", self.file.hosts[host].id);
            let island = push(areas, Area::new(AreaKind::Island(host, position), &name, Some(area)));
            let gpu = |index: &i64| gpus.start + usize::try_from(*index).unwrap_or(0);
            areas[island].gpus = indices.iter().map(gpu).collect();
        }
    }
}

impl Area {
    fn new(kind: AreaKind, name: &str, parent: Option<usize>) -> Self {
        Self { kind, name: name.to_owned(), parent, children: Vec::new(), gpus: Vec::new() }
    }
}

/// The vertices of each host's GPUs.
fn first_gpus(file: &FabricFile) -> Vec<Range<usize>> {
    let mut next = 0;
    let range = |gpus: i64| {
        let start = next;
        next += usize::try_from(gpus).unwrap_or(0);
        start..next
    };
    file.hosts.iter().map(|host| host.gpus).map(range).collect()
}

fn push(areas: &mut Vec<Area>, area: Area) -> usize {
    let position = areas.len();
    if let Some(parent) = area.parent {
        areas[parent].children.push(position);
    }
    areas.push(area);
    position
}

/// Gives every domain the GPUs of its hosts.
fn gather_gpus(areas: &mut [Area]) {
    for position in (0..areas.len()).rev() {
        if matches!(areas[position].kind, AreaKind::Domain(_)) {
            let below = areas[position].children.clone();
            let gpus = below.into_iter().flat_map(|child| areas[child].gpus.clone()).collect();
            areas[position].gpus = gpus;
        }
    }
}
