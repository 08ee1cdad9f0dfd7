-- name: newest_runs
-- The newest run that was started, of each of these tasks or of all.
SELECT
    newest.task, newest.number, newest.outcome, newest.reason, newest.slot, newest.slot_local, newest.fold, newest.attempt, newest.attempts, newest.retry_at, newest.host, newest.pid, newest.boot, newest.login,
    newest.command, newest.command_hash, newest.fired_at, newest.claimed_at, newest.started_at, newest.beat_at, newest.lease_until, newest.finished_at,
    newest.duration, newest.exit_status, newest.signal, newest.late_outcome, newest.late_status, newest.late_at, newest.tail_dropped, newest.clock_offset,
    newest.by_hand, newest.stop_asked, newest.caught_up, newest.once_version
FROM once.task
CROSS JOIN LATERAL (
    SELECT run.*
    FROM once.run
    WHERE run.task = task.name
        AND run.outcome NOT IN ('skipped', 'excused')
    ORDER BY run.number DESC
    LIMIT 1
) AS newest
WHERE %(tasks)s::text[] IS NULL OR task.name = ANY(%(tasks)s::text[])
ORDER BY task.name COLLATE "C";

-- name: running_runs
-- Every run that says running, of these tasks or of all.
SELECT
    run.task, run.number, run.outcome, run.reason, run.slot, run.slot_local, run.fold, run.attempt, run.attempts, run.retry_at, run.host, run.pid, run.boot, run.login,
    run.command, run.command_hash, run.fired_at, run.claimed_at, run.started_at, run.beat_at, run.lease_until, run.finished_at,
    run.duration, run.exit_status, run.signal, run.late_outcome, run.late_status, run.late_at, run.tail_dropped, run.clock_offset,
    run.by_hand, run.stop_asked, run.caught_up, run.once_version
FROM once.run
WHERE run.outcome = 'running'
    AND (%(tasks)s::text[] IS NULL OR run.task = ANY(%(tasks)s::text[]))
ORDER BY run.task COLLATE "C", run.number;

-- name: usual_durations
-- How long the last successes of each of these tasks took.
SELECT task.name AS task, recent.duration
FROM once.task
CROSS JOIN LATERAL (
    SELECT run.duration
    FROM once.run
    WHERE run.task = task.name
        AND run.outcome = 'succeeded'
        AND run.duration IS NOT NULL
    ORDER BY run.number DESC
    LIMIT %(newest)s
) AS recent
WHERE task.name = ANY(%(tasks)s::text[]);

-- name: in_force
-- The intervals in which these tasks, or all, were seen with a line.
SELECT schedule.task, schedule.expression, schedule.zone, schedule.engine, schedule.first_seen, schedule.last_seen
FROM once.schedule
WHERE %(tasks)s::text[] IS NULL OR schedule.task = ANY(%(tasks)s::text[])
ORDER BY schedule.task COLLATE "C", schedule.first_seen;

-- name: pauses
-- Who paused, resumed or retired what, and when.
SELECT event.task, event.scope, event.at, event.until, event.what
FROM once.event
WHERE event.what IN ('pause', 'resume', 'retire')
ORDER BY event.at, event.number;

-- name: done_slots
-- The slots of the successful runs of each of these tasks, in seconds since 1970, in one text a task.
SELECT asked.task, (
    SELECT string_agg(date_part('epoch', done.slot)::bigint::text, ' ')
    FROM (
        SELECT run.slot
        FROM once.run
        WHERE run.task = asked.task
            AND run.outcome = 'succeeded'
            AND run.slot >= %(since)s
            AND run.slot < %(until)s
        ORDER BY run.slot
    ) AS done
) AS slots
FROM unnest(%(tasks)s::text[]) AS asked (task);

-- name: undone_slots
-- The other runs of each of these tasks that have a slot, the attempts of a slot in their order.
SELECT
    undone.task, undone.slot, undone.number, undone.outcome, undone.reason, undone.host, undone.exit_status,
    undone.signal, undone.late_outcome, undone.retry_at, undone.lease_until
FROM unnest(%(tasks)s::text[]) AS asked (task)
CROSS JOIN LATERAL (
    SELECT run.*
    FROM once.run
    WHERE run.task = asked.task
        AND run.outcome <> 'succeeded'
        AND run.slot >= %(since)s
        AND run.slot < %(until)s
    ORDER BY run.slot, run.attempt
    OFFSET 0
) AS undone;

-- name: crossing_runs
-- Runs of these tasks that share time with another: whose next began before they ended, and all that began till then.
WITH earlier AS MATERIALIZED (
    SELECT asked.task, crossed.number, crossed.started, LEAST(crossed.ended, %(until)s) AS ended
    FROM unnest(%(tasks)s::text[]) AS asked (task)
    CROSS JOIN LATERAL (
        SELECT ordered.number, ordered.started, ordered.ended
        FROM (
            SELECT
                spell.number,
                spell.started,
                spell.ended,
                lead(spell.started) OVER (ORDER BY spell.started) AS next_started
            FROM (
                SELECT run.number, run.claimed_at AS started, run.claimed_at + run.duration AS ended
                FROM once.run
                WHERE run.task = asked.task
                    AND run.duration IS NOT NULL
                    AND run.duration <= interval '24 hours'
                    AND run.claimed_at >= %(since)s - interval '24 hours'
                    AND run.claimed_at < %(until)s
                UNION ALL
                SELECT
                    run.number,
                    run.claimed_at AS started,
                    CASE
                        WHEN run.late_at IS NOT NULL THEN run.late_at - COALESCE(run.clock_offset, interval '0')
                        WHEN run.duration IS NOT NULL THEN run.claimed_at + run.duration
                        WHEN run.outcome = 'running' AND run.lease_until > %(now)s THEN %(now)s
                        ELSE run.beat_at
                    END AS ended
                FROM once.run
                WHERE run.task = asked.task
                    AND (run.duration IS NULL OR run.duration > interval '24 hours')
                    AND run.outcome NOT IN ('skipped', 'excused')
                    AND run.claimed_at < %(until)s
            ) AS spell
            WHERE spell.ended > %(since)s
        ) AS ordered
        WHERE ordered.next_started < ordered.ended
        OFFSET 0
    ) AS crossed
),
member AS (
    SELECT earlier.task, earlier.number
    FROM earlier
    UNION
    SELECT earlier.task, later.number
    FROM earlier
    CROSS JOIN LATERAL (
        SELECT run.number
        FROM once.run
        WHERE run.task = earlier.task
            AND run.duration IS NOT NULL
            AND run.claimed_at >= earlier.started
            AND run.claimed_at < earlier.ended
            AND run.claimed_at + run.duration > %(since)s
        UNION ALL
        SELECT run.number
        FROM once.run
        WHERE run.task = earlier.task
            AND (run.duration IS NULL OR run.duration > interval '24 hours')
            AND run.outcome NOT IN ('skipped', 'excused')
            AND run.claimed_at >= earlier.started
            AND run.claimed_at < earlier.ended
        OFFSET 0
    ) AS later
)
SELECT
    run.task, run.number, run.outcome, run.reason, run.slot, run.slot_local, run.fold, run.attempt, run.attempts, run.retry_at, run.host, run.pid, run.boot, run.login,
    run.command, run.command_hash, run.fired_at, run.claimed_at, run.started_at, run.beat_at, run.lease_until, run.finished_at,
    run.duration, run.exit_status, run.signal, run.late_outcome, run.late_status, run.late_at, run.tail_dropped, run.clock_offset,
    run.by_hand, run.stop_asked, run.caught_up, run.once_version
FROM member
CROSS JOIN LATERAL (
    SELECT run.*
    FROM once.run
    WHERE run.task = member.task
        AND run.number = member.number
    OFFSET 0
) AS run
ORDER BY run.task COLLATE "C", run.claimed_at, run.number;

-- name: silences
-- Starts of a task that came later than so long after the one before; the first of all has none before it.
SELECT told.last_start, told.next_start
FROM (
    SELECT lag(started.at) OVER (ORDER BY started.at) AS last_start, started.at AS next_start
    FROM (
        SELECT run.claimed_at AS at
        FROM once.run
        WHERE run.task = %(task)s
            AND run.duration IS NOT NULL
            AND run.claimed_at >= %(since)s
            AND run.claimed_at < %(until)s
        UNION ALL
        SELECT run.claimed_at
        FROM once.run
        WHERE run.task = %(task)s
            AND run.duration IS NULL
            AND run.outcome NOT IN ('skipped', 'excused')
            AND run.claimed_at >= %(since)s
            AND run.claimed_at < %(until)s
        UNION ALL
        SELECT %(until)s
    ) AS started
) AS told
WHERE told.next_start - told.last_start > %(longest)s
ORDER BY told.next_start;

-- name: last_start_before
-- The newest start of a task before this instant.
SELECT run.claimed_at
FROM once.run
WHERE run.task = %(task)s
    AND run.outcome NOT IN ('skipped', 'excused')
    AND run.claimed_at < %(since)s
ORDER BY run.number DESC
LIMIT 1;
