-- name: now
-- The clock that decides.
SELECT once.now() AS now;

-- name: identity
-- The random name that the store got when it was made.
SELECT store.identity
FROM once.store;

-- name: schema
-- How far the schema has come, and which protocol its hosts must speak.
SELECT store.schema, store.protocol
FROM once.store;

-- name: lock_migrations
-- One upgrade at a time. Readers pass.
LOCK TABLE once.migration IN SHARE ROW EXCLUSIVE MODE;

-- name: note_migration
-- The record of a step, in its own transaction.
INSERT INTO once.migration (number, name, once_version)
VALUES (%(number)s, %(name)s, %(once_version)s);

-- name: note_schema
-- How far the schema has come now.
UPDATE once.store
SET schema = %(number)s;

-- name: old_hosts
-- Hosts that spoke an older protocol within the last week.
SELECT DISTINCT sighting.host
FROM once.sighting
WHERE sighting.protocol < %(protocol)s
    AND sighting.last_seen > once.now() - interval '168 hours'
ORDER BY sighting.host;
