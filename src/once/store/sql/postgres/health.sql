-- name: recent_runs
-- The newest rows of each of these tasks or of all, so many at most, newest first; the rest of a history is not read.
SELECT
    task.name AS task, recent.number, recent.outcome, recent.reason, recent.slot, recent.host, recent.claimed_at,
    recent.exit_status, recent.signal, recent.clock_offset, recent.duration
FROM once.task
CROSS JOIN LATERAL (
    SELECT run.*
    FROM once.run
    WHERE run.task = task.name
    ORDER BY run.number DESC
    LIMIT %(newest)s
) AS recent
WHERE %(tasks)s::text[] IS NULL OR task.name = ANY(%(tasks)s::text[])
ORDER BY task.name, recent.number DESC;

-- name: last_successes
-- The newest slot that succeeded, of each of these tasks or of all.
SELECT task.name AS task, (
    SELECT run.slot
    FROM once.run
    WHERE run.task = task.name
        AND run.outcome = 'succeeded'
        AND run.slot IS NOT NULL
    ORDER BY run.slot DESC
    LIMIT 1
) AS slot
FROM once.task
WHERE %(tasks)s::text[] IS NULL OR task.name = ANY(%(tasks)s::text[]);

-- name: sightings
-- Who starts these tasks, or all.
SELECT
    sighting.task, sighting.host, sighting.first_seen, sighting.last_seen, sighting.schedule, sighting.command_hash,
    sighting.once_version
FROM once.sighting
WHERE %(tasks)s::text[] IS NULL OR sighting.task = ANY(%(tasks)s::text[])
ORDER BY sighting.task, sighting.host COLLATE "C";
