-- What operators and newer runs do to a task: ask its runs to stop, pause it, and leave word of who did what.

ALTER TABLE once.run ADD COLUMN stop_asked text;
ALTER TABLE once.run ADD COLUMN caught_up boolean NOT NULL DEFAULT false;

COMMENT ON COLUMN once.run.stop_asked IS 'Why the holder is to stop: its next beat reads it.';
COMMENT ON COLUMN once.run.caught_up IS 'Started for a slot that nobody had run in its time.';

ALTER TABLE once.task ADD COLUMN pause_note text;
ALTER TABLE once.task ADD COLUMN retire_note text;

-- A pause of every task whose name begins with `scope`, those that are not known yet included; '' is all of them.
CREATE TABLE once.pause (
    scope text PRIMARY KEY,
    paused_at timestamptz NOT NULL,
    paused_until timestamptz,
    note text NOT NULL
);

ALTER TABLE once.event ADD COLUMN scope text;
ALTER TABLE once.event ADD COLUMN until timestamptz;

COMMENT ON COLUMN once.event.scope IS 'Where task is NULL: of every task whose name begins so.';
COMMENT ON COLUMN once.event.until IS 'The end of a pause for a time, or the last of several slots.';

CREATE INDEX event_task ON once.event (task, at);
