-- The tables of an archive in ClickHouse, version 1. tardy puts the database's name in place of DATABASE.
--
-- A row that is inserted again replaces itself, when ClickHouse merges parts; a search with FINAL counts it once before that. What an
-- insertion has acknowledged is on the disk (fsync_after_insert).
CREATE TABLE IF NOT EXISTS DATABASE.options
(
    -- The day on which a run with this configuration started, empty if unknown.
    day LowCardinality(String),
    -- The digest of the configuration.
    config String CODEC(ZSTD),
    name String CODEC(ZSTD),
    value String CODEC(ZSTD)
)
ENGINE = ReplacingMergeTree ORDER BY (config, name)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;

CREATE TABLE IF NOT EXISTS DATABASE.facts
(
    day LowCardinality(String),
    -- The address of the run.
    run String CODEC(ZSTD),
    key LowCardinality(String),
    value String CODEC(ZSTD)
)
ENGINE = ReplacingMergeTree ORDER BY (run, key) PARTITION BY substring(day, 1, 7)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;

CREATE TABLE IF NOT EXISTS DATABASE.histograms
(
    day LowCardinality(String),
    run String CODEC(ZSTD),
    -- The number of the series in the run, from 0.
    series Int64 CODEC(Delta, ZSTD),
    low_ns Int64 CODEC(Delta, ZSTD),
    -- 9223372036854775807 if the bin has no upper end.
    high_ns Int64 CODEC(Delta, ZSTD),
    -- Whether these are waits of missed periods, in addition to the readings.
    filled Bool CODEC(ZSTD),
    count Int64 CODEC(T64, ZSTD)
)
ENGINE = ReplacingMergeTree ORDER BY (run, series, low_ns, high_ns, filled) PARTITION BY substring(day, 1, 7)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;

CREATE TABLE IF NOT EXISTS DATABASE.series
(
    day LowCardinality(String),
    run String CODEC(ZSTD),
    series Int64,
    phase Int64,
    phase_label LowCardinality(String),
    label LowCardinality(String),
    cpu Int64,
    quantity LowCardinality(String),
    level LowCardinality(String),
    counted_ns Int64 CODEC(ZSTD),
    attempted Nullable(Int64) CODEC(ZSTD),
    recorded Int64 CODEC(ZSTD),
    missed Nullable(Int64) CODEC(ZSTD),
    dropped Nullable(Int64) CODEC(ZSTD),
    min_ns Nullable(Int64) CODEC(ZSTD),
    max_ns Nullable(Int64) CODEC(ZSTD),
    sum_ns Nullable(Int64) CODEC(ZSTD)
)
ENGINE = ReplacingMergeTree ORDER BY (run, series) PARTITION BY substring(day, 1, 7)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;

CREATE TABLE IF NOT EXISTS DATABASE.runs
(
    day LowCardinality(String),
    address String CODEC(ZSTD),
    id String CODEC(ZSTD),
    name String CODEC(ZSTD),
    started_at String CODEC(ZSTD),
    machine LowCardinality(String),
    release LowCardinality(Nullable(String)),
    -- The kernel's version as one number, which orders as versions do: 6.12.118 is 6000012000118.
    kernel Nullable(Int64),
    preemption LowCardinality(Nullable(String)),
    loads Array(LowCardinality(String)),
    judgement LowCardinality(String),
    valid Bool,
    limit_ns Nullable(Int64),
    causes Array(LowCardinality(String)),
    measured_ns Int64 CODEC(ZSTD),
    config LowCardinality(Nullable(String)),
    -- All that lists and pages show of the run, as JSON.
    entry String CODEC(ZSTD(3)),
    -- When it was inserted, by the clock of ClickHouse, in ns since 1970.
    added Int64 DEFAULT toUnixTimestamp64Nano(now64(9)) CODEC(ZSTD)
)
ENGINE = ReplacingMergeTree ORDER BY address PARTITION BY substring(day, 1, 7)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'tardy archive 1';
