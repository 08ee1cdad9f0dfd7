-- name: newest_runs
-- The newest run that was started, of each of these tasks or of all.
SELECT
    run.task, run.number, run.outcome, run.reason, run.slot, run.slot_local, run.fold, run.attempt, run.attempts, run.retry_at, run.host, run.pid, run.boot, run.login,
    run.command, run.command_hash, run.fired_at, run.claimed_at, run.started_at, run.beat_at, run.lease_until, run.finished_at,
    run.duration, run.exit_status, run.signal, run.late_outcome, run.late_status, run.late_at, run.tail_dropped, run.clock_offset,
    run.by_hand, run.stop_asked, run.caught_up, run.once_version
FROM task
CROSS JOIN run ON run.task = task.name AND run.number = (
    SELECT newest.number
    FROM run AS newest
    WHERE newest.task = task.name
        AND newest.outcome NOT IN ('skipped', 'excused')
    ORDER BY newest.number DESC
    LIMIT 1
)
WHERE :tasks IS NULL OR task.name IN (SELECT value FROM json_each(:tasks))
ORDER BY task.name;

-- name: running_runs
-- Every run that says running, of these tasks or of all.
SELECT
    run.task, run.number, run.outcome, run.reason, run.slot, run.slot_local, run.fold, run.attempt, run.attempts, run.retry_at, run.host, run.pid, run.boot, run.login,
    run.command, run.command_hash, run.fired_at, run.claimed_at, run.started_at, run.beat_at, run.lease_until, run.finished_at,
    run.duration, run.exit_status, run.signal, run.late_outcome, run.late_status, run.late_at, run.tail_dropped, run.clock_offset,
    run.by_hand, run.stop_asked, run.caught_up, run.once_version
FROM run INDEXED BY run_running
WHERE run.outcome = 'running'
    AND (:tasks IS NULL OR run.task IN (SELECT value FROM json_each(:tasks)))
ORDER BY run.task, run.number;

-- name: usual_durations
-- How long the last successes of each of these tasks took.
SELECT run.task, run.duration
FROM (SELECT value AS task FROM json_each(:tasks)) AS asked
CROSS JOIN run ON run.task = asked.task AND run.number IN (
    SELECT recent.number
    FROM run AS recent
    WHERE recent.task = asked.task
        AND recent.outcome = 'succeeded'
        AND recent.duration IS NOT NULL
    ORDER BY recent.number DESC
    LIMIT :newest
);

-- name: in_force
-- The intervals in which these tasks, or all, were seen with a line.
SELECT schedule.task, schedule.expression, schedule.zone, schedule.engine, schedule.first_seen, schedule.last_seen
FROM schedule
WHERE :tasks IS NULL OR schedule.task IN (SELECT value FROM json_each(:tasks))
ORDER BY schedule.task, schedule.first_seen;

-- name: pauses
-- Who paused, resumed or retired what, and when.
SELECT event.task, event.scope, event.at, event.until, event.what
FROM event
WHERE event.what IN ('pause', 'resume', 'retire')
ORDER BY event.at, event.number;

-- name: done_slots
-- The slots of the successful runs of each of these tasks, in seconds since 1970, in one text a task.
SELECT asked.task, (
    SELECT group_concat(done.slot / 1000000, ' ')
    FROM (
        SELECT run.slot
        FROM run
        WHERE run.task = asked.task
            AND run.outcome = 'succeeded'
            AND run.slot >= :since
            AND run.slot < :until
        ORDER BY run.slot
    ) AS done
) AS slots
FROM (SELECT value AS task FROM json_each(:tasks)) AS asked;

-- name: undone_slots
-- The other runs of each of these tasks that have a slot, the attempts of a slot in their order.
SELECT
    run.task, run.slot, run.number, run.outcome, run.reason, run.host, run.exit_status,
    run.signal, run.late_outcome, run.retry_at, run.lease_until
FROM (SELECT value AS task FROM json_each(:tasks)) AS asked
CROSS JOIN run INDEXED BY run_unsuccessful
WHERE run.task = asked.task
    AND run.outcome <> 'succeeded'
    AND run.slot IS NOT NULL
    AND run.slot >= :since
    AND run.slot < :until
ORDER BY run.task, run.slot, run.attempt;

-- name: crossing_runs
-- Those runs of these tasks that share time with another: it began before they ended, or ended after they began.
WITH spell AS (
    SELECT asked.task, run.number, run.claimed_at AS started, run.claimed_at + run.duration AS ended
    FROM (SELECT value AS task FROM json_each(:tasks)) AS asked
    CROSS JOIN run INDEXED BY run_times
    WHERE run.task = asked.task
        AND run.duration IS NOT NULL
        AND run.duration <= 24 * 3600 * 1000000
        AND run.claimed_at >= :since - 24 * 3600 * 1000000
        AND run.claimed_at < :until
        AND run.claimed_at + run.duration > :since
    UNION ALL
    SELECT
        asked.task,
        run.number,
        run.claimed_at,
        CASE
            WHEN run.late_at IS NOT NULL THEN run.late_at - COALESCE(run.clock_offset, 0)
            WHEN run.duration IS NOT NULL THEN run.claimed_at + run.duration
            WHEN run.outcome = 'running' AND run.lease_until > :now THEN :now
            ELSE run.beat_at
        END
    FROM (SELECT value AS task FROM json_each(:tasks)) AS asked
    CROSS JOIN run INDEXED BY run_unbounded
    WHERE run.task = asked.task
        AND (run.duration IS NULL OR run.duration > 24 * 3600 * 1000000)
        AND run.outcome NOT IN ('skipped', 'excused')
        AND run.claimed_at < :until
),
ordered AS (
    SELECT
        spell.task,
        spell.number,
        spell.started,
        spell.ended,
        lead(spell.started) OVER till_now AS next_started,
        max(spell.ended) OVER till_now AS latest_end
    FROM spell
    WHERE spell.ended > :since
    WINDOW till_now AS (
        PARTITION BY spell.task
        ORDER BY spell.started
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    )
)
SELECT
    run.task, run.number, run.outcome, run.reason, run.slot, run.slot_local, run.fold, run.attempt, run.attempts, run.retry_at, run.host, run.pid, run.boot, run.login,
    run.command, run.command_hash, run.fired_at, run.claimed_at, run.started_at, run.beat_at, run.lease_until, run.finished_at,
    run.duration, run.exit_status, run.signal, run.late_outcome, run.late_status, run.late_at, run.tail_dropped, run.clock_offset,
    run.by_hand, run.stop_asked, run.caught_up, run.once_version
FROM ordered
CROSS JOIN run ON run.task = ordered.task AND run.number = ordered.number
WHERE ordered.next_started < ordered.ended
    OR ordered.latest_end > ordered.started
ORDER BY run.task, run.claimed_at, run.number;

-- name: silences
-- Starts of a task that came later than so long after the one before; the first of all has none before it.
SELECT told.last_start AS "last_start [instant]", told.next_start AS "next_start [instant]"
FROM (
    SELECT lag(started.at) OVER (ORDER BY started.at) AS last_start, started.at AS next_start
    FROM (
        SELECT run.claimed_at AS at
        FROM run
        WHERE run.task = :task
            AND run.duration IS NOT NULL
            AND run.claimed_at >= :since
            AND run.claimed_at < :until
        UNION ALL
        SELECT run.claimed_at
        FROM run
        WHERE run.task = :task
            AND run.duration IS NULL
            AND run.outcome NOT IN ('skipped', 'excused')
            AND run.claimed_at >= :since
            AND run.claimed_at < :until
        UNION ALL
        SELECT :until
    ) AS started
) AS told
WHERE told.next_start - told.last_start > :longest
ORDER BY told.next_start;

-- name: last_start_before
-- The newest start of a task before this instant.
SELECT run.claimed_at
FROM run
WHERE run.task = :task
    AND run.outcome NOT IN ('skipped', 'excused')
    AND run.claimed_at < :since
ORDER BY run.number DESC
LIMIT 1;
