-- name: oldest_run
-- The first row of a task's history: whether anything of it is old enough to go costs one look by the key.
SELECT run.number, run.claimed_at, once_now() AS "now [instant]"
FROM run
WHERE run.task = :task
ORDER BY run.number
LIMIT 1;

-- name: history_page
-- One page of a task's history, oldest first: as much of each row as tells whether it may go.
SELECT
    run.number, run.slot, run.outcome, run.claimed_at,
    run.outcome IN ('lost', 'cancelled') AND run.finished_at IS NULL AND run.late_at IS NULL AS end_may_come,
    run.retry_at IS NOT NULL AND (run.lease_until > once_now() OR run.lease_boottime > once_boottime()) AS retries
FROM run
WHERE run.task = :task
    AND run.number > :beyond
ORDER BY run.number
LIMIT :page;

-- name: kept_runs
-- The newest start, and the newest success by number and by slot: what intervals, previous success and reports go by.
SELECT
    (
        SELECT run.number
        FROM run
        WHERE run.task = :task
            AND run.outcome NOT IN ('skipped', 'excused')
        ORDER BY run.number DESC
        LIMIT 1
    ) AS newest_start,
    (
        SELECT run.number
        FROM run
        WHERE run.task = :task
            AND 'succeeded' IN (run.outcome, run.late_outcome)
        ORDER BY run.number DESC
        LIMIT 1
    ) AS newest_success,
    (
        SELECT run.number
        FROM run
        WHERE run.task = :task
            AND run.slot IS NOT NULL
            AND 'succeeded' IN (run.outcome, run.late_outcome)
        ORDER BY run.slot DESC
        LIMIT 1
    ) AS newest_slot;

-- name: open_slot
-- The earliest slot up to here that is being run, or whose holder waits to retry: it must stay open to its holder.
SELECT opened.slot AS "slot [instant]"
FROM (
    SELECT run.slot
    FROM run INDEXED BY run_running
    WHERE run.task = :task
        AND run.slot <= :slot
        AND run.outcome = 'running'
    UNION ALL
    SELECT run.slot
    FROM run INDEXED BY run_unsuccessful
    WHERE run.task = :task
        AND run.slot <= :slot
        AND run.outcome <> 'succeeded'
        AND run.slot IS NOT NULL
        AND run.retry_at IS NOT NULL
        AND (run.lease_until > once_now() OR run.lease_boottime > once_boottime())
) AS opened
ORDER BY opened.slot
LIMIT 1;

-- name: foreseen
-- How many of these runs of a task may go, and through which slot everything would have to be settled before.
SELECT count(*) AS runs, max(run.slot) AS "slot [instant]"
FROM run
WHERE run.task = :task
    AND run.number > :beyond
    AND run.number <= :upto
    AND run.claimed_at < CASE
        WHEN run.outcome IN ('lost', 'cancelled') AND run.finished_at IS NULL AND run.late_at IS NULL
            THEN :until_lost
        ELSE :until
    END
    AND (run.slot IS NULL OR run.slot < COALESCE(:opened, :until))
    AND run.outcome <> 'running'
    AND (run.retry_at IS NULL OR COALESCE(run.lease_until <= once_now() AND COALESCE(run.lease_boottime <= once_boottime(), true), true))
    AND run.number NOT IN (SELECT value FROM json_each(:kept));

-- name: lock_task_if_free
-- The transaction holds the whole file: there is nothing left to lock.
SELECT task.last_number, task.protocol, task.settled_through
FROM task
WHERE task.name = :task;

-- name: settle
-- No slot up to here runs again. It never goes back.
UPDATE task
SET settled_through = max(COALESCE(settled_through, :slot), :slot)
WHERE task.name = :task;

-- name: delete_runs
-- Forget these runs.
DELETE FROM run
WHERE run.task = :task
    AND run.number IN (SELECT value FROM json_each(:numbers))
    AND run.outcome <> 'running';
