//! Rows as a Parquet file. The same rows have the same bytes: the file has no time and no random part.

use std::sync::Arc;

use parquet::basic::{Compression, ConvertedType, LogicalType, Repetition, Type as Physical};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::{ParquetError, Result};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type, TypePtr};

use crate::rows::Row;
use crate::tables::{Cell, Kind, Table};

/// What the file says that wrote it.
const WRITER: &str = "tardy";

/// The file of `rows`, which are in the order of the table's columns.
///
/// # Errors
/// If a row is not of the table.
pub(crate) fn of(table: &Table, rows: &[Row]) -> Result<Vec<u8>> {
    let properties = WriterProperties::builder()
        .set_created_by(WRITER.to_owned())
        .set_compression(Compression::SNAPPY)
        .build();
    let mut file = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut file, schema(table)?, Arc::new(properties))?;
    let mut group = writer.next_row_group()?;
    for at in 0..table.columns.len() {
        let mut column =
            group.next_column()?.ok_or_else(|| ParquetError::General("a column is missing".to_owned()))?;
        let kind = table.columns[at].1;
        write(column.untyped(), kind, rows.iter().map(|row| &row[at]))?;
        column.close()?;
    }
    group.close()?;
    writer.close()?;
    Ok(file)
}

fn schema(table: &Table) -> Result<TypePtr> {
    let fields = table.columns.iter().map(|(name, kind)| field(name, *kind)).collect::<Result<_>>()?;
    Ok(Arc::new(Type::group_type_builder(table.name).with_fields(fields).build()?))
}

fn field(name: &str, kind: Kind) -> Result<TypePtr> {
    let repetition = |optional: bool| if optional { Repetition::OPTIONAL } else { Repetition::REQUIRED };
    let text = |name: &str, repetition| {
        Type::primitive_type_builder(name, Physical::BYTE_ARRAY)
            .with_repetition(repetition)
            .with_logical_type(Some(LogicalType::String))
            .with_converted_type(ConvertedType::UTF8)
            .build()
    };
    let built = match kind {
        Kind::Text { optional } => text(name, repetition(optional))?,
        Kind::Integer { optional } => Type::primitive_type_builder(name, Physical::INT64)
            .with_repetition(repetition(optional))
            .build()?,
        Kind::Flag => Type::primitive_type_builder(name, Physical::BOOLEAN)
            .with_repetition(Repetition::REQUIRED)
            .build()?,
        // The three levels that the format asks of a list.
        Kind::Texts => {
            let element = Arc::new(text("element", Repetition::REQUIRED)?);
            let list = Type::group_type_builder("list")
                .with_repetition(Repetition::REPEATED)
                .with_fields(vec![element]);
            Type::group_type_builder(name)
                .with_repetition(Repetition::REQUIRED)
                .with_logical_type(Some(LogicalType::List))
                .with_converted_type(ConvertedType::LIST)
                .with_fields(vec![Arc::new(list.build()?)])
                .build()?
        }
    };
    Ok(Arc::new(built))
}

/// Writes the cells of a column, with definition levels (1 for a value that is there) and, for lists, repetition levels (1 for a value
/// that continues the list before).
fn write<'c>(column: &mut ColumnWriter<'_>, kind: Kind, cells: impl Iterator<Item = &'c Cell>) -> Result<()> {
    let other = |cell: &Cell| ParquetError::General(format!("{cell:?} is not of a column of {kind:?}"));
    let bytes = |text: &str| ByteArray::from(text.as_bytes().to_vec());
    let mut levels = Vec::new();
    match (kind, column) {
        (Kind::Text { optional }, ColumnWriter::ByteArrayColumnWriter(writer)) => {
            let mut values = Vec::new();
            for cell in cells {
                match cell {
                    Cell::Text(text) => values.push(bytes(text)),
                    Cell::Unknown if optional => {}
                    _ => return Err(other(cell)),
                }
                levels.push(i16::from(*cell != Cell::Unknown));
            }
            writer.write_batch(&values, optional.then_some(&levels[..]), None)?;
        }
        (Kind::Integer { optional }, ColumnWriter::Int64ColumnWriter(writer)) => {
            let mut values = Vec::new();
            for cell in cells {
                match cell {
                    Cell::Integer(number) => values.push(*number),
                    Cell::Unknown if optional => {}
                    _ => return Err(other(cell)),
                }
                levels.push(i16::from(*cell != Cell::Unknown));
            }
            writer.write_batch(&values, optional.then_some(&levels[..]), None)?;
        }
        (Kind::Flag, ColumnWriter::BoolColumnWriter(writer)) => {
            let flag = |cell: &Cell| if let Cell::Flag(flag) = cell { Ok(*flag) } else { Err(other(cell)) };
            let values = cells.map(flag).collect::<Result<Vec<bool>>>()?;
            writer.write_batch(&values, None, None)?;
        }
        (Kind::Texts, ColumnWriter::ByteArrayColumnWriter(writer)) => {
            let (mut values, mut repetitions) = (Vec::new(), Vec::new());
            for cell in cells {
                let Cell::Texts(texts) = cell else { return Err(other(cell)) };
                values.extend(texts.iter().map(|text| bytes(text)));
                // An empty list has one pair of levels, and no value.
                levels.extend(std::iter::repeat_n(i16::from(!texts.is_empty()), texts.len().max(1)));
                repetitions.extend((0..texts.len().max(1)).map(|at| i16::from(at > 0)));
            }
            writer.write_batch(&values, Some(&levels), Some(&repetitions))?;
        }
        (kind, _) => return Err(ParquetError::General(format!("a column of {kind:?} has another type"))),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use parquet::file::reader::{FileReader, SerializedFileReader};

    use super::*;

    const TABLE: Table = Table {
        name: "table",
        columns: &[
            ("text", Kind::Text { optional: true }),
            ("list", Kind::Texts),
            ("number", Kind::Integer { optional: true }),
            ("flag", Kind::Flag),
        ],
    };

    fn texts(all: &[&str]) -> Cell {
        Cell::Texts(all.iter().map(|text| (*text).to_owned()).collect())
    }

    #[test]
    fn rows_come_back_as_they_were() {
        let rows = vec![
            vec!["a".into(), texts(&["b", "c"]), 7_i64.into(), Cell::Flag(true)],
            vec![Cell::Unknown, texts(&[]), Cell::Unknown, Cell::Flag(false)],
            vec!["ü".into(), texts(&["d"]), i64::MIN.into(), Cell::Flag(false)],
        ];
        let file = of(&TABLE, &rows).unwrap();
        assert_eq!(file, of(&TABLE, &rows).unwrap(), "the same bytes");
        let mut on_disk = tempfile::tempfile().unwrap();
        on_disk.write_all(&file).unwrap();
        let reader = SerializedFileReader::new(on_disk).unwrap();
        let read: Vec<String> =
            reader.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect();
        let expected = [
            "{text: \"a\", list: [\"b\", \"c\"], number: 7, flag: true}",
            "{text: null, list: [], number: null, flag: false}",
            "{text: \"ü\", list: [\"d\"], number: -9223372036854775808, flag: false}",
        ];
        assert_eq!(read, expected);
    }

    #[test]
    fn a_row_of_another_table_is_an_error() {
        assert!(of(&TABLE, &[vec![7_i64.into(), texts(&[]), Cell::Unknown, Cell::Flag(true)]]).is_err());
    }
}
