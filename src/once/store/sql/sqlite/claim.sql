-- name: begin
-- Open the claim's transaction as the one writer: a read that becomes a write fails at once, whatever busy_timeout says.
BEGIN IMMEDIATE;

-- name: look
-- Everything that a decision needs, at one moment. In the claim's transaction whatever still runs is alive.
WITH moment AS (
    SELECT once_now() AS now, once_boottime() AS boottime
),
watched AS (
    SELECT run.number
    FROM run
    WHERE run.task = :task
        AND run.outcome = 'running'
    UNION
    SELECT run.number
    FROM run
    WHERE run.task = :task
        AND run.slot = :slot
        AND run.retry_at IS NOT NULL
),
trusted AS (
    SELECT
        run.number,
        run.outcome,
        CASE
            WHEN run.boot IS NULL OR :boot IS NULL THEN run.lease_until > moment.now
            ELSE run.boot = :boot AND run.lease_boottime > moment.boottime
        END AS by_lease
    FROM watched
    CROSS JOIN moment
    JOIN run ON run.task = :task AND run.number = watched.number
),
alive AS (
    SELECT max(trusted.number) AS number
    FROM trusted
    WHERE trusted.outcome = 'running'
        AND (:locked OR trusted.by_lease)
),
ended AS (
    SELECT max(run.claimed_at) AS claimed_at
    FROM run
    WHERE run.task = :task
        AND run.duration IS NOT NULL
)
SELECT
    moment.now AS "now [instant]",
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
            FROM pause
            WHERE substr(:task, 1, length(pause.scope)) = pause.scope
                AND (pause.paused_until IS NULL OR pause.paused_until > moment.now)
            ORDER BY pause.scope
            LIMIT 1
        )
    ) AS paused,
    CASE WHEN task.retired_at IS NOT NULL THEN COALESCE(task.retire_note, '') END AS retired,
    EXISTS (
        SELECT 1
        FROM run
        WHERE run.task = :task
            AND run.slot = :slot
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
    EXISTS (
        SELECT 1
        FROM trusted
        WHERE trusted.number = latest.number
            AND (trusted.by_lease OR :locked AND trusted.outcome = 'running')
            AND (trusted.outcome = 'running' OR latest.token IS NOT :retry_of)
    ) AS latest_alive,
    (
        SELECT count(*)
        FROM run
        WHERE run.task = :task
            AND run.slot = :slot
            AND run.outcome NOT IN ('stopped', 'skipped', 'excused')
            AND (run.outcome <> 'running' OR run.token <> :token)
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
    COALESCE(max(newest.claimed_at, ended.claimed_at), newest.claimed_at, ended.claimed_at) AS "last_claimed_at [instant]",
    newest.command_hash,
    schedule.expression,
    schedule.zone,
    schedule.engine,
    own.first_seen AS in_force_since,
    COALESCE(own.first_seen = schedule.first_seen OR own.last_seen >= :slot, 1) AS line_noted,
    twin.number AS twin_number,
    twin.slot AS twin_slot,
    twin.host AS twin_host,
    (
        SELECT run.slot
        FROM run
        WHERE run.task = :task
            AND run.slot < COALESCE(:slot, 9223372036854775807)
            AND 'succeeded' IN (run.outcome, run.late_outcome)
        ORDER BY run.slot DESC
        LIMIT 1
    ) AS "previous_success [instant]",
    EXISTS (
        SELECT 1
        FROM sighting
        WHERE sighting.task = :task
            AND sighting.host = :seen_as
            AND sighting.last_seen > moment.now - 24 * 3600 * 1000000
            AND sighting.schedule = :fingerprint
            AND sighting.command_hash = :command_hash
            AND sighting.once_version = :once_version
    ) AS seen_today,
    (
        SELECT task.name
        FROM task
        WHERE task.folded = :folded
            AND task.name <> :task
    ) AS taken_name
FROM moment
CROSS JOIN alive
CROSS JOIN ended
CROSS JOIN store
LEFT JOIN task ON task.name = :task
LEFT JOIN run AS latest ON latest.task = :task AND latest.number = (
    SELECT run.number
    FROM run
    WHERE run.task = :task
        AND run.slot = :slot
    ORDER BY run.attempt DESC
    LIMIT 1
)
LEFT JOIN run AS blocker ON blocker.task = :task AND blocker.number = COALESCE(max(alive.number, :fenced), alive.number, :fenced)
LEFT JOIN run AS newest ON newest.task = :task AND newest.number = (
    SELECT run.number
    FROM run
    WHERE run.task = :task
        AND run.outcome NOT IN ('skipped', 'excused')
        AND run.attempt > 0
    ORDER BY run.number DESC
    LIMIT 1
)
LEFT JOIN schedule ON schedule.task = :task AND schedule.first_seen = (
    SELECT newest.first_seen
    FROM schedule AS newest
    WHERE newest.task = :task
    ORDER BY newest.last_seen DESC, newest.first_seen DESC
    LIMIT 1
)
LEFT JOIN schedule AS own ON own.task = :task AND own.first_seen = (
    SELECT max(same.first_seen)
    FROM schedule AS same
    WHERE same.task = :task
        AND same.expression = :expression
        AND same.zone = :zone
        AND same.engine = :engine
) AND (own.first_seen = schedule.first_seen OR own.last_seen >= :unbroken_since)
LEFT JOIN run AS twin ON twin.task = :task AND twin.number = (
    SELECT run.number
    FROM run
    WHERE run.task = :task
        AND run.slot > :slot - 3 * 3600 * 1000000
        AND run.slot < :slot + 3 * 3600 * 1000000
        AND run.slot <> :slot
        AND run.slot_local = :wall_clock
        AND run.fold = :fold
        AND NOT run.by_hand
        AND run.claimed_at >= own.first_seen
        AND NOT EXISTS (
            SELECT 1
            FROM schedule AS other
            WHERE other.task = :task
                AND (other.expression, other.zone, other.engine) <> (:expression, :zone, :engine)
                AND run.claimed_at BETWEEN other.first_seen AND other.last_seen
        )
    ORDER BY run.slot DESC
    LIMIT 1
);

-- name: lock_task
-- The transaction holds the whole file: there is nothing left to lock.
SELECT task.last_number, task.protocol, task.settled_through
FROM task
WHERE task.name = :task;

-- name: insert_task
-- Make a task known, unless it is, or one is whose name differs in case only.
INSERT INTO task (name, folded)
VALUES (:task, :folded)
ON CONFLICT DO NOTHING;

-- name: taken_name
-- The task whose name differs in case only.
SELECT task.name
FROM task
WHERE task.folded = :folded
    AND task.name <> :task;

-- name: expire
-- Whatever runs past its lease, or from before its host's reboot, is lost, or cancelled if asked to stop.
UPDATE run
SET outcome = CASE WHEN run.stop_asked IS NULL THEN 'lost' ELSE 'cancelled' END,
    reason = COALESCE(run.stop_asked || '; ', '') || CASE WHEN run.boot <> :boot THEN :rebooted ELSE :ended END
WHERE run.task = :task
    AND run.outcome = 'running'
    AND CASE
        WHEN run.boot IS NULL OR :boot IS NULL THEN run.lease_until <= once_now()
        ELSE run.boot <> :boot OR run.lease_boottime <= once_boottime()
    END;

-- name: newest_claimed
-- The newest run that was claimed. One that ran unguarded is told later, under a higher number, and never had a fence.
SELECT run.number
FROM run
WHERE run.task = :task
    AND run.outcome NOT IN ('skipped', 'excused')
    AND run.attempt > 0
ORDER BY run.number DESC
LIMIT 1;

-- name: lock_run
-- There is no fence here, so the row can always be had.
SELECT run.number
FROM run
WHERE run.task = :task
    AND run.number = :number;

-- name: let_a_moment_pass
-- Nobody else writes meanwhile.
SELECT 1;

-- name: touch_run
-- There is no fence here, so nobody has to notice.
SELECT 1;

-- name: own_run
-- The claim's own run, when the answer to an earlier COMMIT was lost.
SELECT run.number, run.attempt
FROM run
WHERE run.task = :task
    AND run.token = :token
    AND run.outcome = 'running';

-- name: take_number
-- The next number of the task, which is also the fencing token.
UPDATE task
SET last_number = :number
WHERE task.name = :task;

-- name: insert_run
-- The claim itself, or a skip, which has no lease.
INSERT INTO run (
    task, number, token, slot, slot_local, fold, attempt, outcome, reason, attempts,
    host, machine, boot, pid, login, command, command_hash,
    fired_at, claimed_at, beat_at, lease_until, lease_boottime, clock_offset, by_hand, caught_up, once_version
)
SELECT
    :task, :number, :token, :slot, :slot_local, :fold, :attempt, :outcome, :reason, :attempts,
    :host, :machine, :boot, :pid, :login, :command, :command_hash,
    :fired_at, moment.now, CASE WHEN :outcome = 'running' THEN moment.now END, moment.now + :lease,
    once_boottime() + :lease, :clock_offset, :by_hand, :caught_up, :once_version
FROM (SELECT once_now() AS now LIMIT 1) AS moment;

-- name: extend_schedule
-- The task was seen with this line again: the one that was seen last, or one that has left no slot out since.
UPDATE schedule
SET last_seen = max(
    last_seen,
    COALESCE(
        (SELECT run.claimed_at FROM run WHERE run.task = :task AND run.number = :number),
        once_now()
    )
)
WHERE schedule.task = :task
    AND schedule.first_seen = (
        SELECT max(same.first_seen)
        FROM schedule AS same
        WHERE same.task = :task
            AND same.expression = :expression
            AND same.zone = :zone
            AND same.engine = :engine
    )
    AND (
        schedule.last_seen >= :unbroken_since
        OR schedule.first_seen = (
            SELECT newest.first_seen
            FROM schedule AS newest
            WHERE newest.task = :task
            ORDER BY newest.last_seen DESC, newest.first_seen DESC
            LIMIT 1
        )
    );

-- name: insert_schedule
-- A new interval, seen later than any before it even if the clock was set back.
INSERT INTO schedule (task, first_seen, expression, zone, engine, last_seen)
SELECT :task, seen.at, :expression, :zone, :engine, seen.at
FROM (
    SELECT max(
        COALESCE(
            (SELECT run.claimed_at FROM run WHERE run.task = :task AND run.number = :number),
            once_now()
        ),
        COALESCE(max(schedule.last_seen) + 1, 0)
    ) AS at
    FROM schedule
    WHERE schedule.task = :task
) AS seen;

-- name: ask_to_stop
-- Who beats next learns that a newer run or an operator wants its place. The first to ask is the one that is named.
UPDATE run
SET stop_asked = COALESCE(stop_asked, :why)
WHERE run.task = :task
    AND run.number = :number
    AND run.outcome = 'running';
