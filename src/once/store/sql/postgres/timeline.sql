-- name: strips
-- The runs of each of these tasks since then, in cells of equal length, those alike counted together.
WITH spell AS (
    SELECT
        asked.task, lasted.host, lasted.state, lasted.started, lasted.ended,
        max(lasted.ended) OVER (
            PARTITION BY asked.task ORDER BY lasted.started, lasted.number
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS latest_end
    FROM unnest(%(tasks)s::text[]) AS asked (task)
    CROSS JOIN LATERAL (
        SELECT
            run.number, run.host, run.outcome AS state,
            run.claimed_at AS started, run.claimed_at + run.duration AS ended
        FROM once.run
        WHERE run.task = asked.task
            AND run.duration IS NOT NULL
            AND run.duration <= interval '24 hours'
            AND run.claimed_at >= %(since)s - interval '24 hours'
        UNION ALL
        SELECT
            run.number, run.host,
            CASE
                WHEN run.outcome <> 'running' OR run.lease_until > %(now)s THEN run.outcome
                ELSE 'stuck'
            END AS state,
            run.claimed_at AS started,
            CASE
                WHEN run.duration IS NOT NULL THEN run.claimed_at + run.duration
                WHEN run.outcome = 'running' AND run.lease_until > %(now)s THEN %(now)s
                ELSE COALESCE(run.beat_at, run.claimed_at)
            END AS ended
        FROM once.run
        WHERE run.task = asked.task
            AND (run.duration IS NULL OR run.duration > interval '24 hours')
            AND run.outcome NOT IN ('skipped', 'excused')
    ) AS lasted
),
skip AS (
    SELECT asked.task, passed.host, passed.outcome AS state, passed.slot AS started
    FROM unnest(%(tasks)s::text[]) AS asked (task)
    CROSS JOIN LATERAL (
        SELECT run.host, run.outcome, run.slot
        FROM once.run
        WHERE run.task = asked.task
            AND run.outcome <> 'succeeded'
            AND run.outcome IN ('skipped', 'excused')
            AND run.slot >= %(since)s
            AND run.slot < %(now)s
    ) AS passed
),
mark AS (
    SELECT
        spell.task, spell.host, spell.state, spell.started, spell.ended,
        CASE WHEN spell.latest_end > spell.started THEN LEAST(spell.latest_end, spell.ended) END AS shared_until
    FROM spell
    WHERE spell.ended >= %(since)s
        AND spell.started < %(now)s
    UNION ALL
    SELECT skip.task, skip.host, skip.state, skip.started, skip.started, NULL
    FROM skip
)
SELECT
    mark.task, mark.host, mark.state,
    floor(extract(epoch FROM mark.started - %(since)s) / %(seconds)s::float8)::bigint AS first,
    floor(extract(epoch FROM mark.ended - %(since)s) / %(seconds)s::float8)::bigint AS last,
    floor(extract(epoch FROM mark.shared_until - %(since)s) / %(seconds)s::float8)::bigint AS shared_last,
    count(*) AS runs
FROM mark
GROUP BY 1, 2, 3, 4, 5, 6
ORDER BY 1, 2, 3, 4, 5, 6;
