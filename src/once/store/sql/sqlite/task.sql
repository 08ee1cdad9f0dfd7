-- name: tasks
-- Every task by name, with the line it was last seen with.
SELECT
    task.name, task.last_number, task.settled_through, task.paused_at, task.paused_until, task.retired_at,
    schedule.first_seen, schedule.expression, schedule.zone, schedule.engine
FROM task
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
