-- name: tasks
-- Every task by name, with the line it was last seen with, and the pause that it is in: its own, else one of many.
SELECT
    task.name, task.last_number, task.settled_through, task.retired_at, task.retire_note,
    CASE WHEN pause.scope IS NULL THEN task.paused_at ELSE pause.paused_at END AS "paused_at [instant]",
    CASE WHEN pause.scope IS NULL THEN task.paused_until ELSE pause.paused_until END AS "paused_until [instant]",
    CASE WHEN pause.scope IS NULL THEN task.pause_note ELSE pause.note END AS pause_note,
    schedule.first_seen, schedule.expression, schedule.zone, schedule.engine
FROM task
LEFT JOIN pause ON pause.scope = (
    SELECT every.scope
    FROM pause AS every
    WHERE substr(task.name, 1, length(every.scope)) = every.scope
        AND COALESCE(every.paused_until > once_now(), 1)
    ORDER BY every.scope
    LIMIT 1
) AND NOT (task.paused_at IS NOT NULL AND COALESCE(task.paused_until > once_now(), 1))
LEFT JOIN schedule ON schedule.task = task.name AND schedule.first_seen = (
    SELECT newest.first_seen
    FROM schedule AS newest
    WHERE newest.task = task.name
    ORDER BY newest.last_seen DESC, newest.first_seen DESC
    LIMIT 1
)
WHERE :task IS NULL OR task.name = :task
ORDER BY task.name;

-- name: sight
-- This host started once for this task: one row a host, rewritten once a day or when something is different.
INSERT INTO sighting (
    task, host, first_seen, last_seen, schedule, command_hash, once_version, protocol
)
SELECT
    task.name, :seen_as, once_now(), once_now(), :fingerprint, :command_hash, :once_version, :protocol
FROM task
WHERE task.name = :task
ON CONFLICT (task, host) DO UPDATE
SET last_seen = EXCLUDED.last_seen,
    schedule = EXCLUDED.schedule,
    command_hash = EXCLUDED.command_hash,
    once_version = EXCLUDED.once_version,
    protocol = EXCLUDED.protocol
WHERE sighting.last_seen <= EXCLUDED.last_seen - 24 * 3600 * 1000000
    OR sighting.schedule <> EXCLUDED.schedule
    OR sighting.command_hash <> EXCLUDED.command_hash
    OR sighting.once_version <> EXCLUDED.once_version
    OR sighting.protocol <> EXCLUDED.protocol;
