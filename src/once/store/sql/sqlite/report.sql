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
-- Runs of these tasks that share time with another: neighbours in their index, and whatever a run of unknown end meets.
WITH bounded AS (
    SELECT asked.task, run.number, run.claimed_at AS started, run.claimed_at + run.duration AS ended
    FROM (SELECT value AS task FROM json_each(:tasks)) AS asked
    CROSS JOIN run ON run.task = asked.task AND run.number IN (
        SELECT ordered.number
        FROM (
            SELECT
                spell.number,
                spell.claimed_at + spell.duration AS ended,
                lead(spell.claimed_at) OVER (ORDER BY spell.claimed_at) AS next_started
            FROM run AS spell INDEXED BY run_times
            WHERE spell.task = asked.task
                AND spell.duration IS NOT NULL
                AND spell.duration <= 24 * 3600 * 1000000
                AND spell.claimed_at >= :since - 24 * 3600 * 1000000
                AND spell.claimed_at < :until
        ) AS ordered
        WHERE ordered.next_started < ordered.ended
            AND ordered.ended > :since
    )
),
unbounded AS (
    SELECT
        asked.task,
        run.number,
        run.claimed_at AS started,
        CASE
            WHEN run.late_at IS NOT NULL THEN run.late_at - COALESCE(run.clock_offset, 0)
            WHEN run.duration IS NOT NULL THEN run.claimed_at + run.duration
            WHEN run.outcome = 'running' AND run.lease_until > :now THEN :now
            ELSE run.beat_at
        END AS ended
    FROM (SELECT value AS task FROM json_each(:tasks)) AS asked
    CROSS JOIN run INDEXED BY run_unbounded
    WHERE run.task = asked.task
        AND (run.duration IS NULL OR run.duration > 24 * 3600 * 1000000)
        AND run.outcome NOT IN ('skipped', 'excused')
        AND run.claimed_at < :until
        AND ended > :since
),
pair AS (
    SELECT bounded.task, bounded.number AS one, run.number AS other
    FROM bounded
    CROSS JOIN run INDEXED BY run_times
    WHERE run.task = bounded.task
        AND run.duration IS NOT NULL
        AND run.claimed_at >= bounded.started
        AND run.claimed_at < min(bounded.ended, :until)
        AND run.claimed_at + run.duration > :since
        AND run.number <> bounded.number
    UNION ALL
    SELECT unbounded.task, unbounded.number, run.number
    FROM unbounded
    CROSS JOIN run ON run.task = unbounded.task AND run.number <> unbounded.number AND run.number IN (
        SELECT later.number
        FROM run AS later INDEXED BY run_times
        WHERE later.task = unbounded.task
            AND later.duration IS NOT NULL
            AND later.claimed_at >= unbounded.started
            AND later.claimed_at < min(unbounded.ended, :until)
            AND later.claimed_at + later.duration > :since
        UNION ALL
        SELECT later.number
        FROM run AS later INDEXED BY run_unbounded
        WHERE later.task = unbounded.task
            AND (later.duration IS NULL OR later.duration > 24 * 3600 * 1000000)
            AND later.outcome NOT IN ('skipped', 'excused')
            AND later.claimed_at >= unbounded.started
            AND later.claimed_at < min(unbounded.ended, :until)
        UNION ALL
        SELECT earlier.number
        FROM run AS earlier INDEXED BY run_times
        WHERE earlier.task = unbounded.task
            AND earlier.duration IS NOT NULL
            AND earlier.claimed_at > unbounded.started - 24 * 3600 * 1000000
            AND earlier.claimed_at <= unbounded.started
            AND earlier.claimed_at + earlier.duration > unbounded.started
    )
),
member AS (
    SELECT DISTINCT pair.task, CASE side.value WHEN 1 THEN pair.one ELSE pair.other END AS number
    FROM pair
    CROSS JOIN json_each('[1, 2]') AS side
)
SELECT
    run.task, run.number, run.outcome, run.reason, run.slot, run.slot_local, run.fold, run.attempt, run.attempts, run.retry_at, run.host, run.pid, run.boot, run.login,
    run.command, run.command_hash, run.fired_at, run.claimed_at, run.started_at, run.beat_at, run.lease_until, run.finished_at,
    run.duration, run.exit_status, run.signal, run.late_outcome, run.late_status, run.late_at, run.tail_dropped, run.clock_offset,
    run.by_hand, run.stop_asked, run.caught_up, run.once_version
FROM member
CROSS JOIN run ON run.task = member.task AND run.number = member.number
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
