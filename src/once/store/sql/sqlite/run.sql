-- name: beat
-- Extend the lease if the row is still ours; also one that has ended, if no claim came by. Say if we are to stop.
UPDATE run
SET beat_at = once_now(),
    lease_until = once_now() + :lease,
    lease_boottime = once_boottime() + :lease,
    started_at = COALESCE(started_at, :started_at)
WHERE run.task = :task
    AND run.number = :number
    AND run.token = :token
    AND run.outcome = 'running'
RETURNING stop_asked;

-- name: finish
-- Record the end of a row that is ours; if asked to stop, only well or cancelled. Who will retry keeps the slot till then.
UPDATE run
SET outcome = :outcome,
    reason = :reason,
    exit_status = :exit_status,
    signal = :signal,
    started_at = COALESCE(:started_at, started_at),
    finished_at = :finished_at,
    duration = :duration,
    retry_at = once_now() + :retry_in,
    lease_until = COALESCE(once_now() + :retry_in + (lease_until - beat_at), lease_until),
    lease_boottime = COALESCE(once_boottime() + :retry_in + (lease_until - beat_at), lease_boottime),
    tail = :tail,
    tail_dropped = :tail_dropped
WHERE run.task = :task
    AND run.number = :number
    AND run.token = :token
    AND run.outcome = 'running'
    AND (run.stop_asked IS NULL OR :outcome IN ('succeeded', 'cancelled'));

-- name: own_row
-- What became of our run: read after a beat or a finish that found it no longer running.
SELECT
    run.outcome,
    run.reason,
    run.finished_at,
    run.late_outcome,
    run.stop_asked,
    EXISTS (
        SELECT 1
        FROM run AS later
        WHERE later.task = run.task
            AND later.slot = run.slot
            AND later.attempt > run.attempt
    ) AS superseded
FROM run
WHERE run.task = :task
    AND run.number = :number
    AND run.token = :token;

-- name: replace_lost
-- The late end of a lost run that nobody has repeated: the truth takes the place of `lost`.
UPDATE run
SET outcome = :outcome,
    reason = :reason,
    exit_status = :exit_status,
    signal = :signal,
    started_at = COALESCE(:started_at, started_at),
    finished_at = :finished_at,
    duration = :duration,
    tail = :tail,
    tail_dropped = :tail_dropped
WHERE run.task = :task
    AND run.number = :number
    AND run.token = :token
    AND run.outcome = 'lost';

-- name: note_late
-- The late end of a lost run that was repeated, or of a cancelled one: evidence, nothing more.
UPDATE run
SET late_outcome = :outcome,
    late_status = :exit_status,
    late_at = :finished_at
WHERE run.task = :task
    AND run.number = :number
    AND run.token = :token
    AND run.outcome IN ('lost', 'cancelled');

-- name: runs
-- One page of a task's history, newest first, without the tails.
SELECT
    task, number, outcome, reason, slot, slot_local, fold, attempt, attempts, retry_at, host, pid, boot, login,
    command, command_hash, fired_at, claimed_at, started_at, beat_at, lease_until, finished_at, duration,
    exit_status, signal, late_outcome, late_status, late_at, tail_dropped, clock_offset,
    by_hand, stop_asked, caught_up, once_version
FROM run
WHERE run.task = :task
    AND run.number < :before
ORDER BY run.number DESC
LIMIT :page;

-- name: run
-- One run whole.
SELECT
    task, number, outcome, reason, slot, slot_local, fold, attempt, attempts, retry_at, host, pid, boot, login,
    command, command_hash, fired_at, claimed_at, started_at, beat_at, lease_until, finished_at, duration,
    exit_status, signal, late_outcome, late_status, late_at, tail, tail_dropped, clock_offset,
    by_hand, stop_asked, caught_up, once_version
FROM run
WHERE run.task = :task
    AND run.number = :number;

-- name: run_of_token
-- The run that a claim made whose answer nobody heard.
SELECT run.number
FROM run
WHERE run.task = :task
    AND run.number > :beyond
    AND run.token = :token;

-- name: lowest_attempt
-- Below the attempts of a slot, so that the newest of those stays the one that decides.
SELECT min(run.attempt) AS attempt
FROM run
WHERE run.task = :task
    AND run.slot = :slot;

-- name: backdate_run
-- A run that is told afterwards was at work then, and never had a lease.
UPDATE run
SET claimed_at = :claimed_at,
    beat_at = NULL,
    lease_until = NULL
WHERE run.task = :task
    AND run.number = :number
    AND run.token = :token;
