-- What the reports look up, so that they cost what they find and not what the table holds.

-- Which slots are done.
CREATE INDEX run_succeeded ON run (task, slot) WHERE outcome = 'succeeded';

-- What became of the others.
CREATE INDEX run_unsuccessful ON run (task, slot) WHERE outcome <> 'succeeded' AND slot IS NOT NULL;

-- From when to when a run lasted.
CREATE INDEX run_times ON run (task, claimed_at, duration, number) WHERE duration IS NOT NULL;

-- Runs whose end is not known, or lies far behind their start.
CREATE INDEX run_unbounded ON run (task, claimed_at)
WHERE (duration IS NULL OR duration > 24 * 3600 * 1000000) AND outcome NOT IN ('skipped', 'excused');
