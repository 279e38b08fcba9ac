//! The families: how large their instances are.

use clap::ValueEnum;

/// A family of instances.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Family {
    /// 6-12 jobs on 2-4 nodes.
    Small,
    /// 20-60 jobs on 4-16 nodes.
    Medium,
    /// 100-1000 jobs on 16-256 nodes.
    Large,
    /// 10,000 jobs on 10,000 GPUs.
    Huge,
    /// The workload of Mei, Wang, Chu et al. (TPDS 2022): 2048 tasks on 2048 GPUs, one GPU each, all there at tick 0.
    Edl,
    /// The same online: 4096 tasks, most of which come over a day.
    EdlOnline,
}

/// How large instances are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// Jobs.
    pub jobs: (i64, i64),
    /// Nodes.
    pub nodes: (i64, i64),
    /// GPUs of a node.
    pub gpus_per_node: &'static [u32],
    /// Nodes of a rack; 0: no racks.
    pub rack: usize,
    /// Length of a tick, s.
    pub tick_s: i64,
    /// Least and most ticks of a job as it was asked for.
    pub lengths: (i64, i64),
    /// Operating points of a job.
    pub points: usize,
    /// The phi and psi of its options.
    pub stretches: &'static [f64],
    /// Largest gang.
    pub gang: u32,
}

impl Family {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Small => "small",
            Self::Medium => "medium",
            Self::Large => "large",
            Self::Huge => "huge",
            Self::Edl => "edl",
            Self::EdlOnline => "edl-online",
        }
    }

    /// How large its instances are.
    pub fn scale(self) -> Scale {
        let small = Scale {
            jobs: (6, 12),
            nodes: (2, 4),
            gpus_per_node: &[2, 4],
            rack: 0,
            tick_s: 600,
            lengths: (3, 9),
            points: 3,
            stretches: &[1.0, 2.0, 4.0],
            gang: 4,
        };
        let medium = Scale {
            jobs: (20, 60),
            nodes: (4, 16),
            gpus_per_node: &[4],
            rack: 4,
            lengths: (3, 16),
            points: 4,
            gang: 16,
            ..small
        };
        let large = Scale {
            jobs: (100, 1000),
            nodes: (16, 256),
            gpus_per_node: &[4, 8],
            rack: 8,
            lengths: (4, 40),
            points: 3,
            stretches: &[1.0, 2.0],
            gang: 32,
            ..medium
        };
        match self {
            Self::Small => small,
            Self::Medium => medium,
            Self::Large => large,
            Self::Huge | Self::Edl | Self::EdlOnline => {
                Scale { jobs: (10_000, 10_000), nodes: (1250, 1250), gpus_per_node: &[8], rack: 16, gang: 256, ..large }
            }
        }
    }
}
