-- name: now
-- The clock that decides.
SELECT once_now() AS "now [instant]";

-- name: identity
-- The random name that the store got when it was made.
SELECT store.identity
FROM store;

-- name: schema
-- How far the schema has come, and which protocol its processes must speak.
SELECT store.schema, store.protocol
FROM store;

-- name: lock_migrations
-- The transaction holds the whole file: there is nothing left to lock.
SELECT 1;

-- name: note_migration
-- The record of a step, in its own transaction.
INSERT INTO migration (number, name, applied_at, once_version)
VALUES (:number, :name, once_now(), :once_version);

-- name: note_schema
-- How far the schema has come now.
UPDATE store
SET schema = :number;

-- name: old_hosts
-- Hosts that spoke an older protocol within the last week.
SELECT DISTINCT sighting.host
FROM sighting
WHERE sighting.protocol < :protocol
    AND sighting.last_seen > once_now() - 168 * 3600 * 1000000
ORDER BY sighting.host;
