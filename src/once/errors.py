"""One class per failure: its docstring is the message, beside it the exit status and what to try.

Two statuses, because the wrappers (`once run`, `once lock`) must not be taken for the command they wrap: `wrapping`
is theirs, `telling` is that of every other verb. `prevents` says whether the failure kept the command from running.
The message and the hint are formatted with the keyword arguments.
"""

from __future__ import annotations

from typing import ClassVar


class OnceError(Exception):
    """Internal error: {what}"""

    wrapping: ClassVar[int] = 125
    telling: ClassVar[int] = 2
    hint: ClassVar[str] = ""
    prevents: ClassVar[bool] = True

    def __init__(self, **details: object) -> None:
        super().__init__(details)
        self.details = details

    @property
    def message(self) -> str:
        """The docstring with this failure's details, one line."""
        return " ".join((type(self).__doc__ or "").format(**self.details).split())

    @property
    def advice(self) -> str:
        """What the reader can try, or nothing."""
        return self.hint.format(**self.details)

    def __str__(self) -> str:
        return f"{self.message}. Try: {self.advice}" if self.advice else self.message


class Refused(OnceError):
    """{what}"""


class NotNow(OnceError):
    """A later start may succeed: {what}"""

    wrapping = 75
    telling = 75


# Wrong calls


class CommandMissing(Refused):
    """No command to run"""

    hint = "put it after two dashes: once {verb} … -- COMMAND [ARG…]"


class ScheduleMissing(Refused):
    """`once run` needs --schedule: without slots a short job would run on every host"""

    hint = 'once run --task {task} --schedule "0 * * * *" -- …, or `once lock` for mutual exclusion only'


class ScheduleUnclear(Refused):
    """No schedule to show: {why}"""

    hint = 'once next "0 17 * * 5" --tz Europe/Berlin, or once next --task NAME'


class TaskHasNoSchedule(Refused):
    """Task {task} has no schedule: it was only ever run by once lock"""

    hint = 'once next "0 17 * * 5", with the expression that you want to know about'


class TaskNameInvalid(Refused):
    """Task name {name} is refused: {why}"""


class TaskNameTaken(Refused):
    """Task name {name} differs from the known task {known} in upper and lower case only"""

    hint = "write --task {known}"


class DurationInvalid(Refused):
    """{text} is not a duration{why}"""

    hint = "90, 90s, 5m, 1h30m or 2d"


class InstantInvalid(Refused):
    """{text} is not an instant{why}"""

    hint = "2026-03-29T01:00:00Z, Unix seconds, or a duration ago such as 2h"


class TasksUnclear(Refused):
    """once {verb} needs the names of tasks, or --all"""

    hint = "once {verb} TASK, or once {verb} --all"


class ExcuseUnclear(Refused):
    """once excuse needs --slot or --since"""

    hint = "once excuse TASK --slot WHEN, or once excuse TASK --since WHEN [--until WHEN]"


class ExcuseTooFar(Refused):
    """--until {until} is more than a year ahead"""

    hint = "an earlier one, or once retire {task} if the task is gone for good"


class RerunUnclear(Refused):
    """once rerun takes one slot, or --missed with a time since when"""

    hint = "once rerun TASK --slot WHEN, or once rerun TASK --missed [--since WHEN]"


class CommandNotRecorded(Refused):
    """The full command of {task} is not on record"""

    hint = "once rerun {task} … -- COMMAND"


class CommandOfAnother(Refused):
    """Run {number} was {theirs}'s, this is {ours}; any writer of the record could have put it there: {command}"""

    hint = "as {theirs}, or give the command: once rerun … -- COMMAND"


class NobodyToAsk(Refused):
    """There is no terminal to ask for confirmation"""

    hint = "--yes"


class NotConfirmed(Refused):
    """Nobody said yes"""


class PeriodInvalid(Refused):
    """There is no time between {since} and {until}"""

    hint = "--since 7d, with an --until after it, if any"


class ScheduleInvalid(Refused):
    """Schedule {expression!r} is refused: {why}"""

    hint = "{repair}"


class ZoneInvalid(Refused):
    """Time zone {name!r} is refused: {why}"""

    hint = "{repair}"


class ZoneAmbiguous(Refused):
    """The time zone is in doubt: {why}"""

    hint = "write --tz on every line"


class SlotInvalid(Refused):
    """{slot} is not a slot of {expression!r} in {zone}; the nearest are {before} and {after}"""


class SlotUnclear(Refused):
    """--slot {text} is not an instant{why}"""

    hint = "{spellings}"


class SlotInFuture(Refused):
    """Slot {slot} is in the future: if it ran now, its own start would find it done"""

    hint = "--slot last, or no --slot"


class JobInFuture(Refused):
    """Job {name} is for {at}, in the future by this host's clock ({host_time}): the name or the clock is wrong"""

    hint = "the Job's own name from its label, and timedatectl on this host"


class SlotNamedTwice(Refused):
    """--slot {slot} and --job-name {job} both name the slot"""

    hint = "one of the two"


class CatchUpUnclear(Refused):
    """--catch-up runs the slots before the current one, but --slot or --job-name names another"""

    hint = "once rerun TASK --missed"


class JobNotOfSchedule(Refused):
    """Job {name} is for {at}, but {expression!r} in {zone} has {before} and {after}: zone, dialect or edit differ"""

    hint = "--schedule and --tz as the CronJob has them (spec.schedule, spec.timeZone)"


class ZoneDataDiffer(Refused):
    """Slot {local} {zone} is {ours} by this host's zone data, but {theirs} by those of {host} (run {number})"""

    hint = "bring the package tzdata up to date on both hosts"


class JobNameInvalid(Refused):
    """Job name {name!r} is refused: {why}"""

    hint = "set it from the label: fieldPath: {label}"


class SettingInvalid(Refused):
    """{where}: {why}"""


class SettingsUnreadable(Refused):
    """{files} cannot be read by {user}, and might switch this host off or set a scope"""

    hint = "chmod a+r; a password can stand elsewhere: db = file:PATH"


class SignalEndsNothing(Refused):
    """--stop-signal {name} would not end the command, so its time limit would not hold"""

    hint = "TERM, INT, HUP, QUIT, USR1, USR2 or KILL"


class WaitContradicted(Refused):
    """{wait} and {other} contradict each other"""

    hint = "{repair}"


class SignalUnknown(Refused):
    """{name} is not a signal"""

    hint = "TERM, INT, HUP, QUIT, USR1, USR2, or a number"


class NoSuchTask(Refused):
    """No such task: {task}"""

    hint = "once status lists them all"


class TaskBusy(NotNow):
    """Task {task} is being claimed again and again, so its history was not pruned"""


class NoSuchRun(Refused):
    """Task {task} has no run {number}"""

    hint = "once runs {task}"


class OutputRefused(OnceError):
    """What was found could not be written to standard output: {why}"""


class FileNotWritten(OnceError):
    """{path} could not be written: {why}"""


class OutcomeNotDropped(OnceError):
    """What waits in {directory} could not be dropped: {why}"""


class MetricsMissing(Refused):
    """The package prometheus-client is not installed"""

    hint = "pip install 'once-run[{extra}]'"


# The database


class AddressInvalid(Refused):
    """No database: {why}"""

    hint = "{repair}"


class NoDatabaseSet(Refused):
    """No database set, {why}"""

    hint = "{repair}"


class StoreUnusable(Refused):
    """{store} cannot be used: {why}"""

    hint = "{repair}"


class NoRecordYet(Refused):
    """There is no record yet in {store}"""

    hint = "{repair}"


class NotInitialised(Refused):
    """{store} has no schema for once"""

    hint = "once init --db ADDRESS, as a role that may create it"


class SchemaTooNew(Refused):
    """{store} has protocol {found}, this once speaks {known}"""

    hint = "upgrade once-run on this host"


class SchemaTooOld(Refused):
    """{store} has schema {found}, this once needs {known}"""

    hint = "once init"


class HostsStillOld(Refused):
    """NOT upgraded: hosts with an older protocol were seen in the last week: {hosts}"""

    hint = "upgrade once-run there first, or once init --force"


class RightsMissing(Refused):
    """Role {role} may not {what} in {store}"""

    hint = "{repair}"


class Unreachable(NotNow):
    """{store} is out of reach: {why}"""


class Busy(Unreachable):
    """{store} is busy: {why}"""


class ClockOff(NotNow):
    """This host's clock says {host_time}, the database's {store_time}: {offset} apart, more than {limit}"""

    hint = "set this host's clock (timedatectl), or the database's"


# The run


class LeaseLost(OnceError):
    """The lease of {task} run {number} was lost ({why}), so the command was killed"""

    wrapping = 123
    prevents = False
    hint = "once runs {task}"


class CannotStart(NotNow):
    """The command could not be started ({why})"""

    hint = "free processes, memory or descriptors on this host"


class CommandNotFound(OnceError):
    """{command}: no such {what}; recorded as a failed run"""

    wrapping = 127
    prevents = False


class CommandNotExecutable(OnceError):
    """{command} cannot be executed: {why}; recorded as a failed run"""

    wrapping = 126
    prevents = False
