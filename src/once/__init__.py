"""`once`: flock for clusters. A cron job runs once per slot, and a table remembers what happened."""

__version__ = "0.1.0"
