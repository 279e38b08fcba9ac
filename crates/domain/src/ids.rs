//! Dense ids and the tables they index.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// A dense id: the position of a thing in its [`Table`].
pub trait Id: Copy + Eq + Ord {
    /// The id of the thing at `position`.
    fn from_position(position: usize) -> Self;
    /// The position in the table.
    fn position(self) -> usize;
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u32);

        impl Id for $name {
            fn from_position(position: usize) -> Self {
                Self(u32::try_from(position).unwrap_or(u32::MAX))
            }
            fn position(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id!(
    /// A job, in file order.
    JobId
);
id!(
    /// An option of one job, in file order.
    OptionId
);
id!(
    /// A GPU type of the cluster, in file order.
    GpuTypeId
);
id!(
    /// A node, in file order.
    NodeId
);
id!(
    /// A switch, in file order.
    SwitchId
);
id!(
    /// A GPU: nodes in file order, indices within a node ascending.
    GpuId
);
id!(
    /// A domain of the topology tree: a switch, a node, an island or a GPU.
    DomainId
);
id!(
    /// A node resource such as `cpu_cores`, in alphabetical order.
    ResourceId
);

/// A vector indexed by one kind of id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table<I, T> {
    rows: Vec<T>,
    key: PhantomData<I>,
}

impl<I: Id, T> Table<I, T> {
    /// An empty table.
    pub fn new() -> Self {
        Self { rows: Vec::new(), key: PhantomData }
    }

    /// A table of `len` equal rows.
    pub fn filled(value: T, len: usize) -> Self
    where
        T: Clone,
    {
        vec![value; len].into()
    }

    /// Appends a row and returns its id.
    pub fn push(&mut self, row: T) -> I {
        self.rows.push(row);
        I::from_position(self.rows.len() - 1)
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The row of `id`, if there is one.
    pub fn get(&self, id: I) -> Option<&T> {
        self.rows.get(id.position())
    }

    /// All ids in order.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = I> + ExactSizeIterator + use<I, T> {
        (0..self.rows.len()).map(I::from_position)
    }

    /// All rows in order.
    pub fn values(&self) -> std::slice::Iter<'_, T> {
        self.rows.iter()
    }

    /// All rows in order, mutable.
    pub fn values_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.rows.iter_mut()
    }

    /// All ids with their rows in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (I, &T)> + ExactSizeIterator {
        self.rows.iter().enumerate().map(|(position, row)| (I::from_position(position), row))
    }
}

impl<I: Id, T> Default for Table<I, T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<I: Id, T> From<Vec<T>> for Table<I, T> {
    fn from(rows: Vec<T>) -> Self {
        Self { rows, key: PhantomData }
    }
}

impl<I: Id, T> FromIterator<T> for Table<I, T> {
    fn from_iter<S: IntoIterator<Item = T>>(rows: S) -> Self {
        rows.into_iter().collect::<Vec<_>>().into()
    }
}

impl<I: Id, T> Index<I> for Table<I, T> {
    type Output = T;
    fn index(&self, id: I) -> &T {
        &self.rows[id.position()]
    }
}

impl<I: Id, T> IndexMut<I> for Table<I, T> {
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.rows[id.position()]
    }
}
