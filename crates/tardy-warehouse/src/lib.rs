//! Archives that one machine is too small for: run files in object storage that speaks S3's interface, rows in ClickHouse; and any
//! archive as Parquet files (docs/adr/0036-a-warehouse.md).
//!
//! [`Warehouse`] is a [`tardy_archive::Store`]: what searches, lists and writes pages does not know which store is behind it. The run
//! files are the archive, here too: ClickHouse has nothing that cannot be made again from them.

mod bucket;
mod clickhouse;
mod conditions;
mod export;
mod http;
mod parquet_file;
mod rows;
mod settings;
mod tables;
mod warehouse;

pub use export::{ExportError, Exported, export};
pub use warehouse::Warehouse;
