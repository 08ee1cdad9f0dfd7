-- name: oldest_run
-- The first row of a task's history: whether anything of it is old enough to go costs one look by the key.
SELECT run.number, run.claimed_at, once.now() AS now
FROM once.run
WHERE run.task = %(task)s
ORDER BY run.number
LIMIT 1;

-- name: history_page
-- One page of a task's history, oldest first: as much of each row as tells whether it may go.
SELECT
    run.number, run.slot, run.outcome, run.claimed_at,
    run.outcome IN ('lost', 'cancelled') AND run.finished_at IS NULL AND run.late_at IS NULL AS end_may_come,
    run.retry_at IS NOT NULL AND run.lease_until > once.now() AS retries
FROM once.run
WHERE run.task = %(task)s
    AND run.number > %(beyond)s
ORDER BY run.number
LIMIT %(page)s;

-- name: kept_runs
-- The newest start, and the newest success by number and by slot: what intervals, previous success and reports go by.
SELECT
    (
        SELECT run.number
        FROM once.run
        WHERE run.task = %(task)s
            AND run.outcome NOT IN ('skipped', 'excused')
        ORDER BY run.number DESC
        LIMIT 1
    ) AS newest_start,
    (
        SELECT run.number
        FROM once.run
        WHERE run.task = %(task)s
            AND 'succeeded' IN (run.outcome, run.late_outcome)
        ORDER BY run.number DESC
        LIMIT 1
    ) AS newest_success,
    (
        SELECT run.number
        FROM once.run
        WHERE run.task = %(task)s
            AND run.slot IS NOT NULL
            AND 'succeeded' IN (run.outcome, run.late_outcome)
        ORDER BY run.slot DESC
        LIMIT 1
    ) AS newest_slot;

-- name: open_slot
-- The earliest slot up to here that is being run, or whose holder waits to retry: it must stay open to its holder.
SELECT opened.slot
FROM (
    SELECT run.slot
    FROM once.run
    WHERE run.task = %(task)s
        AND run.slot <= %(slot)s
        AND run.outcome = 'running'
    UNION ALL
    SELECT run.slot
    FROM once.run
    WHERE run.task = %(task)s
        AND run.slot <= %(slot)s
        AND run.outcome <> 'succeeded'
        AND run.slot IS NOT NULL
        AND run.retry_at IS NOT NULL
        AND run.lease_until > once.now()
) AS opened
ORDER BY opened.slot
LIMIT 1;

-- name: foreseen
-- How many of these runs of a task may go, and through which slot everything would have to be settled before.
SELECT count(*) AS runs, max(run.slot) AS slot
FROM once.run
WHERE run.task = %(task)s
    AND run.number > %(beyond)s
    AND run.number <= %(upto)s
    AND run.claimed_at < CASE
        WHEN run.outcome IN ('lost', 'cancelled') AND run.finished_at IS NULL AND run.late_at IS NULL
            THEN %(until_lost)s
        ELSE %(until)s
    END
    AND (run.slot IS NULL OR run.slot < COALESCE(%(opened)s::timestamptz, %(until)s))
    AND run.outcome <> 'running'
    AND (run.retry_at IS NULL OR COALESCE(run.lease_until <= once.now(), true))
    AND run.number <> ALL(%(kept)s::bigint[]);

-- name: lock_task_if_free
-- As lock_task, without a wait: whoever prunes has time, whoever claims has not.
SELECT task.last_number, task.protocol, task.settled_through
FROM once.task
WHERE task.name = %(task)s
FOR NO KEY UPDATE SKIP LOCKED;

-- name: settle
-- No slot up to here runs again. It never goes back.
UPDATE once.task
SET settled_through = GREATEST(settled_through, %(slot)s)
WHERE task.name = %(task)s;

-- name: delete_runs
-- Forget these runs, but for rows that a transaction holds (a fence, say).
DELETE FROM once.run
WHERE run.task = %(task)s
    AND run.number IN (
        SELECT old.number
        FROM once.run AS old
        WHERE old.task = %(task)s
            AND old.number = ANY(%(numbers)s::bigint[])
            AND old.outcome <> 'running'
        FOR UPDATE SKIP LOCKED
    );
