//! At which starts a gang fits where, and which GPUs it then takes.
//!
//! # Idea
//! For each domain and number k, the starts at which it can host k GPUs of the gang for the whole occupancy are a set of
//! bits: free GPUs of cells, eroded by the length, added up over the domains below (k - j here and j there), and cut
//! by what the domain's uplink and resources leave for k of them. Bounds on the sets of a tree make a laminar matroid,
//! so at a start with room, taking GPUs in *any* order of preference while no bound is passed finds a gang.
//!
//! # Complexity
//! Gang size x GPUs of a cell x words per cell.

use rats_domain::topology::Rank;

use super::frame::{Frame, OptionFrame};
use super::load::traffic;
use super::{Grid, bits};

/// Sets of starts for one job and option; keeps its memory from one to the next.
#[derive(Clone, Debug, Default)]
pub struct Rooms {
    /// Sets, one after another: for each part that was looked at, those of k = 0, 1, ...
    sets: Vec<u64>,
    /// For each part, where its sets begin and the largest k with any start.
    of_part: Vec<Option<(usize, usize)>>,
    seen: Vec<usize>,
    /// Where the starts begin at which a capacity above leaves room for the whole gang, by part.
    above: Vec<(usize, usize)>,
    taken: Vec<u32>,
    limits: Vec<u64>,
    /// The ticks in which the job may run, and the starts that go with them.
    window: (usize, usize),
    starts: Vec<u64>,
}

impl Rooms {
    /// Forgets the option before and takes one that may run in `[window.0, window.1)`, which must be long enough.
    pub fn begin(&mut self, frame: &Frame<'_>, option: &OptionFrame, window: (usize, usize)) {
        self.sets.clear();
        self.above.clear();
        self.of_part.resize(frame.parts.len(), None);
        self.taken.resize(frame.parts.len(), 0);
        for part in self.seen.drain(..) {
            self.of_part[part] = None;
        }
        self.window = window;
        self.starts.clear();
        self.starts.resize(frame.words, 0);
        bits::insert(&mut self.starts, window.0, window.1 + 1 - option.ticks);
    }

    /// Puts the starts at which the whole gang fits into `starts`, within the domain and at all capacities above it.
    pub fn starts(&mut self, grid: &Grid<'_>, option: &OptionFrame, part: usize, starts: &mut Vec<u64>) {
        let words = grid.frame.words;
        let at = self.whole(grid, option, part);
        starts.clear();
        starts.extend_from_slice(&self.sets[at..at + words]);
        let mut up = grid.frame.parts[part].parent;
        while let Some(above) = up {
            if bits::is_empty(starts) {
                return;
            }
            let at = self.above(grid, option, above);
            bits::intersect(starts, &self.sets[at..at + words]);
            up = grid.frame.parts[above].parent;
        }
    }

    /// Where the set of starts begins at which a domain hosts the whole gang.
    fn whole(&mut self, grid: &Grid<'_>, option: &OptionFrame, part: usize) -> usize {
        let words = grid.frame.words;
        let gang = option.gang as usize;
        if grid.frame.parts[part].children.is_empty() {
            self.fill(grid, option, part);
            return match self.of_part[part] {
                Some((at, most)) if most >= gang => at + gang * words,
                _ => self.add_set(words, 0),
            };
        }
        for &child in &grid.frame.parts[part].children {
            self.fill(grid, option, child);
        }
        let children = &grid.frame.parts[part].children;
        let sizes = children.iter().filter_map(|&child| self.of_part[child]).map(|(_, most)| most);
        if sizes.sum::<usize>() < gang {
            return self.add_set(words, 0);
        }
        let last = children.iter().rposition(|&child| self.of_part[child].is_some_and(|(_, most)| most > 0));
        let last = last.unwrap_or(0);
        let at = self.add_set(words, u64::MAX);
        let mut most = 0;
        for &child in &children[..last] {
            most = self.add_child(at, most, child, gang, words);
        }
        let Some((other, size)) = self.of_part[children[last]] else { return self.add_set(words, 0) };
        let set = self.add_set(words, 0);
        for there in gang.saturating_sub(most)..=size.min(gang) {
            for word in 0..words {
                let both = self.sets[at + (gang - there) * words + word] & self.sets[other + there * words + word];
                self.sets[set + word] |= both;
            }
        }
        if !bits::is_empty(&self.sets[set..])
            && let Some(limits) = self.room(grid, option, part, option.gang)
        {
            bits::intersect(&mut self.sets[set..], &limits);
            self.limits = limits;
        }
        set
    }

    /// The most GPUs of the gang, short of all, that a domain looked at hosts at a start.
    pub fn most(&self, grid: &Grid<'_>, option: &OptionFrame, part: usize, start: usize) -> u32 {
        let Some((at, most)) = self.of_part[part] else { return 0 };
        let words = grid.frame.words;
        let below = (0..option.gang).rev().find(|&count| {
            let from = at + count as usize * words;
            count as usize <= most && bits::has(&self.sets[from..from + words], start)
        });
        below.unwrap_or(0)
    }

    /// Whether an island or node that was looked at hosts the whole gang.
    fn hosts_all(&self, grid: &Grid<'_>, option: &OptionFrame, part: usize, start: usize) -> bool {
        let words = grid.frame.words;
        let gang = option.gang as usize;
        self.of_part[part].is_some_and(|(at, most)| {
            most >= gang && bits::has(&self.sets[at + gang * words..at + (gang + 1) * words], start)
        })
    }

    /// The gang within a node or island at a start with room: in one island if one has room, the one with the least.
    pub fn gang_within(
        &mut self,
        grid: &Grid<'_>,
        option: &OptionFrame,
        part: usize,
        start: usize,
        pattern: &mut Vec<(usize, u32)>,
    ) -> bool {
        let frame = grid.frame;
        let end = start + option.ticks;
        let free = |cell: usize| u32::try_from(grid.free(cell, start, end)).unwrap_or(u32::MAX);
        let room = |island: usize| -> u32 { frame.parts[island].cells.iter().map(|&cell| free(cell)).sum() };
        let itself = frame.parts[part].node.is_none().then_some(part);
        let islands = frame.parts[part].children.iter().copied().chain(itself);
        let whole = islands.filter(|&island| self.hosts_all(grid, option, island, start));
        if let Some(island) = whole.min_by_key(|&island| room(island)) {
            pattern.clear();
            let mut left = option.gang;
            for &cell in &frame.parts[island].cells {
                let count = free(cell).min(left);
                if count > 0 {
                    pattern.push((cell, count));
                    left -= count;
                }
            }
            return left == 0;
        }
        let Some(node) = frame.parts[part].node else { return false };
        self.gang(grid, option, part, start, &[node], pattern)
    }

    /// The gang spread over a domain that was looked at, nodes in the order given; no domain below may hold all of it.
    pub fn gang(
        &mut self,
        grid: &Grid<'_>,
        option: &OptionFrame,
        top: usize,
        start: usize,
        order: &[usize],
        pattern: &mut Vec<(usize, u32)>,
    ) -> bool {
        let frame = grid.frame;
        let end = start + option.ticks;
        pattern.clear();
        let mut left = option.gang;
        let mut touched: Vec<usize> = Vec::new();
        for &node in order {
            let mut cells: Vec<(usize, usize)> =
                frame.nodes[node].cells.clone().map(|cell| (grid.free(cell, start, end), cell)).collect();
            cells.sort_unstable_by(|a, b| b.cmp(a));
            for (free, cell) in cells {
                let mut count = u32::try_from(free).unwrap_or(u32::MAX).min(left);
                let chain = || std::iter::successors(Some(frame.island_of(cell)), |&at| frame.parts[at].parent);
                for part in chain().take_while(|&part| part != top) {
                    count = count.min(self.most(grid, option, part, start).saturating_sub(self.taken[part]));
                }
                if count > 0 {
                    for part in chain().take_while(|&part| part != top) {
                        self.taken[part] += count;
                        touched.push(part);
                    }
                    pattern.push((cell, count));
                    left -= count;
                }
            }
            if left == 0 {
                break;
            }
        }
        for part in touched {
            self.taken[part] = 0;
        }
        pattern.sort_unstable();
        left == 0
    }

    /// Works out the sets of a domain and all below.
    fn fill(&mut self, grid: &Grid<'_>, option: &OptionFrame, part: usize) {
        if self.of_part[part].is_some() {
            return;
        }
        let frame = grid.frame;
        let (words, gang) = (frame.words, option.gang as usize);
        self.seen.push(part);
        let single = frame.parts[part].rank <= Rank::NODE;
        let is_other = |&node: &usize| frame.nodes[node].gpu_type != option.gpu_type;
        if single && frame.parts[part].nodes.first().is_some_and(is_other) {
            let at = self.add_set(words, u64::MAX);
            self.of_part[part] = Some((at, 0));
            return;
        }
        for &child in &frame.parts[part].children {
            self.fill(grid, option, child);
        }
        let at = self.add_set(words, u64::MAX);
        let mut most = 0;
        for &cell in &frame.parts[part].cells {
            most = self.add_cell(grid, option, (at, most), cell);
        }
        for &child in &frame.parts[part].children {
            most = self.add_child(at, most, child, gang, words);
        }
        self.of_part[part] = Some((at, most));
        self.restrict(grid, option, part);
    }

    /// Adds what a cell hosts to the sets at the end, which begin at `at`; the largest k.
    fn add_cell(&mut self, grid: &Grid<'_>, option: &OptionFrame, (at, most): (usize, usize), cell: usize) -> usize {
        let (words, gang) = (grid.frame.words, option.gang as usize);
        let from = self.sets.len();
        if most > 0 {
            self.add_set(words, u64::MAX);
        }
        let mut size = 0;
        for count in 1..=grid.frame.size(cell).min(gang) {
            let last = self.sets.len();
            self.sets.extend_from_slice(grid.level(cell, count));
            bits::erode(&mut self.sets[last..], option.ticks);
            bits::intersect(&mut self.sets[last..], &self.starts);
            if bits::is_empty(&self.sets[last..]) {
                self.sets.truncate(last);
                break;
            }
            size = count;
        }
        if most > 0 { self.combine(at, most, (from, size), gang, words) } else { size }
    }

    /// Adds what a domain below hosts to the sets at the end, which begin at `at`; the largest k.
    fn add_child(&mut self, at: usize, most: usize, child: usize, gang: usize, words: usize) -> usize {
        match self.of_part[child] {
            Some((other, size)) if size > 0 && most == 0 => {
                self.sets.extend_from_within(other + words..other + (size + 1) * words);
                size
            }
            Some((other, size)) if size > 0 => self.combine(at, most, (other, size), gang, words),
            _ => most,
        }
    }

    fn add_set(&mut self, words: usize, value: u64) -> usize {
        self.sets.extend(std::iter::repeat_n(value, words));
        self.sets.len() - words
    }

    /// Adds what one more part hosts to the sets that begin at `at`, which move to the end; the largest k.
    fn combine(&mut self, at: usize, most: usize, (other, size): (usize, usize), gang: usize, words: usize) -> usize {
        let new_most = gang.min(most + size);
        let from = self.sets.len();
        for total in 0..=new_most {
            for word in 0..words {
                let mut union = 0;
                for there in total.saturating_sub(most)..=size.min(total) {
                    union |= self.sets[at + (total - there) * words + word] & self.sets[other + there * words + word];
                }
                self.sets.push(union);
            }
        }
        // Back to where the part's sets begin: nothing between is needed any more, but later parts may lie there.
        self.moved(at, from, (new_most + 1) * words);
        new_most
    }

    fn moved(&mut self, at: usize, from: usize, length: usize) {
        self.sets.copy_within(from..from + length, at);
        self.sets.truncate(at + length);
    }

    /// Cuts the sets of a domain by its own uplink and resources.
    fn restrict(&mut self, grid: &Grid<'_>, option: &OptionFrame, part: usize) {
        let Some((at, mut most)) = self.of_part[part] else { return };
        let words = grid.frame.words;
        for count in 1..=most {
            let demand = u32::try_from(count).unwrap_or(u32::MAX);
            if let Some(limits) = self.room(grid, option, part, demand) {
                bits::intersect(&mut self.sets[at + count * words..at + (count + 1) * words], &limits);
                self.limits = limits;
            }
        }
        while most > 0 && bits::is_empty(&self.sets[at + most * words..at + (most + 1) * words]) {
            most -= 1;
        }
        self.of_part[part] = Some((at, most));
    }

    /// The starts at which a domain's own capacities leave room for so many GPUs; `None` if always.
    fn room(&mut self, grid: &Grid<'_>, option: &OptionFrame, part: usize, count: u32) -> Option<Vec<u64>> {
        let frame = &grid.frame.parts[part];
        let uplink = frame.uplink.map(|row| (row, traffic(option, count)));
        let resources = option.per_gpu.iter().filter_map(|&(resource, need)| {
            let row = frame.resources.get(resource).copied().flatten()?;
            Some((row, need * i64::from(count)))
        });
        let mut limits: Option<Vec<u64>> = None;
        for (row, demand) in uplink.into_iter().chain(resources) {
            if demand <= grid.least[row].max(0) {
                continue;
            }
            let limits = limits.get_or_insert_with(|| {
                let mut all = std::mem::take(&mut self.limits);
                all.clear();
                all.resize(grid.frame.words, u64::MAX);
                all
            });
            grid.cut(row, demand, self.window, limits);
        }
        if let Some(limits) = &mut limits {
            bits::erode(limits, option.ticks);
        }
        limits
    }

    /// Where the starts begin at which a domain above the gang leaves room for it.
    fn above(&mut self, grid: &Grid<'_>, option: &OptionFrame, part: usize) -> usize {
        if let Some(&(_, at)) = self.above.iter().find(|&&(known, _)| known == part) {
            return at;
        }
        let limits = self.room(grid, option, part, option.gang);
        let at = self.add_set(grid.frame.words, u64::MAX);
        if let Some(limits) = limits {
            self.sets[at..].copy_from_slice(&limits);
            self.limits = limits;
        }
        self.above.push((part, at));
        at
    }
}

impl Grid<'_> {
    /// How many GPUs of a cell are free throughout.
    pub fn free(&self, cell: usize, from: usize, to: usize) -> usize {
        let size = self.frame.size(cell);
        (1..=size).rev().find(|&count| bits::holds(self.level(cell, count), from, to)).unwrap_or(0)
    }

    /// Takes the ticks of a window out in which a capacity leaves less than `demand`.
    fn cut(&self, row: usize, demand: i64, window: (usize, usize), ticks: &mut [u64]) {
        let horizon = self.frame.horizon;
        let all = &self.rows[row * horizon..(row + 1) * horizon];
        for (word, ticks) in ticks.iter_mut().enumerate().take((window.1 - 1) / 64 + 1).skip(window.0 / 64) {
            let (from, to) = (window.0.max(word * 64), window.1.min(word * 64 + 64));
            let mut short = 0;
            for (bit, &left) in all[from..to].iter().enumerate() {
                short |= u64::from(left < demand) << bit;
            }
            *ticks &= !(short << (from % 64));
        }
    }
}
