# What a crash must not leave behind: a pin that is driven.
direction() { tardy gpio list | awk '$1 == "gpiochip0:1" { print $3 }'; }
consumer() { tardy gpio list | awk '$1 == "gpiochip0:1" { print $4 }'; }
is() { [ "$(direction)" = "$1" ]; }
is_taken() { is output && [ "$(consumer)" = tardy ]; }
is_free() { [ "$(consumer)" = - ]; }
respond() { exec tardy run --probe gpio-reaction --in tardy-pins:0 --out tardy-pins:1 --duration 100s "$@" > /tmp/told 2>&1; }
journal() { sed 's/.*"kind":"\([a-z_]*\)".*/journal \1/' /run/tardy/journal/*.json; echo; }
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

part 'a line that is taken'
respond -o /tmp/taking.run.json &
killed=$!
until_true is_taken
answer tardy run --probe gpio-reaction --in tardy-pins:2 --out tardy-pins:1 --duration 1s -o /tmp/taken.run.json
kill $killed
wait $killed
until_true is input
