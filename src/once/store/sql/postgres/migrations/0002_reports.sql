-- What the reports look up, so that they cost what they find and not what the table holds. No index holds a column that
-- a beat writes: beats stay on their page.
-- Meanwhile: starts, beats and ends wait, for about 5 s a million runs

-- Which slots are done.
CREATE INDEX run_succeeded ON once.run (task, slot) WHERE outcome = 'succeeded';

-- What became of the others.
CREATE INDEX run_unsuccessful ON once.run (task, slot) WHERE outcome <> 'succeeded' AND slot IS NOT NULL;

-- From when to when a run lasted.
CREATE INDEX run_times ON once.run (task, claimed_at) INCLUDE (duration, number) WHERE duration IS NOT NULL;

-- Runs whose end is not known, or lies far behind their start.
CREATE INDEX run_unbounded ON once.run (task, claimed_at)
WHERE (duration IS NULL OR duration > interval '24 hours') AND outcome NOT IN ('skipped', 'excused');
