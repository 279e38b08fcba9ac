//! A table as Apache Parquet: one row group, Snappy, the columns of the CSV file with their types.

use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter, SerializedRowGroupWriter};
use parquet::record::Field;
use parquet::schema::types::{Type as Schema, TypePtr};
use rats_domain::codes::Code;
use rats_domain::problem::{Problem, Problems};

use super::column::{Cell, Column, Type};
use super::csv_file::columns;
use super::tables::{Row, columns_of};

/// Fixed, so that the same rows give the same bytes with every version of the library that writes them.
const CREATED_BY: &str = "rats";

/// The table as bytes.
///
/// # Errors
/// The library refuses; it should not.
pub fn write<R: Row>(rows: &[R]) -> Result<Vec<u8>, Problem> {
    encode(rows).map_err(|error| Problem::new(Code::U02, format!("{}.parquet", R::TABLE), format!("{error}.")))
}

fn encode<R: Row>(rows: &[R]) -> Result<Vec<u8>, ParquetError> {
    let columns = columns_of(rows);
    let properties = WriterProperties::builder()
        .set_writer_version(WriterVersion::PARQUET_1_0)
        .set_created_by(CREATED_BY.to_owned())
        .set_compression(Compression::SNAPPY)
        .build();
    let mut bytes = Vec::new();
    let mut file = SerializedFileWriter::new(&mut bytes, schema::<R>(&columns)?, Arc::new(properties))?;
    let mut group = file.next_row_group()?;
    for column in &columns {
        let cells: Vec<_> = rows.iter().map(|row| column.get(row)).collect();
        column_chunk(&mut group, column, cells)?;
    }
    group.close()?;
    file.close()?;
    Ok(bytes)
}

fn schema<R: Row>(columns: &[Column<R>]) -> Result<TypePtr, ParquetError> {
    let fields = columns.iter().map(|column| {
        let (physical, logical) = match column.kind {
            Type::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            Type::Whole => (Physical::INT64, None),
            Type::Number => (Physical::DOUBLE, None),
            Type::Truth => (Physical::BOOLEAN, None),
        };
        let repetition = if column.nullable { Repetition::OPTIONAL } else { Repetition::REQUIRED };
        Schema::primitive_type_builder(&column.name, physical)
            .with_logical_type(logical)
            .with_repetition(repetition)
            .build()
            .map(Arc::new)
    });
    let fields: Result<Vec<_>, _> = fields.collect();
    Schema::group_type_builder(R::TABLE).with_fields(fields?).build().map(Arc::new)
}

fn column_chunk<R: Row>(
    group: &mut SerializedRowGroupWriter<'_, &mut Vec<u8>>,
    column: &Column<R>,
    cells: Vec<Cell>,
) -> Result<(), ParquetError> {
    let missing = || ParquetError::General("the schema has fewer columns than the table".to_owned());
    let mut writer = group.next_column()?.ok_or_else(missing)?;
    let levels: Vec<i16> = cells.iter().map(|cell| i16::from(*cell != Cell::Null)).collect();
    let levels = column.nullable.then_some(levels.as_slice());
    match column.kind {
        Type::Text => values::<ByteArrayType>(&mut writer, cells, levels, |cell| match cell {
            Cell::Text(text) => Some(ByteArray::from(text.into_bytes())),
            _ => None,
        })?,
        Type::Whole => values::<Int64Type>(&mut writer, cells, levels, |cell| match cell {
            Cell::Whole(value) => Some(value),
            _ => None,
        })?,
        Type::Number => values::<DoubleType>(&mut writer, cells, levels, |cell| match cell {
            Cell::Number(value) => Some(value),
            _ => None,
        })?,
        Type::Truth => values::<BoolType>(&mut writer, cells, levels, |cell| match cell {
            Cell::Truth(value) => Some(value),
            _ => None,
        })?,
    }
    writer.close()
}

fn values<T: DataType>(
    writer: &mut SerializedColumnWriter<'_>,
    cells: Vec<Cell>,
    levels: Option<&[i16]>,
    value: impl Fn(Cell) -> Option<T::T>,
) -> Result<(), ParquetError> {
    let values: Vec<_> = cells.into_iter().filter_map(value).collect();
    writer.typed::<T>().write_batch(&values, levels, None).map(|_| ())
}

/// Reads a table; `name` stands in the places of problems.
///
/// # Errors
/// The file is damaged, or every cell that is wrong, with its row (counted from 1) and column.
pub fn read<R: Row>(name: &str, bytes: Vec<u8>) -> Result<Vec<R>, Problems> {
    let damaged = |error: ParquetError| Problem::new(Code::D15, name, format!("{error}."));
    let reader = SerializedFileReader::new(Bytes::from(bytes)).map_err(damaged)?;
    let schema = reader.metadata().file_metadata().schema();
    let columns = columns::<R>(name, schema.get_fields().iter().map(|field| field.name()))?;
    let mut rows = Vec::new();
    let mut problems = Vec::new();
    for (number, record) in reader.get_row_iter(None).map_err(damaged)?.enumerate() {
        let record = record.map_err(damaged)?;
        let mut row = R::default();
        for (column, (_, field)) in columns.iter().zip(record.get_column_iter()) {
            if let Err(message) = column.set(&mut row, cell(field)) {
                let place = format!("{name}: row {}, {}", number + 1, column.name);
                problems.push(Problem::new(Code::D05, place, message));
            }
        }
        rows.push(row);
    }
    if problems.is_empty() { Ok(rows) } else { Err(Problems(problems)) }
}

fn cell(field: &Field) -> Cell {
    match field {
        Field::Str(text) => Cell::Text(text.clone()),
        Field::Long(value) => Cell::Whole(*value),
        Field::Double(value) => Cell::Number(*value),
        Field::Bool(value) => Cell::Truth(*value),
        Field::Null => Cell::Null,
        other => Cell::Text(other.to_string()),
    }
}
