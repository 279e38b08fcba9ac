//! Where a GPU ran, and the range over which it was measured.

/// What the core axis of a curve is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Axis {
    /// The locked SM clock, MHz.
    Clock,
    /// The power limit, W; the clock follows from it.
    Limit,
}

/// An operating point of a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// SM clock in MHz or power limit in W, see [`Axis`].
    pub core: f64,
    /// Memory clock, MHz; 1 where none was stated, the same for all points then.
    pub mem: f64,
}

/// A measured value of one curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Where.
    pub at: Place,
    /// Time in any unit, or power; above 0.
    pub value: f64,
}

/// The range that was measured; forms are stated relative to its upper end, so that coefficients have the unit of the
/// value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scope {
    /// What the core axis is.
    pub axis: Axis,
    /// Lowest core clock (or limit).
    pub low: f64,
    /// Highest one.
    pub high: f64,
    /// Largest distance between neighboring ones.
    pub gap: f64,
    /// Highest memory clock.
    pub mem: f64,
    /// Whether there is more than one memory clock.
    pub memories: bool,
}

impl Scope {
    /// The range of some places; `None` of nothing.
    pub fn of(axis: Axis, places: impl IntoIterator<Item = Place>) -> Option<Self> {
        let places: Vec<Place> = places.into_iter().collect();
        let mut cores: Vec<f64> = places.iter().map(|at| at.core).collect();
        cores.sort_by(f64::total_cmp);
        let (low, high) = (*cores.first()?, *cores.last()?);
        let gap = cores.windows(2).map(|pair| pair[1] - pair[0]).fold(0.0, f64::max);
        let mem = places.iter().map(|at| at.mem).fold(f64::MIN, f64::max);
        let memories = places.iter().any(|at| at.mem < mem);
        Some(Self { axis, low, high, gap, mem, memories })
    }

    /// Core clock (or limit) over the highest one.
    pub fn core(&self, at: Place) -> f64 {
        at.core / self.high
    }

    /// Memory clock over the highest one.
    pub fn mem(&self, at: Place) -> f64 {
        at.mem / self.mem
    }

    /// Lowest core clock over the highest one.
    pub fn bottom(&self) -> f64 {
        self.low / self.high
    }
}
