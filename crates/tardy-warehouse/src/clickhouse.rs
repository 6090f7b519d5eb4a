//! The rows of an archive in ClickHouse, through its HTTP interface.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tardy_archive::{Address, ArchiveError, BoardRuns, Candidate, Entry, Mark, Query};
use tardy_record::Run;
use ureq::http::Request;

use crate::conditions::{self, quoted};
use crate::http::Client;
use crate::rows::{self, Row};
use crate::settings::{Secret, Settings};
use crate::tables::{self, Cell, Table};

const TABLES: &str = include_str!("tables.sql");
/// What stands for the database in [`TABLES`].
const PLACEHOLDER: &str = "DATABASE";
/// The beginning of the comment of the table `runs`, before the version of the tables.
const COMMENT: &str = "tardy archive ";
/// The version of the tables.
const VERSION: u32 = 1;
/// How long an insertion may take to be seen after its time was noted, in s.
const OVERLAP_S: u64 = 120;
/// The order of runs, as [`tardy_archive::Store`] has it. A day that is unknown is empty.
const ORDER: &str = "day, started_at, address";

/// A database of ClickHouse.
#[derive(Debug)]
pub(crate) struct Database {
    client: Client,
    url: String,
    user: String,
    password: Secret,
    /// Its name has letters, digits and '_' alone.
    database: String,
}

/// The answer to a search. One that was cut off is not whole JSON.
#[derive(Deserialize)]
struct Found<T> {
    data: Vec<T>,
    rows: usize,
}

impl Database {
    /// The database that the file at `path` names.
    pub(crate) fn of(settings: &Settings, path: &Path) -> Result<Self, ArchiveError> {
        let url = settings.clickhouse.url.trim_end_matches('/').to_owned();
        Ok(Self {
            client: Client::new(format!("ClickHouse at {url}"), settings.patience()),
            url: format!("{url}/?wait_end_of_query=1"),
            user: settings.clickhouse.user.clone().unwrap_or_else(|| "default".to_owned()),
            password: settings.password(path)?,
            database: settings.clickhouse.database.clone(),
        })
    }

    /// The version of the tables; `None` if there are none.
    fn version(&self) -> Result<Option<u32>, ArchiveError> {
        let database = quoted(&self.database);
        let found: Vec<(String,)> = self.select(&format!(
            "SELECT comment FROM system.tables WHERE database = {database} AND name = 'runs'"
        ))?;
        let Some((comment,)) = found.first() else { return Ok(None) };
        let version = comment.strip_prefix(COMMENT).and_then(|version| version.parse().ok());
        version.map(Some).ok_or_else(|| {
            self.client.failed(format!(
                "the database {} has a table runs that is not of an archive; choose another database",
                self.database
            ))
        })
    }

    /// Checks that the tables are there; `place` is the archive's file.
    pub(crate) fn check(&self, place: &Path) -> Result<(), ArchiveError> {
        let place = place.display();
        let database = &self.database;
        let reason = match self.version()? {
            Some(VERSION) => return Ok(()),
            None => {
                format!("the database {database} has no archive; 'tardy archive add {place} RUN…' makes one")
            }
            Some(version) if version > VERSION => format!(
                "the tables of {database} have version {version}, and this tardy knows version {VERSION}; use a newer tardy"
            ),
            Some(version) => format!(
                "the tables of {database} have version {version}; drop the database, and run 'tardy archive index {place}'"
            ),
        };
        Err(self.client.failed(reason))
    }

    /// Makes the tables if there are none.
    pub(crate) fn make(&self, place: &Path) -> Result<(), ArchiveError> {
        if self.version()?.is_some() {
            return self.check(place);
        }
        self.execute(&format!("CREATE DATABASE IF NOT EXISTS {}", self.database))?;
        // A statement ends with a semicolon at the end of its line; the comments have none there.
        let statements = TABLES.split(";\n").map(str::trim).filter(|statement| !statement.is_empty());
        statements
            .map(|statement| statement.replace(PLACEHOLDER, &self.database))
            .try_for_each(|one| self.execute(&one))
    }

    /// The runs that `query` finds, in order.
    pub(crate) fn find(&self, query: &Query, rest: &str) -> Result<Vec<(Address, Entry)>, ArchiveError> {
        query.check()?;
        let conditions = conditions::sql(query, &self.database);
        let found: Vec<(Address, String)> = self.select(&format!(
            "SELECT address, entry FROM {}.runs FINAL WHERE {conditions} {rest}",
            self.database
        ))?;
        found.into_iter().map(|(address, entry)| Ok((address, self.entry(&entry)?))).collect()
    }

    /// All runs that `query` finds.
    pub(crate) fn find_all(&self, query: &Query) -> Result<Vec<(Address, Entry)>, ArchiveError> {
        self.find(query, &format!("ORDER BY {ORDER}"))
    }

    /// How many runs `query` finds.
    pub(crate) fn count(&self, query: &Query) -> Result<u64, ArchiveError> {
        query.check()?;
        let conditions = conditions::sql(query, &self.database);
        let found: Vec<(u64,)> =
            self.select(&format!("SELECT count() FROM {}.runs FINAL WHERE {conditions}", self.database))?;
        Ok(found.first().map_or(0, |(count,)| *count))
    }

    /// The `limit` newest runs that `query` finds, or those that are next older than `after`; the newest first.
    pub(crate) fn page(
        &self,
        query: &Query,
        after: Option<&Address>,
        limit: usize,
    ) -> Result<Vec<(Address, Entry)>, ArchiveError> {
        let follows = match after {
            None => String::new(),
            Some(after) => {
                let places: Vec<(String, String)> = self.select(&format!(
                    "SELECT day, started_at FROM {}.runs FINAL WHERE address = {}",
                    self.database,
                    quoted(after.as_str())
                ))?;
                let (day, started_at) = places.first().ok_or_else(|| ArchiveError::Unknown(after.clone()))?;
                let place = [day, started_at, after.as_str()].map(quoted).join(", ");
                format!("AND ({ORDER}) < ({place})")
            }
        };
        let order = ORDER.split(", ").map(|column| format!("{column} DESC")).collect::<Vec<_>>().join(", ");
        self.find(query, &format!("{follows} ORDER BY {order} LIMIT {limit}"))
    }

    /// The releases of all kernels with a run, and how many runs each has.
    pub(crate) fn kernels(&self) -> Result<Vec<(String, u64)>, ArchiveError> {
        self.select(&format!(
            "SELECT assumeNotNull(release) AS known, count() FROM {}.runs FINAL WHERE release IS NOT NULL GROUP BY known ORDER BY known",
            self.database
        ))
    }

    /// The runs that were added after `mark`, in that order, and a mark before which nothing more is added: what was added in the
    /// last [`OVERLAP_S`] is found again.
    pub(crate) fn added_since(&self, mark: Option<&Mark>) -> Result<(Vec<Address>, Mark), ArchiveError> {
        let database = &self.database;
        let made: Vec<(String,)> = self.select(&format!(
            "SELECT toString(uuid) FROM system.tables WHERE database = {} AND name = 'runs'",
            quoted(database)
        ))?;
        let store = made.into_iter().next().map(|(store,)| store).unwrap_or_default();
        let after = mark.filter(|mark| mark.store == store).map_or(0, |mark| mark.sequence);
        let settled: Vec<(u64,)> = self.select(&format!(
            "SELECT toUInt64(toUnixTimestamp64Nano(now64(9)) - {OVERLAP_S} * 1000000000)"
        ))?;
        let settled = settled.first().map_or(0, |(now,)| *now);
        let found: Vec<(Address, u64)> = self.select(&format!(
            "SELECT address, toUInt64(added) FROM {database}.runs FINAL WHERE added > {after} ORDER BY added, address"
        ))?;
        let last = found.last().map_or(after, |(_, added)| *added);
        let mark = Mark { store, sequence: last.min(settled).max(after) };
        Ok((found.into_iter().map(|(address, _)| address).collect(), mark))
    }

    /// All boards with a run, by name.
    pub(crate) fn boards(&self) -> Result<Vec<BoardRuns>, ArchiveError> {
        let found: Vec<(String, u64, Address, String)> = self.select(&format!(
            "SELECT machine, count() AS runs, argMax(address, ({ORDER})) AS newest, argMax(entry, ({ORDER})) AS newest_entry \
             FROM {}.runs FINAL GROUP BY machine ORDER BY machine",
            self.database
        ))?;
        let board = |(machine, runs, address, entry): (String, u64, Address, String)| {
            Ok(BoardRuns { machine, runs, newest: (address, self.entry(&entry)?) })
        };
        found.into_iter().map(board).collect()
    }

    /// Those of the addresses that it has a row of.
    pub(crate) fn known(&self, addresses: &[&Address]) -> Result<BTreeSet<Address>, ArchiveError> {
        if addresses.is_empty() {
            return Ok(BTreeSet::new());
        }
        let all = addresses.iter().map(|address| quoted(address.as_str())).collect::<Vec<_>>().join(", ");
        let found: Vec<(Address,)> =
            self.select(&format!("SELECT address FROM {}.runs WHERE address IN ({all})", self.database))?;
        Ok(found.into_iter().map(|(address,)| address).collect())
    }

    /// The runs with these identities.
    pub(crate) fn with_ids(&self, ids: &BTreeSet<&str>) -> Result<BTreeMap<String, Address>, ArchiveError> {
        if ids.is_empty() {
            return Ok(BTreeMap::new());
        }
        let all = ids.iter().map(|id| quoted(id)).collect::<Vec<_>>().join(", ");
        let found: Vec<(String, Address)> =
            self.select(&format!("SELECT id, address FROM {}.runs WHERE id IN ({all})", self.database))?;
        Ok(found.into_iter().collect())
    }

    /// The addresses of all runs.
    pub(crate) fn addresses(&self) -> Result<BTreeSet<Address>, ArchiveError> {
        let found: Vec<(Address,)> = self.select(&format!("SELECT address FROM {}.runs", self.database))?;
        Ok(found.into_iter().map(|(address,)| address).collect())
    }

    /// Adds the rows of runs. Those of the table `runs`, by which runs are known, come last.
    pub(crate) fn insert(&self, runs: &[Candidate]) -> Result<(), ArchiveError> {
        for table in tables::ALL {
            let mut body = Vec::new();
            for candidate in runs {
                let day = candidate.outcome.entry.day().unwrap_or_default();
                for row in rows_of(table, candidate) {
                    write_row(day, row, &mut body);
                }
            }
            if !body.is_empty() {
                self.insert_rows(table, &body)?;
            }
        }
        Ok(())
    }

    /// Removes the rows of a run, those by which it is known first.
    pub(crate) fn remove(&self, address: &Address) -> Result<(), ArchiveError> {
        let address = quoted(address.as_str());
        let database = &self.database;
        self.execute(&format!("DELETE FROM {database}.runs WHERE address = {address}"))?;
        for table in [&tables::SERIES, &tables::HISTOGRAMS, &tables::FACTS] {
            self.execute(&format!("DELETE FROM {database}.{} WHERE run = {address}", table.name))?;
        }
        Ok(())
    }

    fn entry(&self, text: &str) -> Result<Entry, ArchiveError> {
        serde_json::from_str(text).map_err(|error| {
            self.client.failed(format!(
                "the row of a run cannot be read ({error}); 'tardy archive index' makes it again"
            ))
        })
    }

    fn insert_rows(&self, table: &Table, body: &[u8]) -> Result<(), ArchiveError> {
        let own: &[&str] = if table.name == tables::RUNS.name { &[tables::ENTRY] } else { &[] };
        let names = table.columns.iter().map(|(name, _)| name).chain(own);
        let columns = std::iter::once(&"day").chain(names).copied().collect::<Vec<_>>().join(", ");
        // Whatever the server's defaults are: rows are stored when it answers, from however many months they are.
        let statement = format!(
            "INSERT INTO {}.{} ({columns}) SETTINGS async_insert = 0, max_partitions_per_insert_block = 0 FORMAT JSONCompactEachRow",
            self.database, table.name
        );
        let url = format!("{}&query={}", self.url, percent_encoded(&statement));
        self.send(&url, body).map(drop)
    }

    fn select<T: DeserializeOwned>(&self, statement: &str) -> Result<Vec<T>, ArchiveError> {
        let statement =
            format!("{statement} SETTINGS output_format_json_quote_64bit_integers = 0 FORMAT JSONCompact");
        let body = self.send(&self.url, statement.as_bytes())?;
        let cut_off =
            |reason: String| self.client.failed(format!("its answer is not whole: {reason}; try again"));
        let found: Found<T> = serde_json::from_slice(&body).map_err(|error| cut_off(error.to_string()))?;
        match found.data.len() == found.rows {
            true => Ok(found.data),
            false => Err(cut_off(format!("{} of {} rows", found.data.len(), found.rows))),
        }
    }

    fn execute(&self, statement: &str) -> Result<(), ArchiveError> {
        self.send(&self.url, statement.as_bytes()).map(drop)
    }

    fn send(&self, url: &str, body: &[u8]) -> Result<Vec<u8>, ArchiveError> {
        let request = Request::post(url)
            .header("X-ClickHouse-User", &self.user)
            .header("X-ClickHouse-Key", self.password.expose())
            .body(body)
            .map_err(|error| {
                self.client.failed(format!("its address, the user or the password is wrong: {error}"))
            })?;
        let answer = self.client.send(request)?;
        match answer.status == 200 && !answer.has_exception {
            true => Ok(answer.body),
            false => Err(self.client.refused(&answer)),
        }
    }
}

/// The rows of a run in a table.
fn rows_of(table: &Table, Candidate { address, run, outcome }: &Candidate) -> Vec<Row> {
    let entry = || serde_json::to_string(&outcome.entry).expect("an entry has finite numbers only");
    let own = |run: &Run| {
        let mut row = rows::run(address, run, outcome);
        row.push(Cell::Text(entry()));
        row
    };
    match table.name {
        "runs" => vec![own(run)],
        "series" => rows::series(address, run),
        "histograms" => rows::histograms(address, run),
        "facts" => rows::facts(address, run),
        _ => outcome.config.as_ref().map(rows::options).unwrap_or_default(),
    }
}

/// Writes a row as an array of JSON, in a line of its own.
fn write_row(day: &str, row: Row, body: &mut Vec<u8>) {
    let value = |cell: Cell| match cell {
        Cell::Text(text) => Value::String(text),
        Cell::Texts(texts) => Value::Array(texts.into_iter().map(Value::String).collect()),
        Cell::Integer(number) => Value::from(number),
        Cell::Flag(flag) => Value::Bool(flag),
        Cell::Unknown => Value::Null,
    };
    let cells: Vec<Value> = std::iter::once(Value::from(day)).chain(row.into_iter().map(value)).collect();
    serde_json::to_writer(&mut *body, &cells).expect("texts and numbers can be written into memory");
    body.push(b'\n');
}

/// A text as the value of a parameter in an address.
fn percent_encoded(text: &str) -> String {
    let one = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'.' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_of_both_stores_have_the_same_columns() {
        let statements: Vec<&str> = TABLES.split(";\n").filter(|one| !one.trim().is_empty()).collect();
        assert_eq!(statements.len(), tables::ALL.len());
        for (statement, table) in statements.iter().zip(tables::ALL) {
            assert!(statement.contains(&format!("{PLACEHOLDER}.{}\n(", table.name)), "{statement}");
            let body = statement.split_once("\n(").unwrap().1;
            let lines = body.lines().map(str::trim).take_while(|line| *line != ")");
            let columns: Vec<&str> = lines
                .filter(|line| !line.is_empty() && !line.starts_with("--") && !line.contains(" DEFAULT "))
                .map(|line| line.split_whitespace().next().unwrap())
                .collect();
            let own: &[&str] = if table.name == "runs" { &[tables::ENTRY] } else { &[] };
            let names = table.columns.iter().map(|(name, _)| name).chain(own).copied();
            let expected: Vec<&str> = std::iter::once("day").chain(names).collect();
            assert_eq!(columns, expected, "{}", table.name);
        }
        assert!(TABLES.contains(&format!("COMMENT '{COMMENT}{VERSION}'")));
    }

    #[test]
    fn a_row_is_a_line_of_json() {
        let mut body = Vec::new();
        write_row(
            "2026-11-26",
            vec!["a\n'".into(), Cell::Texts(vec!["b".to_owned()]), Cell::Unknown, 7_i64.into()],
            &mut body,
        );
        assert_eq!(String::from_utf8(body).unwrap(), "[\"2026-11-26\",\"a\\n'\",[\"b\"],null,7]\n");
        assert_eq!(percent_encoded("a (b)&ü"), "a%20%28b%29%26%C3%BC");
    }
}
