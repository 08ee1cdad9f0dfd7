-- name: begin
-- Open the claim's transaction: bounded waits, a bounded life, and a commit that survives a crash.
BEGIN ISOLATION LEVEL READ COMMITTED;
SELECT
    set_config('lock_timeout', '1s', true),
    set_config('idle_in_transaction_session_timeout', '5s', true),
    set_config(
        'synchronous_commit',
        CASE
            WHEN current_setting('synchronous_commit') IN ('off', 'local') THEN 'on'
            ELSE current_setting('synchronous_commit')
        END,
        true
    );

-- name: look
-- Everything that a decision needs, at one moment. In the claim's transaction whatever still runs is alive.
WITH moment AS (
    SELECT once.now() AS now
),
alive AS (
    SELECT max(run.number) AS number
    FROM once.run, moment
    WHERE run.task = %(task)s
        AND run.outcome = 'running'
        AND (
            %(locked)s
            OR run.lease_until > moment.now
            AND (
                run.machine = %(machine)s AND run.host = %(host)s AND run.boot <> %(boot)s
                AND run.beat_at <= %(booted_at)s
            ) IS NOT TRUE
        )
),
ended AS (
    SELECT max(run.claimed_at) AS claimed_at
    FROM once.run
    WHERE run.task = %(task)s
        AND run.duration IS NOT NULL
)
SELECT
    moment.now,
    store.identity,
    store.schema,
    store.protocol,
    task.name IS NOT NULL AS known,
    task.settled_through,
    COALESCE(
        CASE WHEN task.paused_at IS NOT NULL AND (task.paused_until IS NULL OR task.paused_until > moment.now)
            THEN COALESCE(task.pause_note, '')
        END,
        (
            SELECT pause.note
            FROM once.pause
            WHERE starts_with(%(task)s, pause.scope)
                AND (pause.paused_until IS NULL OR pause.paused_until > moment.now)
            ORDER BY pause.scope
            LIMIT 1
        )
    ) AS paused,
    CASE WHEN task.retired_at IS NOT NULL THEN COALESCE(task.retire_note, '') END AS retired,
    EXISTS (
        SELECT
        FROM once.run
        WHERE run.task = %(task)s
            AND run.slot = %(slot)s
            AND 'succeeded' IN (run.outcome, run.late_outcome)
    ) AS succeeded,
    latest.number AS latest_number,
    latest.outcome AS latest_outcome,
    latest.slot AS latest_slot,
    latest.attempt AS latest_attempt,
    latest.host AS latest_host,
    latest.pid AS latest_pid,
    latest.claimed_at AS latest_claimed_at,
    latest.lease_until AS latest_lease_until,
    latest.retry_at AS latest_retry_at,
    latest.exit_status AS latest_exit_status,
    latest.stop_asked AS latest_stop_asked,
    latest.caught_up AS latest_caught_up,
    CASE
        WHEN latest.outcome = 'running' THEN
            %(locked)s
            OR latest.lease_until > moment.now
            AND (
                latest.machine = %(machine)s AND latest.host = %(host)s AND latest.boot <> %(boot)s
                AND latest.beat_at <= %(booted_at)s
            ) IS NOT TRUE
        ELSE latest.retry_at IS NOT NULL
            AND latest.lease_until > moment.now
            AND latest.token IS DISTINCT FROM %(retry_of)s
    END AS latest_alive,
    (
        SELECT count(*)
        FROM once.run
        WHERE run.task = %(task)s
            AND run.slot = %(slot)s
            AND run.outcome NOT IN ('stopped', 'skipped', 'excused')
            AND (run.outcome <> 'running' OR run.token <> %(token)s)
    ) AS used,
    blocker.number AS blocker_number,
    blocker.outcome AS blocker_outcome,
    blocker.slot AS blocker_slot,
    blocker.attempt AS blocker_attempt,
    blocker.host AS blocker_host,
    blocker.pid AS blocker_pid,
    blocker.claimed_at AS blocker_claimed_at,
    blocker.lease_until AS blocker_lease_until,
    blocker.retry_at AS blocker_retry_at,
    blocker.exit_status AS blocker_exit_status,
    blocker.stop_asked AS blocker_stop_asked,
    blocker.caught_up AS blocker_caught_up,
    GREATEST(newest.claimed_at, ended.claimed_at) AS last_claimed_at,
    newest.command_hash,
    schedule.expression,
    schedule.zone,
    schedule.engine,
    own.first_seen AS in_force_since,
    COALESCE(own.first_seen = schedule.first_seen OR own.last_seen >= %(slot)s, true) AS line_noted,
    twin.number AS twin_number,
    twin.slot AS twin_slot,
    twin.host AS twin_host,
    (
        SELECT run.slot
        FROM once.run
        WHERE run.task = %(task)s
            AND run.slot < COALESCE(%(slot)s, 'infinity')
            AND 'succeeded' IN (run.outcome, run.late_outcome)
        ORDER BY run.slot DESC
        LIMIT 1
    ) AS previous_success,
    EXISTS (
        SELECT
        FROM once.sighting
        WHERE sighting.task = %(task)s
            AND sighting.host = %(seen_as)s
            AND sighting.last_seen > moment.now - interval '24 hours'
            AND sighting.schedule = %(fingerprint)s
            AND sighting.command_hash = %(command_hash)s
            AND sighting.once_version = %(once_version)s
    ) AS seen_today,
    (
        SELECT task.name
        FROM once.task
        WHERE task.folded = %(folded)s
            AND task.name <> %(task)s
    ) AS taken_name
FROM moment
CROSS JOIN alive
CROSS JOIN ended
CROSS JOIN once.store
LEFT JOIN once.task ON task.name = %(task)s
LEFT JOIN once.run AS latest ON latest.task = %(task)s AND latest.number = (
    SELECT run.number
    FROM once.run
    WHERE run.task = %(task)s
        AND run.slot = %(slot)s
    ORDER BY run.attempt DESC
    LIMIT 1
)
LEFT JOIN once.run AS blocker ON blocker.task = %(task)s AND blocker.number = GREATEST(alive.number, %(fenced)s)
LEFT JOIN once.run AS newest ON newest.task = %(task)s AND newest.number = (
    SELECT run.number
    FROM once.run
    WHERE run.task = %(task)s
        AND run.outcome NOT IN ('skipped', 'excused')
        AND run.attempt > 0
    ORDER BY run.number DESC
    LIMIT 1
)
LEFT JOIN once.schedule ON schedule.task = %(task)s AND schedule.first_seen = (
    SELECT newest.first_seen
    FROM once.schedule AS newest
    WHERE newest.task = %(task)s
    ORDER BY newest.last_seen DESC, newest.first_seen DESC
    LIMIT 1
)
LEFT JOIN once.schedule AS own ON own.task = %(task)s AND own.first_seen = (
    SELECT max(same.first_seen)
    FROM once.schedule AS same
    WHERE same.task = %(task)s
        AND same.expression = %(expression)s
        AND same.zone = %(zone)s
        AND same.engine = %(engine)s
) AND (own.first_seen = schedule.first_seen OR own.last_seen >= %(unbroken_since)s)
LEFT JOIN once.run AS twin ON twin.task = %(task)s AND twin.number = (
    SELECT run.number
    FROM once.run
    WHERE run.task = %(task)s
        AND run.slot > CAST(%(slot)s AS timestamptz) - interval '3 hours'
        AND run.slot < CAST(%(slot)s AS timestamptz) + interval '3 hours'
        AND run.slot <> %(slot)s
        AND run.slot_local = %(wall_clock)s
        AND run.fold = %(fold)s
        AND NOT run.by_hand
        AND run.claimed_at >= own.first_seen
        AND NOT EXISTS (
            SELECT
            FROM once.schedule AS other
            WHERE other.task = %(task)s
                AND (other.expression, other.zone, other.engine) <> (%(expression)s, %(zone)s, %(engine)s)
                AND run.claimed_at BETWEEN other.first_seen AND other.last_seen
        )
    ORDER BY run.slot DESC
    LIMIT 1
);

-- name: lock_task
-- Whoever claims, finishes late or prunes goes through this row. A statement of its own: what follows sees all of it.
SELECT task.last_number, task.protocol, task.settled_through
FROM once.task
WHERE task.name = %(task)s
FOR NO KEY UPDATE;

-- name: insert_task
-- Make a task known, unless it is, or one is whose name differs in case only.
INSERT INTO once.task (name, folded)
VALUES (%(task)s, %(folded)s)
ON CONFLICT DO NOTHING;

-- name: taken_name
-- The task whose name differs in case only.
SELECT task.name
FROM once.task
WHERE task.folded = %(folded)s
    AND task.name <> %(task)s;

-- name: expire
-- Whatever runs past its lease, or from before its host's reboot, is lost, or cancelled if asked to stop. Locked rows live.
WITH ended AS (
    SELECT run.number, run.lease_until <= once.now() AS by_lease
    FROM once.run
    WHERE run.task = %(task)s
        AND run.outcome = 'running'
        AND (
            run.lease_until <= once.now()
            OR run.machine = %(machine)s AND run.host = %(host)s AND run.boot <> %(boot)s
            AND run.beat_at <= %(booted_at)s
        )
    FOR UPDATE SKIP LOCKED
)
UPDATE once.run
SET outcome = CASE WHEN run.stop_asked IS NULL THEN 'lost' ELSE 'cancelled' END,
    reason = concat(run.stop_asked || '; ', CASE WHEN ended.by_lease THEN %(ended)s ELSE %(rebooted)s END)
FROM ended
WHERE run.task = %(task)s
    AND run.number = ended.number;

-- name: newest_claimed
-- The newest run that was claimed. One that ran unguarded is told later, under a higher number, and never had a fence.
SELECT run.number
FROM once.run
WHERE run.task = %(task)s
    AND run.outcome NOT IN ('skipped', 'excused')
    AND run.attempt > 0
ORDER BY run.number DESC
LIMIT 1;

-- name: lock_run
-- No row: a transaction holds the run's fence, so it counts as alive.
SELECT run.number
FROM once.run
WHERE run.task = %(task)s
    AND run.number = %(number)s
FOR UPDATE SKIP LOCKED;

-- name: let_a_moment_pass
-- Longer than a commit takes.
SELECT pg_sleep(0.1);

-- name: touch_run
-- A real write of the same values: a later fence under REPEATABLE READ must fail on this row.
UPDATE once.run
SET reason = reason
WHERE run.task = %(task)s
    AND run.number = %(number)s;

-- name: own_run
-- The claim's own run, when the answer to an earlier COMMIT was lost.
SELECT run.number, run.attempt
FROM once.run
WHERE run.task = %(task)s
    AND run.token = %(token)s
    AND run.outcome = 'running';

-- name: take_number
-- The next number of the task, which is also the fencing token.
UPDATE once.task
SET last_number = %(number)s
WHERE task.name = %(task)s;

-- name: insert_run
-- The claim itself, or a skip, which has no lease.
INSERT INTO once.run (
    task, number, token, slot, slot_local, fold, attempt, outcome, reason, attempts,
    host, machine, boot, pid, login, command, command_hash,
    fired_at, claimed_at, beat_at, lease_until, clock_offset, by_hand, caught_up, once_version
)
SELECT
    %(task)s, %(number)s, %(token)s, %(slot)s, %(slot_local)s, %(fold)s, %(attempt)s, %(outcome)s, %(reason)s, %(attempts)s,
    %(host)s, %(machine)s, %(boot)s, %(pid)s, %(login)s, %(command)s, %(command_hash)s,
    %(fired_at)s, moment.now, CASE WHEN %(outcome)s = 'running' THEN moment.now END, moment.now + %(lease)s,
    %(clock_offset)s, %(by_hand)s, %(caught_up)s, %(once_version)s
FROM (SELECT once.now() AS now) AS moment;

-- name: extend_schedule
-- The task was seen with this line again: the one that was seen last, or one that has left no slot out since.
UPDATE once.schedule
SET last_seen = GREATEST(
    last_seen,
    COALESCE(
        (SELECT run.claimed_at FROM once.run WHERE run.task = %(task)s AND run.number = %(number)s),
        once.now()
    )
)
WHERE schedule.task = %(task)s
    AND schedule.first_seen = (
        SELECT max(same.first_seen)
        FROM once.schedule AS same
        WHERE same.task = %(task)s
            AND same.expression = %(expression)s
            AND same.zone = %(zone)s
            AND same.engine = %(engine)s
    )
    AND (
        schedule.last_seen >= %(unbroken_since)s
        OR schedule.first_seen = (
            SELECT newest.first_seen
            FROM once.schedule AS newest
            WHERE newest.task = %(task)s
            ORDER BY newest.last_seen DESC, newest.first_seen DESC
            LIMIT 1
        )
    );

-- name: insert_schedule
-- A new interval, seen later than any before it even if the clock was set back.
INSERT INTO once.schedule (task, first_seen, expression, zone, engine, last_seen)
SELECT %(task)s, seen.at, %(expression)s, %(zone)s, %(engine)s, seen.at
FROM (
    SELECT GREATEST(
        COALESCE(
            (SELECT run.claimed_at FROM once.run WHERE run.task = %(task)s AND run.number = %(number)s),
            once.now()
        ),
        max(schedule.last_seen) + interval '1 microsecond'
    ) AS at
    FROM once.schedule
    WHERE schedule.task = %(task)s
) AS seen;

-- name: ask_to_stop
-- Who beats next learns that a newer run or an operator wants its place. The first to ask is the one that is named.
UPDATE once.run
SET stop_asked = COALESCE(stop_asked, %(why)s)
WHERE run.task = %(task)s
    AND run.number = %(number)s
    AND run.outcome = 'running';
