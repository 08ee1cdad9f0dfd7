"""Expression and zone → slots, both ways: the slots are the ones that cron fires.

    schedule = Schedule.parse("30 2 * * *", "Europe/Berlin")
    schedule.slot_for(datetime.now(UTC))    # the slot that a start at this instant is for
    schedule.after(at), schedule.before(at) # lazily, in UTC

Everything is computed from tables of our own, without croniter. Of croniter only the enumeration and the reading of
fields could have served, and neither does: it reads `9-9` as the whole field and `22-4` as a range, makes up a slot at
the end of the gap for `0 */2`, doubles a fixed time in the repeated hour, and is exclusive on the boundary. Once fields
are read, the calendar is ours and the daylight rule is ours, nothing is left for it to do but cost every start of every
host more than a whole `slot_for`. It, and cronsim, remain where they are useful: the tests hold us against both, and
list by name and reason each case in which we differ.

The rooms: `dialect` reads an expression, `fields` one field of it, `pattern` is the calendar, `stretches` knows where
a zone's clocks change, `slots` enumerates, `zones` chooses and checks zones, `kubernetes` reads a Job's name, `words`
says it in plain words, `notes` what a change of the clock does to a slot.
"""

from once.schedule.schedule import Schedule

__all__ = ["Schedule"]
