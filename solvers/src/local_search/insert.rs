//! Best insertion of one job into the grid.
//!
//! Options are looked at in order of what they cost at least; those that cannot beat the best placing found are passed
//! over. In each node that fits, only sensible starts are judged: those inside what is powered anyway, those that touch
//! the begin or end of something, the first and the last, and price changes. Nodes of one class that run nothing are
//! looked at once. Gangs that may spread over nodes are also tried in every switch: nodes that cost least to power
//! first, and those with most room first.

use rats_domain::steps::Steps;
use rats_domain::topology::Rank;

use super::realize::Picture;
use crate::grid::{Frame, Grid, OptionFrame, Placing, Rooms, bits};
use rats_domain::random::Random;

/// Most starts of a gang that is spread over nodes, by switch.
const WIDE_STARTS: usize = 4;
/// Most switches that are looked at for one option.
const MOST_SWITCHES: usize = 3;
/// Percent of the cases in which a gang that fits within a node is also tried spread over several.
const SPREAD: usize = 10;
/// Most nodes of a type that are looked at for one option.
const MOST_NODES: usize = 24;
/// Nodes drawn where there are more.
const DRAWN_NODES: usize = 12;
/// Up to this many starts all are judged.
const FEW_STARTS: usize = 6;

/// What decides between placings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Taste {
    /// Percent of the nodes passed over at random.
    pub blink: usize,
    /// Price of a GPU-tick, beside the value: what is taken from jobs still to come.
    pub work: f64,
    /// Part of the waking of nodes that counts.
    pub waking: f64,
}

/// A placing and what it adds, with the taste's extras.
#[derive(Clone, Debug)]
pub struct Found {
    /// Where, when and how.
    pub placing: Placing,
    /// What it adds to the value.
    pub value: f64,
    score: f64,
}

/// Finds placings; keeps its memory from one to the next.
#[derive(Debug)]
pub struct Inserter {
    rooms: Rooms,
    starts: Vec<u64>,
    inside: Vec<u64>,
    tries: Vec<usize>,
    pattern: Vec<(usize, u32)>,
    order: Vec<usize>,
    vacant: Vec<usize>,
    nodes: Vec<usize>,
    switches: Vec<usize>,
    parts: Vec<usize>,
    changes: Vec<usize>,
    /// Option and start to which jobs are held, by job.
    held: Option<Picture>,
}

impl Inserter {
    /// For an instance.
    pub fn new(frame: &Frame<'_>) -> Self {
        let switches = (0..frame.parts.len()).filter(|&part| frame.parts[part].node.is_none());
        let several = switches.filter(|&part| frame.parts[part].nodes.len() > 1);
        let steps = frame.instance.tariff.iter().flat_map(Steps::steps);
        Self {
            rooms: Rooms::default(),
            starts: Vec::new(),
            inside: Vec::new(),
            tries: Vec::new(),
            pattern: Vec::new(),
            order: Vec::new(),
            vacant: Vec::new(),
            nodes: Vec::new(),
            switches: several.collect(),
            parts: Vec::new(),
            changes: steps.filter_map(|&(at, _)| usize::try_from(at.0).ok()).collect(),
            held: None,
        }
    }

    /// Holds jobs to the options and starts of a picture from now on.
    pub fn hold(&mut self, picture: &Picture) {
        self.held = Some(picture.clone());
    }

    /// Lets them go.
    pub fn let_go(&mut self) {
        self.held = None;
    }

    /// The best placing found for a job that is not placed.
    pub fn best(&mut self, grid: &mut Grid<'_>, job: usize, taste: Taste, random: &mut Random) -> Option<Found> {
        let row = &grid.frame.jobs[job];
        let (earliest, latest) = (grid.earliest(job), grid.latest(job));
        let mut best: Option<Found> = None;
        let held = self.held.as_ref().and_then(|held| held[row.id]);
        for position in 0..row.options.len() {
            let option = &row.options[position];
            let (mut earliest, mut latest) = (earliest, latest);
            if let Some((id, start)) = held {
                let start = usize::try_from(start.0).unwrap_or(usize::MAX);
                if id != option.id || start < earliest {
                    continue;
                }
                (earliest, latest) = (start, latest.min(start.saturating_add(option.ticks)));
            }
            if earliest + option.ticks > latest {
                continue;
            }
            let least = grid.least(job, option, earliest) + taste.work * option.work;
            if best.as_ref().is_some_and(|best| least >= best.score) {
                continue;
            }
            self.rooms.begin(grid.frame, option, (earliest, latest));
            let mut trial =
                Trial { job, position, window: (earliest, latest), taste, least, found: false, best: &mut best };
            self.narrow(grid, option, &mut trial, random);
            let found = trial.found;
            if option.gang > 1 && !trial.is_ideal() && (!found || random.chance(SPREAD)) {
                self.wide(grid, option, &mut trial, random);
            }
        }
        best
    }

    /// Gangs within one node.
    fn narrow(&mut self, grid: &mut Grid<'_>, option: &OptionFrame, trial: &mut Trial<'_>, random: &mut Random) {
        self.draw_nodes(grid, option, random);
        for at in 0..self.nodes.len() {
            let node = self.nodes[at];
            if random.chance(trial.taste.blink) {
                continue;
            }
            let part = grid.frame.nodes[node].part;
            if option.span >= Rank::NODE {
                self.within(grid, option, (node, part), trial, random);
            } else {
                for &island in &grid.frame.parts[part].children {
                    self.within(grid, option, (node, island), trial, random);
                }
            }
            if trial.is_ideal() {
                return;
            }
        }
    }

    /// Gangs within one node or island.
    fn within(
        &mut self,
        grid: &mut Grid<'_>,
        option: &OptionFrame,
        (node, part): (usize, usize),
        trial: &mut Trial<'_>,
        random: &mut Random,
    ) {
        self.rooms.starts(grid, option, part, &mut self.starts);
        if bits::is_empty(&self.starts) {
            return;
        }
        self.tries.clear();
        self.sensible(grid, option, node);
        for at in 0..self.tries.len() {
            let start = self.tries[at];
            if self.rooms.gang_within(grid, option, part, start, &mut self.pattern) {
                trial.judge(grid, option, start, &self.pattern, random);
            }
        }
    }

    /// The nodes to look at, in random order; of vacant ones of a class only one.
    fn draw_nodes(&mut self, grid: &Grid<'_>, option: &OptionFrame, random: &mut Random) {
        let all = &grid.frame.by_type[option.gpu_type];
        self.nodes.clear();
        self.vacant.clear();
        if all.is_empty() {
            return;
        }
        let first = random.below(all.len());
        let count = if all.len() > MOST_NODES { DRAWN_NODES } else { all.len() };
        let mut seen_busy = 0;
        for step in 0..all.len() {
            let node = all[(first + step) % all.len()];
            if grid.is_vacant(node) {
                let class = grid.frame.nodes[node].class;
                if self.vacant.contains(&class) || (count < all.len() && !self.vacant.is_empty()) {
                    continue;
                }
                self.vacant.push(class);
            } else {
                seen_busy += 1;
            }
            self.nodes.push(node);
            if seen_busy >= count {
                break;
            }
        }
    }

    /// Adds the sensible ones of `starts` on a node to `tries`.
    fn sensible(&mut self, grid: &Grid<'_>, option: &OptionFrame, node: usize) {
        let starts = &self.starts;
        if bits::count(starts) <= FEW_STARTS {
            let mut next = bits::next(starts, 0);
            while let Some(start) = next {
                self.tries.push(start);
                next = bits::next(starts, start + 1);
            }
            return;
        }
        let busy = grid.busy(node);
        self.inside.clear();
        self.inside.extend_from_slice(busy);
        bits::erode(&mut self.inside, option.ticks);
        bits::intersect(&mut self.inside, starts);
        self.tries.extend(bits::next(&self.inside, 0));
        self.tries.extend(bits::next(starts, 0));
        self.tries.extend(bits::previous(starts, grid.frame.horizon));
        let mut at = 0;
        while let Some(from) = bits::next(busy, at) {
            at = bits::next_gap(busy, from);
            for target in [from, at, from.saturating_sub(option.ticks), at.saturating_sub(option.ticks)] {
                self.tries.extend(bits::next(starts, target));
                self.tries.extend(bits::previous(starts, target));
            }
        }
        for &change in &self.changes {
            self.tries.extend(bits::next(starts, change));
            self.tries.extend(bits::previous(starts, change.saturating_sub(option.ticks)));
        }
        self.tries.sort_unstable();
        self.tries.dedup();
    }

    /// Gangs spread over the nodes of a switch.
    fn wide(&mut self, grid: &mut Grid<'_>, option: &OptionFrame, trial: &mut Trial<'_>, random: &mut Random) {
        self.order_switches(grid, option, random);
        let mut looked = 0;
        for at in 0..self.parts.len() {
            let part = self.parts[at];
            // A wide switch has more room, but a gang takes no more links in a narrow one.
            if trial.found && looked > 0 && grid.frame.parts[part].nodes.len() > MOST_NODES {
                return;
            }
            self.rooms.starts(grid, option, part, &mut self.starts);
            if bits::is_empty(&self.starts) {
                continue;
            }
            looked += 1;
            if looked > MOST_SWITCHES {
                return;
            }
            self.tries.clear();
            self.tries.extend(bits::next(&self.starts, 0));
            self.tries.extend(bits::previous(&self.starts, grid.frame.horizon));
            let nodes = &grid.frame.parts[part].nodes;
            for _ in 0..WIDE_STARTS {
                let busy = grid.busy(nodes[random.below(nodes.len())]);
                let drawn = trial.window.0 + random.below(trial.window.1 + 1 - option.ticks - trial.window.0);
                let mut target = bits::next(busy, drawn).unwrap_or(drawn);
                if random.chance(50) {
                    target = bits::next_gap(busy, target);
                }
                if random.chance(50) {
                    target = target.saturating_sub(option.ticks);
                }
                let near = bits::next(&self.starts, target).or_else(|| bits::previous(&self.starts, target));
                self.tries.extend(near);
            }
            self.tries.sort_unstable();
            self.tries.dedup();
            for try_at in 0..self.tries.len() {
                self.spread(grid, option, part, self.tries[try_at], trial, random);
            }
        }
    }

    /// The switches to look at: narrow ones first, in random order within a level.
    fn order_switches(&mut self, grid: &Grid<'_>, option: &OptionFrame, random: &mut Random) {
        let parts = &grid.frame.parts;
        self.parts.clear();
        let fitting = |&&part: &&usize| parts[part].rank > Rank::NODE && parts[part].rank <= option.span;
        self.parts.extend(self.switches.iter().filter(fitting));
        random.shuffle(&mut self.parts);
        self.parts.sort_by_key(|&part| parts[part].rank);
    }

    /// Judges gangs over the nodes of a switch at one start.
    fn spread(
        &mut self,
        grid: &mut Grid<'_>,
        option: &OptionFrame,
        part: usize,
        start: usize,
        trial: &mut Trial<'_>,
        random: &mut Random,
    ) {
        let frame = grid.frame;
        let end = start + option.ticks;
        let mut ranked: Vec<(f64, u32, usize)> = Vec::new();
        for &node in frame.parts[part].nodes.iter().filter(|&&node| frame.nodes[node].gpu_type == option.gpu_type) {
            let most = self.rooms.most(grid, option, frame.nodes[node].part, start);
            if most > 0 {
                ranked.push((grid.waking(node, start, end) / f64::from(most), most, node));
            }
        }
        ranked.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)).then(a.2.cmp(&b.2)));
        for by_room in [false, true] {
            if by_room {
                ranked.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(a.0.total_cmp(&b.0)).then(a.2.cmp(&b.2)));
            }
            self.order.clear();
            self.order.extend(ranked.iter().map(|&(_, _, node)| node));
            if self.rooms.gang(grid, option, part, start, &self.order, &mut self.pattern) {
                trial.judge(grid, option, start, &self.pattern, random);
            }
        }
    }
}

/// The search for the best placing of one option.
struct Trial<'b> {
    job: usize,
    position: usize,
    window: (usize, usize),
    taste: Taste,
    least: f64,
    /// Whether the option has any placing.
    found: bool,
    best: &'b mut Option<Found>,
}

impl Trial<'_> {
    /// Judges a gang that has room and keeps it if it is better, or as good and lucky.
    fn judge(
        &mut self,
        grid: &mut Grid<'_>,
        option: &OptionFrame,
        start: usize,
        pattern: &[(usize, u32)],
        random: &mut Random,
    ) {
        let Some(effect) = grid.effect(self.job, self.position, start, pattern) else { return };
        self.found = true;
        let extra = self.taste.work * option.work;
        let alone = grid.alone(self.job, option, start);
        let score = alone + self.taste.waking * (effect.value - alone) + extra;
        let better = self.best.as_ref().is_none_or(|best| {
            let close = 1e-12 * best.score.abs();
            score < best.score - close || (score <= best.score + close && random.chance(40))
        });
        if better {
            let placing = Placing { option: self.position, start, pattern: pattern.to_vec() };
            *self.best = Some(Found { placing, value: effect.value, score });
        }
    }

    /// Whether nothing can beat what was found.
    fn is_ideal(&self) -> bool {
        self.best.as_ref().is_some_and(|best| best.score <= self.least + 1e-12 * self.least.abs())
    }
}
