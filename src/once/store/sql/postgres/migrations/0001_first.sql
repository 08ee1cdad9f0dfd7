-- What is needed from the first day: tasks, their schedules, their runs, the fence, and who was seen.

DO $$
BEGIN
    IF to_regnamespace('once') IS NULL THEN
        CREATE SCHEMA once;
    END IF;
END
$$;

CREATE FUNCTION once.now() RETURNS timestamptz
LANGUAGE sql VOLATILE
AS 'SELECT pg_catalog.clock_timestamp()';

COMMENT ON FUNCTION once.now() IS 'The clock that decides about leases.';

CREATE TABLE once.store (
    sole boolean PRIMARY KEY DEFAULT true CHECK (sole),
    identity text NOT NULL DEFAULT md5(random()::text || clock_timestamp()::text || random()::text),
    schema integer NOT NULL,
    protocol integer NOT NULL,
    made_at timestamptz NOT NULL DEFAULT once.now()
);

INSERT INTO once.store (schema, protocol) VALUES (0, 1);

CREATE TABLE once.migration (
    number integer PRIMARY KEY,
    name text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT once.now(),
    once_version text NOT NULL
);

CREATE TABLE once.task (
    name text PRIMARY KEY,
    folded text NOT NULL UNIQUE,
    last_number bigint NOT NULL DEFAULT 0,
    settled_through timestamptz,
    paused_at timestamptz,
    paused_until timestamptz,
    retired_at timestamptz,
    protocol integer NOT NULL DEFAULT 1
);

COMMENT ON COLUMN once.task.settled_through IS 'No slot up to here runs again, also when its rows are pruned.';

CREATE TABLE once.schedule (
    task text NOT NULL REFERENCES once.task,
    first_seen timestamptz NOT NULL,
    expression text NOT NULL,
    zone text NOT NULL,
    engine text NOT NULL,
    last_seen timestamptz NOT NULL,
    PRIMARY KEY (task, first_seen)
);

-- Beats rewrite their row: room on the page keeps them cheap. No unique index may contain lease_until, or the fence's
-- FOR KEY SHARE would hold beats up.
CREATE TABLE once.run (
    task text NOT NULL REFERENCES once.task,
    number bigint NOT NULL,
    token text NOT NULL,
    slot timestamptz,
    slot_local text,
    fold integer,
    attempt integer NOT NULL,
    outcome text NOT NULL CHECK (outcome IN (
        'running', 'succeeded', 'failed', 'timed_out', 'stopped', 'cancelled', 'lost', 'skipped', 'excused'
    )),
    reason text,
    attempts integer NOT NULL,
    retry_at timestamptz,
    host text NOT NULL,
    machine text,
    boot text,
    pid bigint NOT NULL,
    login text NOT NULL,
    command text NOT NULL,
    command_hash text NOT NULL,
    fired_at timestamptz,
    claimed_at timestamptz NOT NULL,
    started_at timestamptz,
    beat_at timestamptz,
    lease_until timestamptz,
    finished_at timestamptz,
    duration interval,
    exit_status integer,
    signal integer,
    late_outcome text,
    late_status integer,
    late_at timestamptz,
    tail bytea,
    tail_dropped bigint NOT NULL DEFAULT 0,
    clock_offset interval,
    by_hand boolean NOT NULL DEFAULT false,
    once_version text NOT NULL,
    PRIMARY KEY (task, number),
    UNIQUE (task, slot, attempt)
) WITH (fillfactor = 80);

CREATE INDEX run_running ON once.run (task) WHERE outcome = 'running';

CREATE TABLE once.sighting (
    task text NOT NULL REFERENCES once.task,
    host text NOT NULL,
    first_seen timestamptz NOT NULL,
    last_seen timestamptz NOT NULL,
    schedule text NOT NULL,
    command_hash text NOT NULL,
    once_version text NOT NULL,
    protocol integer NOT NULL,
    PRIMARY KEY (task, host)
);

CREATE TABLE once.event (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT once.now(),
    login text NOT NULL,
    host text NOT NULL,
    what text NOT NULL,
    task text,
    run bigint,
    slot timestamptz,
    why text
);

-- The fence. FOR KEY SHARE lets the holder's beats pass and holds claims up: they take a row that they cannot lock
-- FOR UPDATE for alive. The keepalives end the transaction of a client whose host has died.
CREATE FUNCTION once.assert_holder(task text, run bigint) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM
    FROM once.run AS held
    WHERE held.task = assert_holder.task
        AND held.number = assert_holder.run
        AND held.outcome = 'running'
    FOR KEY SHARE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'run % does not hold task % any more', run, task
            USING ERRCODE = 'object_not_in_prerequisite_state',
                HINT = 'Roll back: another run of the task may be at work.';
    END IF;
    PERFORM set_config('tcp_keepalives_idle', '60', true);
END
$$;

COMMENT ON FUNCTION once.assert_holder(text, bigint) IS
    'Raises 55000 unless this run holds its task, and keeps it so until the transaction ends.';
