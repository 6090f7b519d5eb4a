//! What pages ask of an index: boards, kernels, one page of a search, and what was added since.

use rusqlite::types::Value;
use rusqlite::{OptionalExtension, params_from_iter};

use super::{Index, address, found};
use crate::board::{BoardRuns, Mark};
use crate::error::ArchiveError;
use crate::query::Query;
use crate::{Address, Entry};

impl Index {
    /// How many stored runs `query` finds.
    pub(crate) fn count(&self, query: &Query) -> Result<u64, ArchiveError> {
        let (conditions, values) = query.sql()?;
        let text = format!("SELECT count(*) FROM runs WHERE {conditions}");
        let count: i64 =
            self.connection.prepare_cached(&text)?.query_row(params_from_iter(values), |row| row.get(0))?;
        Ok(count.cast_unsigned())
    }

    /// The `limit` newest stored runs that `query` finds, or those that are next older than the run `after`; the newest first.
    pub(crate) fn page(
        &self,
        query: &Query,
        after: Option<&Address>,
        limit: usize,
    ) -> Result<Vec<(Address, Entry)>, ArchiveError> {
        let (mut conditions, mut values) = query.sql()?;
        if let Some(after) = after {
            let mut statement = self
                .connection
                .prepare_cached("SELECT day, started_at FROM runs WHERE address = ? AND stored")?;
            let place = statement.query_row([after.as_str()], |row| {
                Ok((row.get::<_, Option<String>>(0)?, row.get::<_, String>(1)?))
            });
            let (day, started_at) = place.optional()?.ok_or_else(|| ArchiveError::Unknown(after.clone()))?;
            // Runs without a day are last.
            conditions += match &day {
                Some(_) => " AND (day IS NULL OR day < ? OR (day = ? AND (started_at, address) < (?, ?)))",
                None => " AND day IS NULL AND (started_at, address) < (?, ?)",
            };
            let days = day.iter().flat_map(|day| [day.clone(), day.clone()]);
            values.extend(days.chain([started_at, after.to_string()]).map(Value::Text));
        }
        values.push(Value::Integer(i64::try_from(limit).unwrap_or(i64::MAX)));
        self.in_order(&conditions, values, "ORDER BY day DESC, started_at DESC, address DESC LIMIT ?")
    }

    /// The stored runs that meet `conditions` on the table `runs`, in this order.
    pub(super) fn in_order(
        &self,
        conditions: &str,
        values: Vec<Value>,
        order: &str,
    ) -> Result<Vec<(Address, Entry)>, ArchiveError> {
        let text = format!(
            "SELECT address, entry FROM runs JOIN entries USING (sequence) WHERE {conditions} {order}"
        );
        let mut statement = self.connection.prepare_cached(&text)?;
        let rows = statement.query_map(params_from_iter(values), found)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// All boards with a stored run, by name.
    pub(crate) fn boards(&self) -> Result<Vec<BoardRuns>, ArchiveError> {
        let mut counts = self.connection.prepare_cached(
            "SELECT machine, count(*) FROM runs INDEXED BY runs_by_machine WHERE stored GROUP BY machine ORDER BY machine",
        )?;
        let mut newest = self.connection.prepare_cached(
            "SELECT address, entry FROM runs JOIN entries USING (sequence) WHERE stored AND machine = ? \
             ORDER BY day DESC, started_at DESC, address DESC LIMIT 1",
        )?;
        let counts: Vec<(String, i64)> =
            counts.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?;
        let board = |(machine, runs): (String, i64)| {
            let newest = newest.query_row([&machine], found)?;
            Ok(BoardRuns { machine, runs: runs.cast_unsigned(), newest })
        };
        counts.into_iter().map(board).collect()
    }

    /// The releases of all kernels with a stored run, and how many each has.
    pub(crate) fn kernels(&self) -> Result<Vec<(String, u64)>, ArchiveError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT release, count(*) FROM runs WHERE stored AND release IS NOT NULL GROUP BY release",
        )?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get::<_, i64>(1)?.cast_unsigned())))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The stored runs that were added after `mark`, in that order, and a mark after the last one. Without a mark, or with one of
    /// an index before this one, all of them.
    pub(crate) fn added_since(&self, mark: Option<&Mark>) -> Result<(Vec<Address>, Mark), ArchiveError> {
        let store: String = self.connection.query_row("SELECT made FROM identity", [], |row| row.get(0))?;
        let after = mark.filter(|mark| mark.store == store).map_or(0, |mark| mark.sequence);
        let mut statement = self.connection.prepare_cached(
            "SELECT address, sequence FROM runs WHERE stored AND sequence > ? ORDER BY sequence",
        )?;
        let rows = statement.query_map([after.cast_signed()], |row| {
            Ok((address(row, 0)?, row.get::<_, i64>(1)?.cast_unsigned()))
        })?;
        let rows: Vec<(Address, u64)> = rows.collect::<Result<_, _>>()?;
        let sequence = rows.last().map_or(after, |(_, sequence)| *sequence);
        Ok((rows.into_iter().map(|(address, _)| address).collect(), Mark { store, sequence }))
    }
}
