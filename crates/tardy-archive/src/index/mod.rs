//! The index of an archive: an SQLite database that is made from the run files, so that runs are found without opening them.
//!
//! It has nothing that the run files do not have. An index of an earlier version is made again instead of being changed.

mod conditions;
mod views;

use std::path::Path;
use std::time::Duration;

use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags, OptionalExtension, Row, params, params_from_iter};

use tardy_analyse::stop;

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

    /// Why what the index has of a run differs from `outcome`, which its file results in; `None` if it does not differ, or the index does
    /// not have the run.
    pub(crate) fn difference(
        &self,
        address: &Address,
        id: &str,
        outcome: &Outcome,
    ) -> Result<Option<String>, ArchiveError> {
        let mut statement = self.connection.prepare_cached(&format!(
            "SELECT {COLUMNS}, entry FROM runs LEFT JOIN entries USING (sequence) WHERE address = ? AND stored"
        ))?;
        let names: Vec<&str> = COLUMNS.split(", ").chain(["entry"]).collect();
        let known = statement.query_row([address.as_str()], |row| {
            (0..names.len()).map(|column| row.get::<_, Value>(column)).collect::<rusqlite::Result<Vec<_>>>()
        });
        let Some(known) = known.optional()? else { return Ok(None) };
        let expected = columns(id, outcome).into_iter().chain([Value::Text(entry_text(&outcome.entry))]);
        let differing =
            names.iter().zip(known).zip(expected).find(|((_, known), expected)| known != expected);
        if let Some(((name, known), expected)) = differing {
            return Ok(Some(format!("{name} {}", between(&known, &expected))));
        }
        match &outcome.config {
            Some(config) if self.options(config)? != *config => {
                Ok(Some("the options of its configuration differ".to_owned()))
            }
            _ => Ok(None),
        }
    }

    /// The options that the index has for a configuration.
    fn options(&self, config: &Config) -> Result<Config, ArchiveError> {
        let mut statement =
            self.connection.prepare_cached("SELECT name, value FROM options WHERE config = ?")?;
        let rows = statement.query_map([config_digest(config)], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The stored runs that `query` finds, the oldest first.
    pub(crate) fn find(&self, query: &Query) -> Result<Vec<(Address, Entry)>, ArchiveError> {
        let (conditions, values) = query.sql()?;
        self.in_order(&conditions, values, "ORDER BY day, started_at, address")
    }
}

fn put_one(
    connection: &Connection,
    address: &Address,
    id: &str,
    outcome: &Outcome,
    stored: bool,
) -> Result<(), ArchiveError> {
    if let Some(config) = &outcome.config {
        put_config(connection, config)?;
    }
    let text = entry_text(&outcome.entry);
    let own = [Value::Text(address.to_string()), Value::Integer(stored.into())];
    let values = own.into_iter().chain(columns(id, outcome));
    let mut statement = connection.prepare_cached(&format!(
        "INSERT INTO runs (address, stored, {COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    ))?;
    statement.execute(params_from_iter(values))?;
    connection
        .prepare_cached("INSERT INTO entries (sequence, entry) VALUES (?, ?)")?
        .execute(params![connection.last_insert_rowid(), text])?;
    Ok(())
}

/// The columns of `runs` that are made from a run file.
const COLUMNS: &str =
    "id, day, started_at, machine, release, kernel, preemption, loads, judgement, limit_ns, causes, config";

/// The values of [`COLUMNS`].
fn columns(id: &str, Outcome { entry, config }: &Outcome) -> Vec<Value> {
    let text = |text: &str| Value::Text(text.to_owned());
    let optional = |value: Option<&str>| value.map_or(Value::Null, text);
    let number = |value: Option<i64>| value.map_or(Value::Null, Value::Integer);
    vec![
        text(id),
        optional(entry.day()),
        text(&entry.row.started_at),
        text(&entry.machine),
        optional(entry.row.kernel.as_deref()),
        number(entry.version.map(crate::KernelVersion::ordinal)),
        optional(entry.preemption.map(tardy_record::facts::Preemption::name)),
        Value::Text(lines(&entry.loads)),
        text(entry.judgement.name()),
        number(entry.limit_ns.map(u64::cast_signed)),
        Value::Text(lines(&entry.causes)),
        config.as_ref().map_or(Value::Null, |config| Value::Text(config_digest(config))),
    ]
}

fn entry_text(entry: &Entry) -> String {
    serde_json::to_string(entry).expect("an entry has finite numbers only")
}

/// Characters of a value before and after a difference.
const SHOWN: usize = 40;

/// What differs between two values of a column: the part around the first difference.
fn between(known: &Value, expected: &Value) -> String {
    let shown = |value: &Value| match value {
        Value::Text(text) => text.clone(),
        Value::Integer(number) => number.to_string(),
        other => format!("{other:?}"),
    };
    let (known, expected) = (shown(known), shown(expected));
    let same = known.chars().zip(expected.chars()).take_while(|(one, other)| one == other).count();
    let part = |text: &str| text.chars().skip(same.saturating_sub(SHOWN)).take(2 * SHOWN).collect::<String>();
    format!("is '{}', and the run file results in '{}'", part(&known), part(&expected))
}

/// Stores a configuration once: many runs have the same.
fn put_config(connection: &Connection, config: &Config) -> Result<(), ArchiveError> {
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
    Ok(())
}

fn address(row: &Row<'_>, column: usize) -> rusqlite::Result<Address> {
    row.get::<_, String>(column)?.parse().map_err(|error: String| unreadable(column, error.into()))
}

fn found(row: &Row<'_>) -> rusqlite::Result<(Address, Entry)> {
    stop::check();
    let text: String = row.get(1)?;
    let entry = serde_json::from_str(&text).map_err(|error| unreadable(1, error.into()))?;
    Ok((address(row, 0)?, entry))
}

fn unreadable(column: usize, error: Box<dyn std::error::Error + Send + Sync>) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, error)
}

#[cfg(test)]
mod tests;
