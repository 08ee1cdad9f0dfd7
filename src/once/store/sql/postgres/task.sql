-- name: tasks
-- Every task by name, with the line it was last seen with, and the pause that it is in: its own, else one of many.
SELECT
    task.name, task.last_number, task.settled_through, task.retired_at, task.retire_note,
    CASE WHEN pause.scope IS NULL THEN task.paused_at ELSE pause.paused_at END AS paused_at,
    CASE WHEN pause.scope IS NULL THEN task.paused_until ELSE pause.paused_until END AS paused_until,
    CASE WHEN pause.scope IS NULL THEN task.pause_note ELSE pause.note END AS pause_note,
    schedule.first_seen, schedule.expression, schedule.zone, schedule.engine
FROM once.task
LEFT JOIN once.pause ON pause.scope = (
    SELECT every.scope
    FROM once.pause AS every
    WHERE starts_with(task.name, every.scope)
        AND COALESCE(every.paused_until > once.now(), true)
    ORDER BY every.scope
    LIMIT 1
) AND NOT (task.paused_at IS NOT NULL AND COALESCE(task.paused_until > once.now(), true))
LEFT JOIN once.schedule ON schedule.task = task.name AND schedule.first_seen = (
    SELECT newest.first_seen
    FROM once.schedule AS newest
    WHERE newest.task = task.name
    ORDER BY newest.last_seen DESC, newest.first_seen DESC
    LIMIT 1
)
WHERE %(task)s::text IS NULL OR task.name = %(task)s
ORDER BY task.name COLLATE "C";

-- name: sight
-- This host started once for this task: one row a host, rewritten once a day or when something is different.
INSERT INTO once.sighting AS seen (
    task, host, first_seen, last_seen, schedule, command_hash, once_version, protocol
)
SELECT
    task.name, %(seen_as)s, moment.now, moment.now, %(fingerprint)s, %(command_hash)s, %(once_version)s, %(protocol)s
FROM once.task, (SELECT once.now() AS now) AS moment
WHERE task.name = %(task)s
ON CONFLICT (task, host) DO UPDATE
SET last_seen = EXCLUDED.last_seen,
    schedule = EXCLUDED.schedule,
    command_hash = EXCLUDED.command_hash,
    once_version = EXCLUDED.once_version,
    protocol = EXCLUDED.protocol
WHERE seen.last_seen <= EXCLUDED.last_seen - interval '24 hours'
    OR seen.schedule <> EXCLUDED.schedule
    OR seen.command_hash <> EXCLUDED.command_hash
    OR seen.once_version <> EXCLUDED.once_version
    OR seen.protocol <> EXCLUDED.protocol;
