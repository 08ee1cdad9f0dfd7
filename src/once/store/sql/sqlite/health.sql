-- name: recent_runs
-- The newest rows of each of these tasks or of all, so many at most, newest first; the rest of a history is not read.
SELECT
    run.task, run.number, run.outcome, run.reason, run.slot, run.host, run.claimed_at,
    run.exit_status, run.signal, run.clock_offset, run.duration
FROM task
CROSS JOIN run ON run.task = task.name AND run.number IN (
    SELECT recent.number
    FROM run AS recent
    WHERE recent.task = task.name
    ORDER BY recent.number DESC
    LIMIT :newest
)
WHERE :tasks IS NULL OR task.name IN (SELECT value FROM json_each(:tasks))
ORDER BY run.task, run.number DESC;

-- name: last_successes
-- The newest slot that succeeded, of each of these tasks or of all.
SELECT task.name AS task, (
    SELECT run.slot
    FROM run
    WHERE run.task = task.name
        AND run.outcome = 'succeeded'
        AND run.slot IS NOT NULL
    ORDER BY run.slot DESC
    LIMIT 1
) AS "slot [instant]"
FROM task
WHERE :tasks IS NULL OR task.name IN (SELECT value FROM json_each(:tasks));

-- name: sightings
-- Who starts these tasks, or all.
SELECT
    sighting.task, sighting.host, sighting.first_seen, sighting.last_seen, sighting.schedule, sighting.command_hash,
    sighting.once_version
FROM sighting
WHERE :tasks IS NULL OR sighting.task IN (SELECT value FROM json_each(:tasks))
ORDER BY sighting.task, sighting.host;
