# A crash must not leave a pin driven.
# line: the direction of the line and who uses it. A look takes longer than what it waits for.
line() { usleep 200000; tardy gpio list | awk '$1 == "gpiochip0:1" { print $3, $4 }'; }
direction() { line | cut -d ' ' -f 1; }
is() { [ "$(direction)" = "$1" ]; }
is_taken() { [ "$(line)" = 'output tardy' ]; }
is_free() { line | grep -q ' -$'; }
respond() { exec tardy run --probe gpio-reaction --in tardy-pins:0 --out tardy-pins:1 --duration 100s "$@" > /tmp/told 2>&1; }
journal() { for entry in /run/tardy/journal/*.json; do sed 's/.*"kind":"\([a-z_]*\)".*/journal \1/' "$entry"; echo; done; }
guards() { grep -l __pins /proc/[0-9]*/cmdline 2> /dev/null | sed 's#/proc/\([0-9]*\)/.*#\1#'; }

part 'the guard lives'
respond -o /tmp/guarded.run.json &
killed=$!
until_true is_taken
journal
kill -9 $killed
wait $killed
until_true is input
answer tardy restore

part 'the guard was killed'
respond -o /tmp/journalled.run.json &
killed=$!
until_true is_taken
journal
kill -9 $(guards) $killed
wait $killed
until_true is_free
echo "left $(direction)"
answer tardy restore
echo "then $(direction)"

part 'a line in use'
respond -o /tmp/taking.run.json &
killed=$!
until_true is_taken
answer tardy run --probe gpio-reaction --in tardy-pins:2 --out tardy-pins:1 --duration 1s -o /tmp/taken.run.json
kill $killed
wait $killed
until_true is input

# The old interfaces keep their settings when their process has died.
respond_in_sysfs() { respond --answer-by sysfs --stimulus pwmchip0:0 --stimulus-period 1ms "$@"; }
is_exported() { [ -e /sys/class/gpio/answer ] || [ -e /sys/class/gpio/gpio513 ]; }
is_waving() { is_exported && [ "$(cat /sys/class/pwm/pwmchip0/pwm0/enable 2> /dev/null)" = 1 ] && is output; }
is_gone() { ! is_exported && [ ! -e /sys/class/pwm/pwmchip0/pwm0 ] && is input; }

part 'sysfs and a PWM: the guard lives'
respond_in_sysfs -o /tmp/sysfs-guarded.run.json &
killed=$!
until_true is_waving
journal
kill -9 $killed
wait $killed
until_true is_gone
answer tardy restore

part 'sysfs and a PWM: the guard was killed'
respond_in_sysfs -o /tmp/sysfs-journalled.run.json &
killed=$!
until_true is_waving
journal
kill -9 $(guards) $killed
wait $killed
is_waving && echo 'left waving'
answer tardy restore
is_gone && echo 'then gone'

part 'sysfs and a PWM: as planned'
answer tardy run --probe gpio-reaction --in tardy-pins:0 --out tardy-pins:1 --duration 100ms --warmup 10ms \
    --answer-by sysfs --stimulus pwmchip0:0 --stimulus-period 1ms -o /tmp/sysfs.run.json
is_gone && echo 'then gone'

# Two tardy processes, as on two boards: one drives the edges and times the answers, the other answers.
part 'edges for another board'
respond -o /tmp/other.run.json &
other=$!
until_true is_taken
answer tardy gpio stimulate --out drive --echo echo --duration 1s
kill $other
wait $other
until_true is_free
