-- The index of an archive. Columns are what a search compares; all that is shown of a run is in `entry`.
CREATE TABLE runs (
    -- SHA-256 of the run file.
    address TEXT PRIMARY KEY,
    -- 0 while its file is being put in its place.
    stored INTEGER NOT NULL,
    -- The run's own identity; that of another tool's file is made of its name and its content.
    id TEXT NOT NULL,
    -- The day and the time of its start, UTC.
    day TEXT,
    started_at TEXT NOT NULL,
    machine TEXT NOT NULL,
    -- The kernel's version as one number, which orders as versions do.
    kernel INTEGER,
    preemption TEXT,
    -- One load a line.
    loads TEXT NOT NULL,
    judgement TEXT NOT NULL,
    limit_ns INTEGER,
    -- One cause a line.
    causes TEXT NOT NULL,
    -- The digest of the kernel's configuration.
    config TEXT,
    -- All that is known of the run, as JSON.
    entry TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX runs_by_id ON runs (id);
CREATE INDEX runs_by_start ON runs (day, started_at, address);

-- Each configuration once.
CREATE TABLE options (
    config TEXT NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (config, name)
) WITHOUT ROWID;
