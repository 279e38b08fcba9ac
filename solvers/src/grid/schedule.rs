//! From the state to a schedule with named GPUs, and back.

use rats_domain::ids::{Id, JobId, NodeId};
use rats_domain::interval::{Interval, union};
use rats_domain::power::default_intervals;
use rats_domain::schedule::{Placement, Schedule};
use rats_domain::units::Ticks;

use super::{Grid, Placing, bits, fixed, frame::position, standing};

fn ticks(at: usize) -> Ticks {
    Ticks(i64::try_from(at).unwrap_or(i64::MAX))
}

impl Grid<'_> {
    /// The schedule: GPUs handed out in order of start, power stated where it differs from the default rule.
    pub fn schedule(&self) -> Schedule {
        let frame = self.frame;
        let mut schedule = Schedule::fixed_only(frame.instance);
        let placed = self.placings.iter().enumerate().filter_map(|(job, placing)| Some((job, placing.as_ref()?)));
        let mut placed: Vec<(usize, &Placing)> = placed.collect();
        placed.sort_by_key(|&(job, placing)| (placing.start, job));
        let mut free_from: Vec<Vec<usize>> = frame.cells.iter().map(|cell| vec![0; cell.gpus.len()]).collect();
        for (job, placing) in placed {
            let option = &frame.jobs[job].options[placing.option];
            let mut gpus = Vec::with_capacity(option.gang as usize);
            for &(cell, count) in &placing.pattern {
                let free = free_from[cell].iter_mut().enumerate().filter(|(_, from)| **from <= placing.start);
                for (at, from) in free.take(count as usize) {
                    *from = placing.start + option.ticks;
                    gpus.push(frame.cells[cell].gpus[at]);
                }
            }
            gpus.sort_unstable();
            let placement = Placement { option: option.id, start: ticks(placing.start), gpus };
            schedule.placements[JobId::from_position(job)] = Some(placement);
        }
        self.state_power(&mut schedule);
        schedule
    }

    fn state_power(&self, schedule: &mut Schedule) {
        let frame = self.frame;
        for (node, row) in frame.nodes.iter().enumerate().filter(|(_, row)| row.sleeps) {
            let busy = self.busy(node);
            let mut blocks = Vec::new();
            let mut at = 0;
            while let Some(from) = bits::next(busy, at) {
                at = bits::next_gap(busy, from);
                blocks.push(Interval::new(ticks(from), ticks(at)));
            }
            let powered = standing::intervals(frame, &self.prices, row, busy);
            let id = NodeId::from_position(node);
            let default = default_intervals(&frame.instance.cluster.nodes[id], &blocks, frame.instance.tick);
            if powered != union(default) {
                schedule.power.insert(id, powered);
            }
        }
    }

    /// Places what it can of a schedule; whether that was everything.
    pub fn take_over(&mut self, schedule: &Schedule) -> bool {
        let frame = self.frame;
        let mut all = true;
        let placed = schedule.placed().filter(|(id, _)| frame.instance.jobs[*id].fixed.is_none());
        let mut placed: Vec<(Ticks, JobId)> = placed.map(|(id, placement)| (placement.start, id)).collect();
        placed.sort_unstable();
        for (_, id) in placed {
            let job = id.position();
            let Some(placement) = schedule.placements[id].as_ref().filter(|placement| placement.start >= Ticks::ZERO)
            else {
                continue;
            };
            let pattern = fixed::pattern(frame, placement);
            let option = frame.jobs[job].options.iter().position(|option| option.id == placement.option);
            let start = position(placement.start);
            match option.filter(|&option| self.judge(job, option, start, &pattern).is_some()) {
                Some(option) => self.place(job, Placing { option, start, pattern }),
                None => all = false,
            }
        }
        all && self.unplaced().next().is_none()
    }

    /// The jobs that are neither fixed nor placed.
    pub fn unplaced(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.placings.len()).filter(|&job| self.placings[job].is_none() && !self.frame.jobs[job].fixed)
    }
}
