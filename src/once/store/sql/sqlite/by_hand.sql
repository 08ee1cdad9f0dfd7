-- What is done by hand. Each leaves an event.

-- name: pause_task
-- No start of the task, until it is resumed or that time has come.
UPDATE task
SET paused_at = once_now(),
    paused_until = once_now() + :length,
    pause_note = :note
WHERE task.name = :task;

-- name: pause_scope
-- The same for every task whose name begins so.
INSERT INTO pause (scope, paused_at, paused_until, note)
VALUES (:scope, once_now(), once_now() + :length, :note)
ON CONFLICT (scope) DO UPDATE
SET paused_at = EXCLUDED.paused_at,
    paused_until = EXCLUDED.paused_until,
    note = EXCLUDED.note;

-- name: resume_task
-- The task may start again; one that was retired is back.
UPDATE task
SET paused_at = NULL,
    paused_until = NULL,
    pause_note = NULL,
    retired_at = NULL,
    retire_note = NULL
WHERE task.name = :task
    AND (task.retired_at IS NOT NULL OR task.paused_at IS NOT NULL AND COALESCE(task.paused_until > once_now(), 1));

-- name: resume_scope
-- The end of a pause of many tasks; those that were paused by name stay so.
DELETE FROM pause
WHERE scope = :scope
    AND COALESCE(paused_until > once_now(), 1);

-- name: retire_task
-- The task is no more.
UPDATE task
SET retired_at = once_now(),
    retire_note = :note
WHERE task.name = :task
    AND task.retired_at IS NULL;

-- name: cancel_ended
-- Runs whose lease has ended need no answer from their holder.
UPDATE run
SET outcome = 'cancelled',
    reason = :why
WHERE run.task = :task
    AND run.outcome = 'running'
    AND run.number = COALESCE(:number, run.number)
    AND CASE
        WHEN run.boot IS NULL OR :boot IS NULL THEN run.lease_until <= once_now()
        ELSE run.boot <> :boot OR run.lease_boottime <= once_boottime()
    END
RETURNING number;

-- name: cancel_waiting
-- A holder that waits to retry does not; how its attempt ended stays in the row.
UPDATE run
SET outcome = 'cancelled',
    reason = :why,
    retry_at = NULL
WHERE run.task = :task
    AND run.number > :beyond
    AND run.number = COALESCE(:number, run.number)
    AND run.outcome IN ('failed', 'timed_out')
    AND run.retry_at IS NOT NULL
    AND run.lease_until > once_now()
    AND NOT EXISTS (
        SELECT 1
        FROM run AS later
        WHERE later.task = run.task
            AND later.slot = run.slot
            AND later.attempt > run.attempt
    )
RETURNING number;

-- name: cancel_running
-- Their holders learn it from their next beat.
UPDATE run
SET stop_asked = COALESCE(stop_asked, :why)
WHERE run.task = :task
    AND run.outcome = 'running'
    AND run.number = COALESCE(:number, run.number)
RETURNING number;

-- name: newest_attempt
-- What is known of a slot, by its newest attempt.
SELECT
    run.attempt,
    run.number,
    CASE
        WHEN run.outcome = 'running' THEN 1
        ELSE run.retry_at IS NOT NULL AND run.lease_until > once_now()
    END AS alive,
    run.outcome = 'excused' AS excused,
    EXISTS (
        SELECT 1
        FROM run AS done
        WHERE done.task = run.task
            AND done.slot = run.slot
            AND 'succeeded' IN (done.outcome, done.late_outcome)
    ) AS succeeded
FROM run
WHERE run.task = :task
    AND run.slot = :slot
ORDER BY run.attempt DESC
LIMIT 1;

-- name: note_event
-- Who did what by hand, and why.
INSERT INTO event (at, login, host, what, task, scope, run, slot, until, why)
VALUES (
    once_now(), :login, :host, :what, :task, :scope, :run, :slot,
    COALESCE(:until, once_now() + :length), :why
);

-- name: extend_excuse
-- Slots that are excused in one go, in several transactions, are one event: this operator's last.
UPDATE event
SET until = :until
WHERE event.number = (
    SELECT max(last.number)
    FROM event AS last
    WHERE last.task = :task
        AND last.what = 'excuse'
        AND last.login = :login
        AND last.host = :host
);

-- name: events
-- What was done to a task, and to all since it was first started anywhere, newest first.
SELECT
    event.at, event.what, event.login, event.host, event.task, event.scope, event.run, event.slot, event.until,
    event.why
FROM event
WHERE (event.task = :task OR event.task IS NULL AND substr(:task, 1, length(event.scope)) = event.scope)
    AND event.at >= :since
    AND (
        event.task IS NOT NULL
        OR event.at >= (SELECT min(sighting.first_seen) FROM sighting WHERE sighting.task = :task)
    )
ORDER BY event.at DESC, event.number DESC
LIMIT :page;
