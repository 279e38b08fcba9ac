//! A column of a table: its name, unit, range and meaning, and how it is read from and written to a row.

use rats_domain::format::Flag;

/// One value of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Nothing.
    Null,
    /// A text.
    Text(String),
    /// A whole number.
    Whole(i64),
    /// A finite number.
    Number(f64),
    /// Yes or no.
    Truth(bool),
}

/// What the values of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// Text.
    Text,
    /// 64-bit whole numbers.
    Whole,
    /// 64-bit binary floating-point numbers.
    Number,
    /// `true` and `false`.
    Truth,
}

type Get<R> = Box<dyn Fn(&R) -> Cell>;
type Set<R> = Box<dyn Fn(&mut R, Cell) -> bool>;

/// A column of a table of `R`.
pub struct Column<R> {
    /// Its name, in the header and in the schema.
    pub name: String,
    /// What its values are.
    pub kind: Type,
    /// Whether values may be missing.
    pub nullable: bool,
    /// The unit; empty if there is none.
    pub unit: &'static str,
    /// Least and greatest value of numbers.
    pub range: (f64, f64),
    /// What it means.
    pub meaning: String,
    /// What a missing value means; empty if none may be missing.
    pub null: &'static str,
    get: Get<R>,
    set: Set<R>,
}

/// A field of a row that is one cell.
pub trait Value: Sized {
    /// What the cells are.
    const KIND: Type;
    /// Whether cells may be missing.
    const NULLABLE: bool;
    /// The cell.
    fn cell(&self) -> Cell;
    /// The field; `None` if the cell is of another kind.
    fn of(cell: Cell) -> Option<Self>;
}

impl<R> Column<R> {
    /// A column over a field.
    pub fn new<V: Value>(
        name: impl Into<String>,
        meaning: impl Into<String>,
        get: impl Fn(&R) -> V + 'static,
        set: impl Fn(&mut R, V) + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            kind: V::KIND,
            nullable: V::NULLABLE,
            unit: "",
            range: (f64::NEG_INFINITY, f64::INFINITY),
            meaning: meaning.into(),
            null: "",
            get: Box::new(move |row| get(row).cell()),
            set: Box::new(move |row, cell| V::of(cell).map(|value| set(row, value)).is_some()),
        }
    }

    /// With a unit and the range of its numbers.
    pub fn within(mut self, unit: &'static str, least: f64, most: f64) -> Self {
        self.unit = unit;
        self.range = (least, most);
        self
    }

    /// With the meaning of a missing value.
    pub fn missing(mut self, null: &'static str) -> Self {
        self.null = null;
        self
    }

    /// The cell of a row.
    pub fn get(&self, row: &R) -> Cell {
        (self.get)(row)
    }

    /// Puts a cell into a row.
    ///
    /// # Errors
    /// What is wrong with the cell.
    pub fn set(&self, row: &mut R, cell: Cell) -> Result<(), String> {
        let number = match cell {
            Cell::Null if !self.nullable => return Err("is empty.".to_owned()),
            Cell::Whole(value) => Some(value as f64),
            Cell::Number(value) => Some(value),
            _ => None,
        };
        let (least, most) = self.range;
        if let Some(value) = number.filter(|value| !value.is_finite() || *value < least || *value > most) {
            return Err(format!("{value} is not between {least} and {most}."));
        }
        let shown = format!("{cell:?}");
        if (self.set)(row, cell) { Ok(()) } else { Err(format!("{shown} cannot stand there.")) }
    }
}

impl Cell {
    /// Reads a text as a value of a kind; an empty one is no value.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn parse(text: &str, kind: Type) -> Result<Self, String> {
        if text.is_empty() {
            return Ok(Self::Null);
        }
        let shown: String = text.chars().take(40).flat_map(char::escape_debug).collect();
        match kind {
            Type::Text => Ok(Self::Text(text.to_owned())),
            Type::Whole => text.parse().map(Self::Whole).map_err(|_| format!("`{shown}` is not a whole number.")),
            Type::Number => text.parse().map(Self::Number).map_err(|_| format!("`{shown}` is not a number.")),
            Type::Truth => text.parse().map(Self::Truth).map_err(|_| format!("`{shown}` is neither true nor false.")),
        }
    }

    /// The value as text, exactly: reading it gives the same value.
    pub fn text(&self) -> String {
        match self {
            Self::Null => String::new(),
            Self::Text(text) => text.clone(),
            Self::Whole(value) => value.to_string(),
            Self::Number(value) => value.to_string(),
            Self::Truth(value) => value.to_string(),
        }
    }
}

macro_rules! value {
    ($($field:ty, $variant:ident;)*) => { $(
        impl Value for $field {
            const KIND: Type = Type::$variant;
            const NULLABLE: bool = false;
            fn cell(&self) -> Cell { Cell::$variant(self.clone()) }
            fn of(cell: Cell) -> Option<Self> {
                if let Cell::$variant(value) = cell { Some(value) } else { None }
            }
        }

        impl Value for Option<$field> {
            const KIND: Type = Type::$variant;
            const NULLABLE: bool = true;
            fn cell(&self) -> Cell { self.as_ref().map_or(Cell::Null, Value::cell) }
            fn of(cell: Cell) -> Option<Self> {
                if cell == Cell::Null { Some(None) } else { <$field>::of(cell).map(Some) }
            }
        }
    )* };
}

value! {
    String, Text;
    i64, Whole;
    f64, Number;
    bool, Truth;
}

/// Flags are one text, separated by blanks.
impl Value for Vec<Flag> {
    const KIND: Type = Type::Text;
    const NULLABLE: bool = true;

    fn cell(&self) -> Cell {
        let names: Vec<_> = self.iter().map(|flag| flag.name()).collect();
        if names.is_empty() { Cell::Null } else { Cell::Text(names.join(" ")) }
    }

    fn of(cell: Cell) -> Option<Self> {
        match cell {
            Cell::Null => Some(Self::new()),
            Cell::Text(text) => {
                text.split(' ').map(|name| Flag::ALL.iter().copied().find(|flag| flag.name() == name)).collect()
            }
            _ => None,
        }
    }
}
