-- What is done by hand. Each leaves an event.

-- name: pause_task
-- No start of the task, until it is resumed or that time has come.
UPDATE once.task
SET paused_at = once.now(),
    paused_until = once.now() + CAST(%(length)s AS interval),
    pause_note = %(note)s
WHERE task.name = %(task)s;

-- name: pause_scope
-- The same for every task whose name begins so.
INSERT INTO once.pause (scope, paused_at, paused_until, note)
SELECT %(scope)s, moment.now, moment.now + CAST(%(length)s AS interval), %(note)s
FROM (SELECT once.now() AS now) AS moment
ON CONFLICT (scope) DO UPDATE
SET paused_at = EXCLUDED.paused_at,
    paused_until = EXCLUDED.paused_until,
    note = EXCLUDED.note;

-- name: resume_task
-- The task may start again; one that was retired is back.
UPDATE once.task
SET paused_at = NULL,
    paused_until = NULL,
    pause_note = NULL,
    retired_at = NULL,
    retire_note = NULL
WHERE task.name = %(task)s
    AND (task.retired_at IS NOT NULL OR task.paused_at IS NOT NULL AND COALESCE(task.paused_until > once.now(), true));

-- name: resume_scope
-- The end of a pause of many tasks; those that were paused by name stay so.
DELETE FROM once.pause
WHERE pause.scope = %(scope)s
    AND COALESCE(pause.paused_until > once.now(), true);

-- name: retire_task
-- The task is no more.
UPDATE once.task
SET retired_at = once.now(),
    retire_note = %(note)s
WHERE task.name = %(task)s
    AND task.retired_at IS NULL;

-- name: cancel_ended
-- Runs whose lease has ended need no answer from their holder. A row that a transaction holds is alive.
WITH ended AS (
    SELECT run.number
    FROM once.run
    WHERE run.task = %(task)s
        AND run.outcome = 'running'
        AND run.lease_until <= once.now()
        AND run.number = COALESCE(%(number)s, run.number)
    FOR UPDATE SKIP LOCKED
)
UPDATE once.run
SET outcome = 'cancelled',
    reason = %(why)s
FROM ended
WHERE run.task = %(task)s
    AND run.number = ended.number
RETURNING run.number;

-- name: cancel_waiting
-- A holder that waits to retry does not; how its attempt ended stays in the row.
UPDATE once.run
SET outcome = 'cancelled',
    reason = %(why)s,
    retry_at = NULL
WHERE run.task = %(task)s
    AND run.number > %(beyond)s
    AND run.number = COALESCE(%(number)s, run.number)
    AND run.outcome IN ('failed', 'timed_out')
    AND run.retry_at IS NOT NULL
    AND run.lease_until > once.now()
    AND NOT EXISTS (
        SELECT
        FROM once.run AS later
        WHERE later.task = run.task
            AND later.slot = run.slot
            AND later.attempt > run.attempt
    )
RETURNING run.number;

-- name: cancel_running
-- Their holders learn it from their next beat.
UPDATE once.run
SET stop_asked = COALESCE(stop_asked, %(why)s)
WHERE run.task = %(task)s
    AND run.outcome = 'running'
    AND run.number = COALESCE(%(number)s, run.number)
RETURNING run.number;

-- name: newest_attempt
-- What is known of a slot, by its newest attempt.
SELECT
    run.attempt,
    run.number,
    CASE
        WHEN run.outcome = 'running' THEN true
        ELSE run.retry_at IS NOT NULL AND run.lease_until > once.now()
    END AS alive,
    run.outcome = 'excused' AS excused,
    EXISTS (
        SELECT
        FROM once.run AS done
        WHERE done.task = run.task
            AND done.slot = run.slot
            AND 'succeeded' IN (done.outcome, done.late_outcome)
    ) AS succeeded
FROM once.run
WHERE run.task = %(task)s
    AND run.slot = %(slot)s
ORDER BY run.attempt DESC
LIMIT 1;

-- name: note_event
-- Who did what by hand, and why.
INSERT INTO once.event (login, host, what, task, scope, run, slot, until, why)
VALUES (
    %(login)s, %(host)s, %(what)s, %(task)s, %(scope)s, %(run)s, %(slot)s,
    COALESCE(%(until)s, once.now() + CAST(%(length)s AS interval)), %(why)s
);

-- name: extend_excuse
-- Slots that are excused in one go, in several transactions, are one event: this operator's last.
UPDATE once.event
SET until = %(until)s
WHERE event.number = (
    SELECT max(last.number)
    FROM once.event AS last
    WHERE last.task = %(task)s
        AND last.what = 'excuse'
        AND last.login = %(login)s
        AND last.host = %(host)s
);

-- name: events
-- What was done to a task, and to all since it was first started anywhere, newest first.
SELECT
    event.at, event.what, event.login, event.host, event.task, event.scope, event.run, event.slot, event.until,
    event.why
FROM once.event
WHERE (event.task = %(task)s OR event.task IS NULL AND starts_with(%(task)s, COALESCE(event.scope, '')))
    AND event.at >= %(since)s
    AND (
        event.task IS NOT NULL
        OR event.at >= (SELECT min(sighting.first_seen) FROM once.sighting WHERE sighting.task = %(task)s)
    )
ORDER BY event.at DESC, event.number DESC
LIMIT %(page)s;
