# Steps CLOCK_REALTIME while tardy measures.

# during NAME COMMAND LENGTH OPTION...: runs tardy with the options, and the command once the phase has begun.
during() {
    name=$1
    upset=$2
    length=$3
    shift 3
    part "$name"
    file=/lab/results/$name.run.json
    tardy run --cpus 0 --interval 1ms --duration "$length" --warmup 0s --load none "$@" -o "$file" >/dev/null &
    until_true grep -qs "phase '[^']*' begins" "$file"
    $upset
    wait $!
    echo "exit status $?"
}

two_hours_forward() { date -s "@$(($(date +%s) + 7200))" >/dev/null; }
two_hours_back() { date -s "@$(($(date +%s) - 7200))" >/dev/null; }

during clock-forward two_hours_forward 20s --clock realtime
during clock-back two_hours_back 20s --clock realtime
during clock-unused two_hours_forward 2s --clock monotonic
two_hours_back
