//! Which features an instance has: the seed picks a row of a table, so that twelve seeds in a row show them all.

/// What idle nodes do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nodes {
    /// All sleep.
    Sleep,
    /// All stay powered.
    AlwaysOn,
    /// Some of each.
    Mixed,
}

/// The cap on the cluster's power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cap {
    /// None.
    None,
    /// The same at all times.
    Constant,
    /// Another in each third of the time.
    Steps,
}

/// What an instance has.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "a table of independent features")]
pub struct Features {
    /// What idle nodes do.
    pub nodes: Nodes,
    /// Number of GPU types.
    pub types: usize,
    /// Uplinks so narrow that gangs must share.
    pub narrow: bool,
    /// A store that limits the readers.
    pub storage: bool,
    /// Two islands a node.
    pub islands: bool,
    /// Cap on the cluster's power.
    pub cap: Cap,
    /// Caps on some nodes.
    pub node_cap: bool,
    /// Caps on racks.
    pub switch_cap: bool,
    /// A price that changes over time.
    pub tariff: bool,
    /// Jobs that wait for others.
    pub after: bool,
    /// Jobs that come later; without, all are there at tick 0.
    pub releases: bool,
    /// An energy budget.
    pub budget: bool,
    /// Soft deadlines.
    pub due: bool,
    /// CPU cores that jobs share.
    pub cores: bool,
    /// GPUs that are unavailable for a while.
    pub unavailable: bool,
    /// Terms of the objective and their weights.
    pub objective: &'static [(&'static str, i64)],
}

const PLAIN: Features = Features {
    nodes: Nodes::Sleep,
    types: 1,
    narrow: false,
    storage: false,
    islands: false,
    cap: Cap::None,
    node_cap: false,
    switch_cap: false,
    tariff: false,
    after: false,
    releases: true,
    budget: false,
    due: false,
    cores: false,
    unavailable: false,
    objective: &[("energy", 1)],
};

/// The rows; the seed's remainder picks one.
pub const ROWS: [Features; 12] = [
    PLAIN,
    Features { types: 2, narrow: true, cap: Cap::Constant, after: true, releases: false, ..PLAIN },
    Features { nodes: Nodes::AlwaysOn, islands: true, storage: true, objective: &[("makespan", 1)], ..PLAIN },
    Features { types: 2, tariff: true, objective: &[("cost", 1)], ..PLAIN },
    Features {
        nodes: Nodes::Mixed,
        narrow: true,
        due: true,
        objective: &[("energy", 1), ("tardiness", 1000)],
        ..PLAIN
    },
    Features { nodes: Nodes::AlwaysOn, cap: Cap::Steps, after: true, objective: &[("completion", 1)], ..PLAIN },
    Features { types: 3, islands: true, node_cap: true, cores: true, releases: false, ..PLAIN },
    Features { budget: true, due: true, storage: true, objective: &[("tardiness", 1)], ..PLAIN },
    Features {
        nodes: Nodes::Mixed,
        types: 2,
        narrow: true,
        switch_cap: true,
        budget: true,
        releases: false,
        objective: &[("makespan", 1)],
        ..PLAIN
    },
    Features {
        types: 2,
        storage: true,
        tariff: true,
        after: true,
        due: true,
        objective: &[("cost", 1000), ("tardiness", 1)],
        ..PLAIN
    },
    Features {
        nodes: Nodes::AlwaysOn,
        types: 2,
        islands: true,
        cap: Cap::Steps,
        node_cap: true,
        cores: true,
        unavailable: true,
        ..PLAIN
    },
    Features {
        narrow: true,
        storage: true,
        islands: true,
        cap: Cap::Constant,
        switch_cap: true,
        tariff: true,
        after: true,
        budget: true,
        due: true,
        cores: true,
        objective: &[("energy", 1), ("makespan", 10_000), ("completion", 100)],
        ..PLAIN
    },
];

/// Of `huge`: gangs to 256, sleep nodes, racks with narrow uplinks, one power cap.
pub const HUGE: Features = Features { narrow: true, cap: Cap::Constant, ..PLAIN };

/// The row of a seed.
pub fn of_seed(seed: u64) -> Features {
    let row = seed % ROWS.len() as u64;
    ROWS[usize::try_from(row).unwrap_or(0)]
}
