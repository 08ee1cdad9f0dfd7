-- What is needed from the first day: tasks, their schedules, their runs, and who was seen.
-- An INSTANT is in microseconds since 1970, UTC; a DURATION in microseconds; lease_boottime is CLOCK_BOOTTIME of `boot`.

CREATE TABLE store (
    sole INTEGER PRIMARY KEY DEFAULT 1 CHECK (sole = 1),
    identity TEXT NOT NULL DEFAULT (lower(hex(randomblob(16)))),
    schema INTEGER NOT NULL,
    protocol INTEGER NOT NULL,
    made_at INSTANT NOT NULL
);

INSERT INTO store (schema, protocol, made_at) VALUES (0, 1, once_now());

CREATE TABLE migration (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    applied_at INSTANT NOT NULL,
    once_version TEXT NOT NULL
);

CREATE TABLE task (
    name TEXT PRIMARY KEY,
    folded TEXT NOT NULL UNIQUE,
    last_number INTEGER NOT NULL DEFAULT 0,
    settled_through INSTANT,
    paused_at INSTANT,
    paused_until INSTANT,
    retired_at INSTANT,
    protocol INTEGER NOT NULL DEFAULT 1
);

CREATE TABLE schedule (
    task TEXT NOT NULL REFERENCES task,
    first_seen INSTANT NOT NULL,
    expression TEXT NOT NULL,
    zone TEXT NOT NULL,
    engine TEXT NOT NULL,
    last_seen INSTANT NOT NULL,
    PRIMARY KEY (task, first_seen)
);

CREATE TABLE run (
    task TEXT NOT NULL REFERENCES task,
    number INTEGER NOT NULL,
    token TEXT NOT NULL,
    slot INSTANT,
    slot_local TEXT,
    fold INTEGER,
    attempt INTEGER NOT NULL,
    outcome TEXT NOT NULL CHECK (outcome IN (
        'running', 'succeeded', 'failed', 'timed_out', 'stopped', 'cancelled', 'lost', 'skipped', 'excused'
    )),
    reason TEXT,
    attempts INTEGER NOT NULL,
    retry_at INSTANT,
    host TEXT NOT NULL,
    machine TEXT,
    boot TEXT,
    pid INTEGER NOT NULL,
    login TEXT NOT NULL,
    command TEXT NOT NULL,
    command_hash TEXT NOT NULL,
    fired_at INSTANT,
    claimed_at INSTANT NOT NULL,
    started_at INSTANT,
    beat_at INSTANT,
    lease_until INSTANT,
    lease_boottime INTEGER,
    finished_at INSTANT,
    duration DURATION,
    exit_status INTEGER,
    signal INTEGER,
    late_outcome TEXT,
    late_status INTEGER,
    late_at INSTANT,
    tail BLOB,
    tail_dropped INTEGER NOT NULL DEFAULT 0,
    clock_offset DURATION,
    by_hand INTEGER NOT NULL DEFAULT 0,
    once_version TEXT NOT NULL,
    PRIMARY KEY (task, number),
    UNIQUE (task, slot, attempt)
);

CREATE INDEX run_running ON run (task) WHERE outcome = 'running';

CREATE TABLE sighting (
    task TEXT NOT NULL REFERENCES task,
    host TEXT NOT NULL,
    first_seen INSTANT NOT NULL,
    last_seen INSTANT NOT NULL,
    schedule TEXT NOT NULL,
    command_hash TEXT NOT NULL,
    once_version TEXT NOT NULL,
    protocol INTEGER NOT NULL,
    PRIMARY KEY (task, host)
);

CREATE TABLE event (
    number INTEGER PRIMARY KEY,
    at INSTANT NOT NULL,
    login TEXT NOT NULL,
    host TEXT NOT NULL,
    what TEXT NOT NULL,
    task TEXT,
    run INTEGER,
    slot INSTANT,
    why TEXT
);
