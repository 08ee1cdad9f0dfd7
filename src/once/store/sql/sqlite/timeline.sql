-- name: strips
-- The runs of each of these tasks since then, in cells of equal length, those alike counted together.
WITH lasted AS (
    SELECT
        run.task, run.number, run.host, run.outcome AS state,
        run.claimed_at AS started, run.claimed_at + run.duration AS ended
    FROM (SELECT value AS task FROM json_each(:tasks)) AS asked
    CROSS JOIN run INDEXED BY run_times ON run.task = asked.task
        AND run.duration IS NOT NULL
        AND run.duration <= 24 * 3600 * 1000000
        AND run.claimed_at >= :since - 24 * 3600 * 1000000
    UNION ALL
    SELECT
        run.task, run.number, run.host,
        CASE
            WHEN run.outcome <> 'running' OR run.lease_until > :now THEN run.outcome
            ELSE 'stuck'
        END AS state,
        run.claimed_at AS started,
        CASE
            WHEN run.duration IS NOT NULL THEN run.claimed_at + run.duration
            WHEN run.outcome = 'running' AND run.lease_until > :now THEN :now
            ELSE COALESCE(run.beat_at, run.claimed_at)
        END AS ended
    FROM (SELECT value AS task FROM json_each(:tasks)) AS asked
    CROSS JOIN run INDEXED BY run_unbounded ON run.task = asked.task
        AND (run.duration IS NULL OR run.duration > 24 * 3600 * 1000000)
        AND run.outcome NOT IN ('skipped', 'excused')
),
spell AS (
    SELECT
        lasted.task, lasted.host, lasted.state, lasted.started, lasted.ended,
        max(lasted.ended) OVER (
            PARTITION BY lasted.task ORDER BY lasted.started, lasted.number
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS latest_end
    FROM lasted
),
mark AS (
    SELECT
        spell.task, spell.host, spell.state, spell.started, spell.ended,
        CASE WHEN spell.latest_end > spell.started THEN min(spell.latest_end, spell.ended) END AS shared_until
    FROM spell
    WHERE spell.ended >= :since
        AND spell.started < :now
    UNION ALL
    SELECT run.task, run.host, run.outcome, run.slot, run.slot, NULL
    FROM (SELECT value AS task FROM json_each(:tasks)) AS asked
    CROSS JOIN run INDEXED BY run_unsuccessful ON run.task = asked.task
        AND run.outcome <> 'succeeded'
        AND run.slot IS NOT NULL
        AND run.outcome IN ('skipped', 'excused')
        AND run.slot >= :since
        AND run.slot < :now
)
SELECT
    mark.task, mark.host, mark.state,
    CAST((mark.started - :since) / 1000000.0 / :seconds AS INTEGER) AS first,
    CAST((mark.ended - :since) / 1000000.0 / :seconds AS INTEGER) AS last,
    CAST((mark.shared_until - :since) / 1000000.0 / :seconds AS INTEGER) AS shared_last,
    count(*) AS runs
FROM mark
GROUP BY 1, 2, 3, 4, 5, 6
ORDER BY 1, 2, 3, 4, 5, 6;
