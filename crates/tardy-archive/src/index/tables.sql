-- The index of an archive. The columns of `runs` are what a search compares; all that is shown of a run is in `entries`, so that a
-- search reads little.
CREATE TABLE runs (
    -- The order in which runs were added.
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    -- SHA-256 of the run file.
    address TEXT NOT NULL UNIQUE,
    -- 0 while its file is being put in its place.
    stored INTEGER NOT NULL,
    -- The run's own identity; that of another tool's file is made of its name and its content.
    id TEXT NOT NULL,
    -- The day and the time of its start, UTC.
    day TEXT,
    started_at TEXT NOT NULL,
    machine TEXT NOT NULL,
    -- The kernel's release, and the version that it begins with as one number, which orders as versions do.
    release TEXT,
    kernel INTEGER,
    preemption TEXT,
    -- One load a line.
    loads TEXT NOT NULL,
    judgement TEXT NOT NULL,
    limit_ns INTEGER,
    -- One cause a line.
    causes TEXT NOT NULL,
    -- The digest of the kernel's configuration.
    config TEXT
);
CREATE INDEX runs_by_id ON runs (id);
CREATE INDEX runs_by_start ON runs (day, started_at, address);
CREATE INDEX runs_by_machine ON runs (machine, stored, day, started_at, address);
CREATE INDEX runs_by_release ON runs (release, stored);

-- All that is known of each run, as JSON.
CREATE TABLE entries (
    sequence INTEGER PRIMARY KEY,
    entry TEXT NOT NULL
);

-- Each configuration once.
CREATE TABLE options (
    config TEXT NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (config, name)
) WITHOUT ROWID;

-- One row, which another index does not have: the numbers of the sequence are those of this index.
CREATE TABLE identity (made TEXT NOT NULL);
INSERT INTO identity VALUES (lower(hex(randomblob(16))));
