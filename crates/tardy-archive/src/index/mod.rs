//! The index of an archive: an SQLite database that is made from the run files, so that runs are found without opening them.
//!
//! It has nothing that the run files do not have. An index of an earlier version is made again instead of being changed.

mod conditions;
mod views;

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, OptionalExtension, Row, params};

use crate::entry::{Config, Outcome, config_digest};
use crate::error::ArchiveError;
use crate::query::Query;
use crate::{Address, Entry};

use conditions::lines;

/// The file of the index in an archive.
pub(crate) const FILE: &str = "index.sqlite3";
/// The version of the tables, in SQLite's `user_version`.
const VERSION: i32 = 2;
/// How long a process waits for another one that writes.
const PATIENCE: Duration = Duration::from_secs(30);
/// SQLITE_READONLY_ROLLBACK: the database has a journal that must be rolled back, and is opened to be read only.
const NEEDS_ROLLBACK: i32 = 776;
const TABLES: &str = include_str!("tables.sql");

/// The version of an index that exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Age {
    /// It is that of this tardy.
    Present,
    /// An earlier tardy made it, or it is empty.
    Earlier,
    /// A later tardy made it.
    Later,
}

/// An open index.
#[derive(Debug)]
pub(crate) struct Index {
    connection: Connection,
}

impl Index {
    /// Opens an index that exists, to read it.
    pub(crate) fn to_read(path: &Path) -> Result<Self, ArchiveError> {
        let index = Self::open(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        // A process that was killed while it wrote has left a journal, which only a process that may write can roll back.
        match index.age() {
            Err(ArchiveError::Index(error))
                if error.sqlite_error().is_some_and(|error| error.extended_code == NEEDS_ROLLBACK) =>
            {
                Self::to_write(path)
            }
            _ => Ok(index),
        }
    }

    /// Opens an index that exists, to write into it.
    pub(crate) fn to_write(path: &Path) -> Result<Self, ArchiveError> {
        Self::open(path, OpenFlags::SQLITE_OPEN_READ_WRITE)
    }

    /// A new index.
    pub(crate) fn new(path: &Path) -> Result<Self, ArchiveError> {
        let index = Self::open(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)?;
        index.connection.execute_batch(TABLES)?;
        index.connection.pragma_update(None, "user_version", VERSION)?;
        Ok(index)
    }

    fn open(path: &Path, flags: OpenFlags) -> Result<Self, ArchiveError> {
        // Another user's link in a shared directory must not lead elsewhere.
        let flags = flags | OpenFlags::SQLITE_OPEN_NOFOLLOW | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        // The directory may be behind a link.
        let directory = path.parent().and_then(|directory| directory.canonicalize().ok());
        let path = match (directory, path.file_name()) {
            (Some(directory), Some(name)) => directory.join(name),
            _ => path.to_owned(),
        };
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(PATIENCE)?;
        Ok(Self { connection })
    }

    /// Which tardy made it.
    pub(crate) fn age(&self) -> Result<Age, ArchiveError> {
        let version: i32 = self.connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
        Ok(match version.cmp(&VERSION) {
            std::cmp::Ordering::Equal => Age::Present,
            std::cmp::Ordering::Less => Age::Earlier,
            std::cmp::Ordering::Greater => Age::Later,
        })
    }

    /// Adds runs. `stored` tells whether their files are in their places.
    pub(crate) fn put(
        &mut self,
        runs: &[(Address, String, Outcome)],
        stored: bool,
    ) -> Result<(), ArchiveError> {
        let transaction = self.connection.transaction()?;
        for (address, id, outcome) in runs {
            put_one(&transaction, address, id, outcome, stored)?;
        }
        Ok(transaction.commit()?)
    }

    /// Removes what is known of a run.
    pub(crate) fn remove(&mut self, address: &Address) -> Result<(), ArchiveError> {
        let transaction = self.connection.transaction()?;
        transaction.execute(
            "DELETE FROM entries WHERE sequence = (SELECT sequence FROM runs WHERE address = ?)",
            [address.as_str()],
        )?;
        transaction.execute("DELETE FROM runs WHERE address = ?", [address.as_str()])?;
        Ok(transaction.commit()?)
    }

    /// The runs whose files were about to be put in their places when a process ended, and have not been noted since.
    pub(crate) fn unfinished(&self) -> Result<Vec<Address>, ArchiveError> {
        self.addresses("SELECT address FROM runs WHERE NOT stored")
    }

    /// Notes whether the files of runs are in their places.
    pub(crate) fn note_stored<'a>(
        &mut self,
        addresses: impl IntoIterator<Item = &'a Address>,
        stored: bool,
    ) -> Result<(), ArchiveError> {
        let transaction = self.connection.transaction()?;
        for address in addresses {
            transaction
                .prepare_cached("UPDATE runs SET stored = ? WHERE address = ?")?
                .execute(params![stored, address.as_str()])?;
        }
        Ok(transaction.commit()?)
    }

    /// The addresses of all stored runs.
    pub(crate) fn stored(&self) -> Result<Vec<Address>, ArchiveError> {
        self.addresses("SELECT address FROM runs WHERE stored ORDER BY address")
    }

    fn addresses(&self, query: &str) -> Result<Vec<Address>, ArchiveError> {
        let mut statement = self.connection.prepare_cached(query)?;
        let rows = statement.query_map([], |row| address(row, 0))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The stored run with this identity.
    pub(crate) fn with_id(&self, id: &str) -> Result<Option<Address>, ArchiveError> {
        let mut statement =
            self.connection.prepare_cached("SELECT address FROM runs WHERE id = ? AND stored")?;
        Ok(statement.query_row([id], |row| address(row, 0)).optional()?)
    }

    /// Whether a run is stored.
    pub(crate) fn has(&self, address: &Address) -> Result<bool, ArchiveError> {
        let mut statement =
            self.connection.prepare_cached("SELECT 1 FROM runs WHERE address = ? AND stored")?;
        Ok(statement.exists([address.as_str()])?)
    }

    /// The stored runs that `query` finds, the oldest first.
    pub(crate) fn find(&self, query: &Query) -> Result<Vec<(Address, Entry)>, ArchiveError> {
        let (conditions, values) = query.sql();
        self.in_order(&conditions, values, "ORDER BY day, started_at, address")
    }
}

fn put_one(
    connection: &Connection,
    address: &Address,
    id: &str,
    Outcome { entry, config }: &Outcome,
    stored: bool,
) -> Result<(), ArchiveError> {
    let config = config.as_ref().map(|config| put_config(connection, config)).transpose()?;
    let text = serde_json::to_string(entry).expect("an entry has finite numbers only");
    let mut statement = connection.prepare_cached(
        "INSERT INTO runs (address, stored, id, day, started_at, machine, release, kernel, preemption, loads, judgement, \
         limit_ns, causes, config) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )?;
    statement.execute(params![
        address.as_str(),
        stored,
        id,
        entry.day(),
        entry.row.started_at,
        entry.machine,
        entry.row.kernel,
        entry.version.map(crate::KernelVersion::ordinal),
        entry.preemption.map(tardy_record::facts::Preemption::name),
        lines(&entry.loads),
        entry.judgement.name(),
        entry.limit_ns.map(u64::cast_signed),
        lines(&entry.causes),
        config,
    ])?;
    connection
        .prepare_cached("INSERT INTO entries (sequence, entry) VALUES (?, ?)")?
        .execute(params![connection.last_insert_rowid(), text])?;
    Ok(())
}

/// Stores a configuration once, and returns its digest: many runs have the same.
fn put_config(connection: &Connection, config: &Config) -> Result<String, ArchiveError> {
    let digest = config_digest(config);
    let known = connection
        .prepare_cached("SELECT 1 FROM options WHERE config = ? LIMIT 1")?
        .exists([digest.as_str()])?;
    if !known {
        let mut statement = connection
            .prepare_cached("INSERT OR IGNORE INTO options (config, name, value) VALUES (?, ?, ?)")?;
        for (name, value) in config {
            statement.execute(params![digest, name, value])?;
        }
    }
    Ok(digest)
}

fn address(row: &Row<'_>, column: usize) -> rusqlite::Result<Address> {
    row.get::<_, String>(column)?.parse().map_err(|error: String| unreadable(column, error.into()))
}

fn found(row: &Row<'_>) -> rusqlite::Result<(Address, Entry)> {
    let text: String = row.get(1)?;
    let entry = serde_json::from_str(&text).map_err(|error| unreadable(1, error.into()))?;
    Ok((address(row, 0)?, entry))
}

fn unreadable(column: usize, error: Box<dyn std::error::Error + Send + Sync>) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, error)
}

#[cfg(test)]
mod tests;
