-- What operators and newer runs do to a task: ask its runs to stop, pause it, and leave word of who did what.

-- Why the holder is to stop: its next beat reads it.
ALTER TABLE run ADD COLUMN stop_asked TEXT;

-- Started for a slot that nobody had run in its time.
ALTER TABLE run ADD COLUMN caught_up INTEGER NOT NULL DEFAULT 0;

ALTER TABLE task ADD COLUMN pause_note TEXT;
ALTER TABLE task ADD COLUMN retire_note TEXT;

-- A pause of every task whose name begins with `scope`, those that are not known yet included; '' is all of them.
CREATE TABLE pause (
    scope TEXT PRIMARY KEY,
    paused_at INSTANT NOT NULL,
    paused_until INSTANT,
    note TEXT NOT NULL
);

-- Where task is NULL: of every task whose name begins so.
ALTER TABLE event ADD COLUMN scope TEXT;

-- The end of a pause for a time, or the last of several slots.
ALTER TABLE event ADD COLUMN until INSTANT;

CREATE INDEX event_task ON event (task, at);
