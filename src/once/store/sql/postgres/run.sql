-- name: beat
-- Extend the lease if the row is still ours; also one that has ended, if no claim came by. Say if we are to stop.
WITH durable AS (
    SELECT set_config('synchronous_commit', 'on', true)
    WHERE current_setting('synchronous_commit') IN ('off', 'local')
)
UPDATE once.run
SET beat_at = moment.now,
    lease_until = moment.now + %(lease)s,
    started_at = COALESCE(started_at, %(started_at)s)
FROM (SELECT once.now() AS now) AS moment, (SELECT count(*) FROM durable) AS raised
WHERE run.task = %(task)s
    AND run.number = %(number)s
    AND run.token = %(token)s
    AND run.outcome = 'running'
RETURNING run.stop_asked;

-- name: finish
-- Record the end of a row that is ours; if asked to stop, only well or cancelled. Who will retry keeps the slot till then.
WITH durable AS (
    SELECT set_config('synchronous_commit', 'on', true)
    WHERE current_setting('synchronous_commit') IN ('off', 'local')
)
UPDATE once.run
SET outcome = %(outcome)s,
    reason = %(reason)s,
    exit_status = %(exit_status)s,
    signal = %(signal)s,
    started_at = COALESCE(%(started_at)s, started_at),
    finished_at = %(finished_at)s,
    duration = %(duration)s,
    retry_at = moment.now + %(retry_in)s,
    lease_until = COALESCE(moment.now + %(retry_in)s + (lease_until - beat_at), lease_until),
    tail = %(tail)s,
    tail_dropped = %(tail_dropped)s
FROM (SELECT once.now() AS now) AS moment, (SELECT count(*) FROM durable) AS raised
WHERE run.task = %(task)s
    AND run.number = %(number)s
    AND run.token = %(token)s
    AND run.outcome = 'running'
    AND (run.stop_asked IS NULL OR %(outcome)s IN ('succeeded', 'cancelled'));

-- name: own_row
-- What became of our run: read after a beat or a finish that found it no longer running.
SELECT
    run.outcome,
    run.reason,
    run.finished_at,
    run.late_outcome,
    run.stop_asked,
    EXISTS (
        SELECT
        FROM once.run AS later
        WHERE later.task = run.task
            AND later.slot = run.slot
            AND later.attempt > run.attempt
    ) AS superseded
FROM once.run
WHERE run.task = %(task)s
    AND run.number = %(number)s
    AND run.token = %(token)s;

-- name: replace_lost
-- The late end of a lost run that nobody has repeated: the truth takes the place of `lost`.
UPDATE once.run
SET outcome = %(outcome)s,
    reason = %(reason)s,
    exit_status = %(exit_status)s,
    signal = %(signal)s,
    started_at = COALESCE(%(started_at)s, started_at),
    finished_at = %(finished_at)s,
    duration = %(duration)s,
    tail = %(tail)s,
    tail_dropped = %(tail_dropped)s
WHERE run.task = %(task)s
    AND run.number = %(number)s
    AND run.token = %(token)s
    AND run.outcome = 'lost';

-- name: note_late
-- The late end of a lost run that was repeated, or of a cancelled one: evidence, nothing more.
UPDATE once.run
SET late_outcome = %(outcome)s,
    late_status = %(exit_status)s,
    late_at = %(finished_at)s
WHERE run.task = %(task)s
    AND run.number = %(number)s
    AND run.token = %(token)s
    AND run.outcome IN ('lost', 'cancelled');

-- name: runs
-- One page of a task's history, newest first, without the tails.
SELECT
    task, number, outcome, reason, slot, slot_local, fold, attempt, attempts, retry_at, host, pid, boot, login,
    command, command_hash, fired_at, claimed_at, started_at, beat_at, lease_until, finished_at, duration,
    exit_status, signal, late_outcome, late_status, late_at, tail_dropped, clock_offset,
    by_hand, stop_asked, caught_up, once_version
FROM once.run
WHERE run.task = %(task)s
    AND run.number < %(before)s
ORDER BY run.number DESC
LIMIT %(page)s;

-- name: run
-- One run whole.
SELECT
    task, number, outcome, reason, slot, slot_local, fold, attempt, attempts, retry_at, host, pid, boot, login,
    command, command_hash, fired_at, claimed_at, started_at, beat_at, lease_until, finished_at, duration,
    exit_status, signal, late_outcome, late_status, late_at, tail, tail_dropped, clock_offset,
    by_hand, stop_asked, caught_up, once_version
FROM once.run
WHERE run.task = %(task)s
    AND run.number = %(number)s;

-- name: run_of_token
-- The run that a claim made whose answer nobody heard.
SELECT run.number
FROM once.run
WHERE run.task = %(task)s
    AND run.number > %(beyond)s
    AND run.token = %(token)s;

-- name: lowest_attempt
-- Below the attempts of a slot, so that the newest of those stays the one that decides.
SELECT min(run.attempt) AS attempt
FROM once.run
WHERE run.task = %(task)s
    AND run.slot = %(slot)s;

-- name: backdate_run
-- A run that is told afterwards was at work then, and never had a lease.
UPDATE once.run
SET claimed_at = %(claimed_at)s,
    beat_at = NULL,
    lease_until = NULL
WHERE run.task = %(task)s
    AND run.number = %(number)s
    AND run.token = %(token)s;
