# Written by completions/generate.py from the command tree.
_once() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} verb= words= i
    COMPREPLY=()
    for ((i = 1; i < COMP_CWORD; i++)); do
        if [[ ${COMP_WORDS[i]} == -- ]]; then
            _once_command $((i + 1))
            return
        fi
        [[ -z $verb && ${COMP_WORDS[i]} != -* ]] && verb=${COMP_WORDS[i]}
    done
    case $verb:$prev in
        run:--task) _once_tasks ;;
        run:--schedule) words='' ;;
        run:--tz) words=$(cd /usr/share/zoneinfo 2>/dev/null && compgen -G '[A-Z]*/*') ;;
        run:--slot) words='' ;;
        run:--job-name) words='' ;;
        run:--start-within) words='' ;;
        run:--overlap) words='skip wait replace allow' ;;
        run:-w | run:--wait) words='' ;;
        run:--attempts) words='' ;;
        run:--retry-delay) words='' ;;
        run:--catch-up) words='none last all' ;;
        run:--catch-up-window) words='' ;;
        run:--min-interval) words='' ;;
        run:--splay) words='' ;;
        run:--lease) words='' ;;
        run:--timeout) words='' ;;
        run:-k | run:--kill-after) words='' ;;
        run:-s | run:--stop-signal) words='TERM INT HUP QUIT USR1 USR2 KILL' ;;
        run:--past-lease) words='freeze continue' ;;
        run:--tail) words='' ;;
        run:-E | run:--skip-code) words='' ;;
        run:--db) words='local sqlite: file: service= postgresql://' ;;
        run:--db-wait) words='' ;;
        run:--max-skew) words='' ;;
        run:--db-down) words='fail run' ;;
        lock:--task) _once_tasks ;;
        lock:--overlap) words='skip wait' ;;
        lock:-w | lock:--wait) words='' ;;
        lock:--min-interval) words='' ;;
        lock:--splay) words='' ;;
        lock:--lease) words='' ;;
        lock:--timeout) words='' ;;
        lock:-k | lock:--kill-after) words='' ;;
        lock:-s | lock:--stop-signal) words='TERM INT HUP QUIT USR1 USR2 KILL' ;;
        lock:--past-lease) words='freeze continue' ;;
        lock:--tail) words='' ;;
        lock:-E | lock:--skip-code) words='' ;;
        lock:--db) words='local sqlite: file: service= postgresql://' ;;
        lock:--db-wait) words='' ;;
        lock:--max-skew) words='' ;;
        lock:--db-down) words='fail run' ;;
        status:--db) words='local sqlite: file: service= postgresql://' ;;
        runs:-n | runs:--limit) words='' ;;
        runs:--db) words='local sqlite: file: service= postgresql://' ;;
        show:--db) words='local sqlite: file: service= postgresql://' ;;
        gaps:--since) words='' ;;
        gaps:--until) words='' ;;
        gaps:--every) words='' ;;
        gaps:--db) words='local sqlite: file: service= postgresql://' ;;
        overlaps:--since) words='' ;;
        overlaps:--until) words='' ;;
        overlaps:--db) words='local sqlite: file: service= postgresql://' ;;
        stuck:--times) words='' ;;
        stuck:--more) words='' ;;
        stuck:--db) words='local sqlite: file: service= postgresql://' ;;
        next:--task) _once_tasks ;;
        next:--tz) words=$(cd /usr/share/zoneinfo 2>/dev/null && compgen -G '[A-Z]*/*') ;;
        next:--at) words='' ;;
        next:--count) words='' ;;
        next:--db) words='local sqlite: file: service= postgresql://' ;;
        init:--grant) words='' ;;
        init:--db) words='local sqlite: file: service= postgresql://' ;;
        flush:--drop) words='' ;;
        flush:--db) words='local sqlite: file: service= postgresql://' ;;
        timeline:--since) words='' ;;
        timeline:--db) words='local sqlite: file: service= postgresql://' ;;
        check:--grace) words='' ;;
        check:--failures) words='' ;;
        check:--unreachable) words='critical unknown' ;;
        check:--db) words='local sqlite: file: service= postgresql://' ;;
        metrics:--write) words='' ;;
        metrics:--db) words='local sqlite: file: service= postgresql://' ;;
        prune:--keep) words='' ;;
        prune:--db) words='local sqlite: file: service= postgresql://' ;;
        pause:--for) words='' ;;
        pause:--reason) words='' ;;
        pause:--db) words='local sqlite: file: service= postgresql://' ;;
        resume:--reason) words='' ;;
        resume:--db) words='local sqlite: file: service= postgresql://' ;;
        cancel:--reason) words='' ;;
        cancel:--db) words='local sqlite: file: service= postgresql://' ;;
        retire:--reason) words='' ;;
        retire:--db) words='local sqlite: file: service= postgresql://' ;;
        excuse:--slot) words='' ;;
        excuse:--since) words='' ;;
        excuse:--until) words='' ;;
        excuse:--reason) words='' ;;
        excuse:--db) words='local sqlite: file: service= postgresql://' ;;
        rerun:--slot) words='' ;;
        rerun:--since) words='' ;;
        rerun:--reason) words='' ;;
        rerun:--lease) words='' ;;
        rerun:--timeout) words='' ;;
        rerun:-k | rerun:--kill-after) words='' ;;
        rerun:-s | rerun:--stop-signal) words='TERM INT HUP QUIT USR1 USR2 KILL' ;;
        rerun:--past-lease) words='freeze continue' ;;
        rerun:--tail) words='' ;;
        rerun:--db) words='local sqlite: file: service= postgresql://' ;;
        rerun:--db-wait) words='' ;;
        rerun:--max-skew) words='' ;;
        *)
            case $verb in
                status | runs | show | gaps | overlaps | stuck | timeline | check | metrics | prune | pause | resume | cancel | retire | excuse | rerun) [[ $cur == -* ]] || _once_tasks ;;
            esac
            case $verb in
                '') words='run lock status runs show gaps overlaps stuck next init flush timeline check metrics prune pause resume cancel retire excuse rerun --version -h --help' ;;
                run) words='--task --schedule --tz --slot --job-name --start-within --overlap --standby -w --wait -n --no-wait --attempts --retry-delay --catch-up --catch-up-window --min-interval --splay --lease --timeout -k --kill-after -s --stop-signal --past-lease --tail -E --skip-code --db --db-wait --max-skew --db-down --dry-run -v --verbose -q --quiet -h --help --' ;;
                lock) words='--task --overlap -w --wait -n --no-wait --min-interval --splay --lease --timeout -k --kill-after -s --stop-signal --past-lease --tail -E --skip-code --db --db-wait --max-skew --db-down --dry-run -v --verbose -q --quiet -h --help --' ;;
                status) words='--db --json -h --help' ;;
                runs) words='-n --limit --db --json -h --help' ;;
                show) words='--output --db --json -h --help' ;;
                gaps) words='--since --until --skipped --each --every --db --json -h --help' ;;
                overlaps) words='--since --until --db --json -h --help' ;;
                stuck) words='--times --more --db --json -h --help' ;;
                next) words='--task --tz --at --count --back --db --json -h --help' ;;
                init) words='--dry-run --show-sql --grant --force --db -h --help' ;;
                flush) words='--drop --db --json -h --help' ;;
                timeline) words='--since --db --json -h --help' ;;
                check) words='--grace --failures --unreachable --db --json -h --help' ;;
                metrics) words='--write --db -h --help' ;;
                prune) words='--keep --dry-run --db --json -h --help' ;;
                pause) words='--all --for --reason --db --json -h --help' ;;
                resume) words='--all --reason --db --json -h --help' ;;
                cancel) words='--reason --db --json -h --help' ;;
                retire) words='--reason --db --json -h --help' ;;
                excuse) words='--slot --since --until --reason --db --json -h --help' ;;
                rerun) words='--slot --missed --since --again -y --yes --reason --lease --timeout -k --kill-after -s --stop-signal --past-lease --tail --db --db-wait --max-skew --dry-run -v --verbose -q --quiet -h --help --' ;;
            esac
            ;;
    esac
    [[ $cur != -* && ${#COMPREPLY[@]} -gt 0 ]] && return
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
}

# The names in the record, as the shell would have to quote them. Readline takes what stands before a colon for a word
# of its own, so it is given the rest.
_once_tasks() {
    local typed=${COMP_LINE:0:COMP_POINT} before= name
    typed=${typed##*[[:blank:]]}
    [[ $COMP_WORDBREAKS == *:* ]] && before=${typed%"${typed##*:}"}
    while IFS= read -r name; do
        printf -v name %q "$name"
        [[ $name == "$typed"* ]] && COMPREPLY+=("${name#"$before"}")
    done < <("${COMP_WORDS[0]}" complete-tasks 2>/dev/null)
}

# What follows the two dashes is completed as a command line of its own.
_once_command() {
    if declare -F _command_offset >/dev/null; then
        _command_offset "$1"
    elif ((COMP_CWORD == $1)); then
        COMPREPLY=($(compgen -c -- "$cur"))
    else
        COMPREPLY=($(compgen -f -- "$cur"))
    fi
}

complete -F _once once
