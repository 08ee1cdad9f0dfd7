# Written by completions/generate.py from the command tree.
function __once_verb
    for word in (commandline -opc)[2..-1]
        if not string match -q -- '-*' $word
            echo $word
            return
        end
    end
end

function __once_in -a verb
    contains -- -- (commandline -opc); and return 1
    set -l found (__once_verb)
    test "$found" = "$verb"
end

# What follows the two dashes is completed as a command line of its own.
function __once_command
    set -l words (commandline -opc)
    set -l dashes (contains -i -- -- $words)
    set -e words[1..$dashes]
    complete -C "$(string join ' ' -- (string escape -- $words) (commandline -ct))"
end

complete -c once -f
complete -c once -n 'contains -- -- (commandline -opc)' -a '(__once_command)'
complete -c once -n '__once_in ""' -a run -d 'The slot’s job, once on any number of hosts'
complete -c once -n '__once_in ""' -a lock -d 'One at a time on any number of hosts, like flock(1)'
complete -c once -n '__once_in ""' -a status -d 'A line a task: what ran last, and what comes next'
complete -c once -n '__once_in ""' -a runs -d 'The history of a task, newest first'
complete -c once -n '__once_in ""' -a show -d 'One run whole, with the end of its output'
complete -c once -n '__once_in ""' -a next -d 'What a schedule means, and its next slots'
complete -c once -n '__once_in ""' -a init -d 'Create or upgrade the schema in the database'
complete -c once -n '__once_in ""' -a flush -d 'Deliver outcomes that wait on this host for their database'
complete -c once -n '__once_in ""' -a prune -d 'Forget old history; no slot of it runs again'
complete -c once -n '__once_in ""' -l version -d 'Show the version and exit'
complete -c once -n '__once_in ""' -s h -l help -d 'Show this message and exit'
complete -c once -n '__once_in run' -l task -x -d 'Under which name the runs are recorded'
complete -c once -n '__once_in run' -l schedule -x -d 'Five cron fields, a macro such as @daily, or @every 15m'
complete -c once -n '__once_in run' -l tz -x -a '(cd /usr/share/zoneinfo 2>/dev/null; and printf %s\n [A-Z]*/*)' -d 'The schedule’s time zone; default: ONCE_TZ, then the host’s'
complete -c once -n '__once_in run' -l slot -x -d 'This slot instead of the current one: an instant, or last'
complete -c once -n '__once_in run' -l job-name -x -d 'The slot in the name of this pod’s Job, made by a Kubernetes CronJob'
complete -c once -n '__once_in run' -l start-within -x -d 'Later than this after the slot: skip it'
complete -c once -n '__once_in run' -l overlap -x -a 'skip' -d 'When another run is alive'
complete -c once -n '__once_in run' -l min-interval -x -d 'Not within this of the last start'
complete -c once -n '__once_in run' -l splay -x -d 'Wait up to this first, always the same per host'
complete -c once -n '__once_in run' -l lease -x -d 'Trust in a silent holder ends after this'
complete -c once -n '__once_in run' -l timeout -x -d 'Stop the command after this; exit status 124'
complete -c once -n '__once_in run' -s k -l kill-after -x -d 'SIGKILL so long after a stop'
complete -c once -n '__once_in run' -s s -l stop-signal -x -a 'TERM INT HUP QUIT USR1 USR2 KILL' -d 'What --timeout sends'
complete -c once -n '__once_in run' -l past-lease -x -a 'freeze continue' -d 'What becomes of the command when the lease cannot be extended'
complete -c once -n '__once_in run' -l tail -x -d 'Output kept; 0: none'
complete -c once -n '__once_in run' -s E -l skip-code -x -d 'Exit status of a skip'
complete -c once -n '__once_in run' -l db -x -a 'local sqlite: file: service= postgresql://' -d 'Where the record is; default: ONCE_DB, then /etc/once.toml'
complete -c once -n '__once_in run' -l db-wait -x -d 'How long to try a database that is away'
complete -c once -n '__once_in run' -l max-skew -x -d 'Clocks further apart: nothing runs'
complete -c once -n '__once_in run' -l dry-run -d 'Say what would happen and why; run and record nothing'
complete -c once -n '__once_in run' -s v -l verbose -d 'Say more'
complete -c once -n '__once_in run' -s q -l quiet -d 'Say nothing but why the status is not the command’s'
complete -c once -n '__once_in run' -s h -l help -d 'Show this message and exit'
complete -c once -n '__once_in lock' -l task -x -d 'Under which name the runs are recorded'
complete -c once -n '__once_in lock' -l overlap -x -a 'skip wait' -d 'When another run is alive'
complete -c once -n '__once_in lock' -s w -l wait -x -d 'How long to wait for the other run'
complete -c once -n '__once_in lock' -s n -l no-wait -d 'Do not wait: skip'
complete -c once -n '__once_in lock' -l min-interval -x -d 'Not within this of the last start'
complete -c once -n '__once_in lock' -l splay -x -d 'Wait up to this first, always the same per host'
complete -c once -n '__once_in lock' -l lease -x -d 'Trust in a silent holder ends after this'
complete -c once -n '__once_in lock' -l timeout -x -d 'Stop the command after this; exit status 124'
complete -c once -n '__once_in lock' -s k -l kill-after -x -d 'SIGKILL so long after a stop'
complete -c once -n '__once_in lock' -s s -l stop-signal -x -a 'TERM INT HUP QUIT USR1 USR2 KILL' -d 'What --timeout sends'
complete -c once -n '__once_in lock' -l past-lease -x -a 'freeze continue' -d 'What becomes of the command when the lease cannot be extended'
complete -c once -n '__once_in lock' -l tail -x -d 'Output kept; 0: none'
complete -c once -n '__once_in lock' -s E -l skip-code -x -d 'Exit status of a skip'
complete -c once -n '__once_in lock' -l db -x -a 'local sqlite: file: service= postgresql://' -d 'Where the record is; default: ONCE_DB, then /etc/once.toml'
complete -c once -n '__once_in lock' -l db-wait -x -d 'How long to try a database that is away'
complete -c once -n '__once_in lock' -l max-skew -x -d 'Clocks further apart: nothing runs'
complete -c once -n '__once_in lock' -l dry-run -d 'Say what would happen and why; run and record nothing'
complete -c once -n '__once_in lock' -s v -l verbose -d 'Say more'
complete -c once -n '__once_in lock' -s q -l quiet -d 'Say nothing but why the status is not the command’s'
complete -c once -n '__once_in lock' -s h -l help -d 'Show this message and exit'
complete -c once -n '__once_in status' -l db -x -a 'local sqlite: file: service= postgresql://' -d 'Where the record is; default: ONCE_DB, then /etc/once.toml'
complete -c once -n '__once_in status' -l json -d 'One JSON object, for programs'
complete -c once -n '__once_in status' -s h -l help -d 'Show this message and exit'
complete -c once -n '__once_in runs' -s n -l limit -x -d 'So many at most'
complete -c once -n '__once_in runs' -l db -x -a 'local sqlite: file: service= postgresql://' -d 'Where the record is; default: ONCE_DB, then /etc/once.toml'
complete -c once -n '__once_in runs' -l json -d 'One JSON object, for programs'
complete -c once -n '__once_in runs' -s h -l help -d 'Show this message and exit'
complete -c once -n '__once_in show' -l output -d 'The kept end of the output alone, byte for byte'
complete -c once -n '__once_in show' -l db -x -a 'local sqlite: file: service= postgresql://' -d 'Where the record is; default: ONCE_DB, then /etc/once.toml'
complete -c once -n '__once_in show' -l json -d 'One JSON object, for programs'
complete -c once -n '__once_in show' -s h -l help -d 'Show this message and exit'
complete -c once -n '__once_in next' -l task -x -d 'The schedule that this task was last seen with, instead of EXPR'
complete -c once -n '__once_in next' -l tz -x -a '(cd /usr/share/zoneinfo 2>/dev/null; and printf %s\n [A-Z]*/*)' -d 'The time zone of EXPR; default: ONCE_TZ, then the host’s'
complete -c once -n '__once_in next' -l at -x -d 'Slots after this instant; default: now'
complete -c once -n '__once_in next' -l count -x -d 'So many'
complete -c once -n '__once_in next' -l back -d 'Slots before the instant, the latest first'
complete -c once -n '__once_in next' -l db -x -a 'local sqlite: file: service= postgresql://' -d 'Where the record is; default: ONCE_DB, then /etc/once.toml'
complete -c once -n '__once_in next' -l json -d 'One JSON object, for programs'
complete -c once -n '__once_in next' -s h -l help -d 'Show this message and exit'
complete -c once -n '__once_in init' -l dry-run -d 'Say what would be done; change nothing'
complete -c once -n '__once_in init' -l show-sql -d 'Print the SQL instead of running it'
complete -c once -n '__once_in init' -l grant -x -d 'Let this role run once'
complete -c once -n '__once_in init' -l force -d 'Even while hosts with an older once are about'
complete -c once -n '__once_in init' -l db -x -a 'local sqlite: file: service= postgresql://' -d 'Where the record is; default: ONCE_DB, then /etc/once.toml'
complete -c once -n '__once_in init' -s h -l help -d 'Show this message and exit'
complete -c once -n '__once_in flush' -l db -x -a 'local sqlite: file: service= postgresql://' -d 'Where the record is; default: ONCE_DB, then /etc/once.toml'
complete -c once -n '__once_in flush' -l json -d 'One JSON object, for programs'
complete -c once -n '__once_in flush' -s h -l help -d 'Show this message and exit'
complete -c once -n '__once_in prune' -l keep -x -d 'Keep what is younger; 0: everything'
complete -c once -n '__once_in prune' -l dry-run -d 'Say what would be forgotten; change nothing'
complete -c once -n '__once_in prune' -l db -x -a 'local sqlite: file: service= postgresql://' -d 'Where the record is; default: ONCE_DB, then /etc/once.toml'
complete -c once -n '__once_in prune' -l json -d 'One JSON object, for programs'
complete -c once -n '__once_in prune' -s h -l help -d 'Show this message and exit'
