# Every command that measures, on CPU 3 of a guest with four, which is isolated in one of three ways ($WAY).
tardy=$(which tardy)
results=/lab/results
mkdir -p $results /tmp/work
cd /tmp/work

part setup
# A partition has to be made first, as `tardy check` advises.
if [ $WAY = partition ]; then
    mount -t cgroup2 none /sys/fs/cgroup 2> /dev/null
    echo +cpuset > /sys/fs/cgroup/cgroup.subtree_control
    mkdir /sys/fs/cgroup/rt
    echo 3 > /sys/fs/cgroup/rt/cpuset.cpus
    echo isolated > /sys/fs/cgroup/rt/cpuset.cpus.partition
    echo "partition $(cat /sys/fs/cgroup/rt/cpuset.cpus.partition)"
fi
echo "shell $(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)"
tardy check --json > /tmp/check.json; echo "check $?"

# measure NAME OPTION...: a short run, whose file the test reads.
measure() {
    name=$1
    shift
    $tardy run --quiet --duration 100ms --warmup 20ms -o $results/$name.run.json "$@" > /tmp/told 2>&1
    status=$?
    echo "status $name $status"
    [ $status = 0 ] || sed 's/^/told /' /tmp/told
}

part run
measure named --cpus 3
measure all
measure deadline --cpus 3 --policy deadline --wake deadline --interval 1ms
measure noise --probe noise --cpus 3
measure kernel --probe kernel --cpus 3
measure causes --causes --cpus 3
if [ $WAY = partition ]; then
    measure cgroup --cgroup rt
    measure missing-cgroup --cgroup nowhere
fi
# planned NAME COMMAND...: what `tardy run` would measure.
planned() {
    name=$1
    shift
    "$@" --dry-run --duration 1s 2>&1 | grep measured | sed "s/^/planned $name: /"
}
planned isolated $tardy run --cpus isolated
planned housekeeping $tardy run --cpus housekeeping
planned narrowed taskset 1 $tardy run

part pins
# The answering thread is on the isolated CPU, and the stimulus on another one, which in a partition takes a second process.
with_pins() {
    period_us=$1
    shift
    with_modules "tardy_pins.ko period_us=$period_us" -- measure "$@" || exit 1
}
with_pins 2000 reaction --probe gpio-reaction --in tardy-pins:0 --out tardy-pins:1 --cpus 3
with_pins 0 stimulus --probe gpio-reaction --in tardy-pins:0 --out tardy-pins:1 --stimulus tardy-pins:3 --stimulus-period 2ms --cpus 3
with_pins 2000 wiggle --probe gpio-wiggle --out tardy-pins:1 --interval 2ms --cpus 3

part load
# Where the supervisor, the probe and the loads may run while a CPU is measured.
$tardy run --quiet --cpus 3 --load cpu --duration 100s -o /tmp/loaded.run.json > /tmp/told 2>&1 &
supervisor=$!
tasks() { grep -l "^Name:.$1" /proc/[0-9]*/status 2> /dev/null; }
is_measuring() { [ -n "$(tasks tardy-cpu)" ] && grep -qs timer0 /proc/[0-9]*/task/*/comm; }
# Looking costs the emulator more than waiting.
look_us=200000
until_true is_measuring
look_us=20000
for status in $(tasks tardy-cpu) /proc/$supervisor/status; do
    echo "allowed $(sed -n 's/^Name:[[:space:]]*//p' $status) $(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' $status)"
done
for task in $(grep -ls timer0 /proc/[0-9]*/task/*/comm); do
    echo "probe $(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' ${task%comm}status)"
done
kill $supervisor
wait $supervisor
echo "status loaded $?"

part round-trip
ip link set lo up
$tardy reflect --priority 0 2> /tmp/peer &
peer=$!
until_true grep -q returning /tmp/peer
measure round-trip --probe round-trip --peer 127.0.0.1 --cpus 3 --interval 2ms
kill $peer
# The supervisor has left the partition again.
[ $WAY != partition ] || echo "left $(cat /sys/fs/cgroup/rt/cgroup.procs | wc -l)"

part cyclictest
# count NAME COMMAND...: how many threads cyclictest measures with, and where.
count() {
    name=$1
    shift
    "$@" -q -l 20 -i 2000 > /tmp/told 2>&1
    echo "$name status $? threads $(grep -c '^T:' /tmp/told)"
}
for options in '-a 3' '-a' '-S' '-t 2 -a 3'; do
    count "tardy '$options':" $tardy cyclictest $options
    [ $WAY != isolcpus ] || count "rt-tests '$options':" /usr/bin/cyclictest $options
done
$tardy cyclictest -a 3 -t 1 -p 80 -q -l 20 --tardy-run $results/cyclictest.run.json > /dev/null 2>&1
echo "status cyclictest $?"

part attach
enter=:
[ $WAY != partition ] || enter='echo $$ > /sys/fs/cgroup/rt/cgroup.procs'
sh -c "$enter; exec taskset 8 $FILES/timer_loop 80 2000 1000000" &
program=$!
is_pinned() { [ "$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/$program/status)" = 3 ]; }
until_true is_pinned
$tardy attach $program --quiet --duration 500ms --warmup 200ms -o $results/attach.run.json > /tmp/told 2>&1
echo "status attach $?"
$tardy watch $program --quiet --duration 500ms --warmup 200ms -o /tmp/watched > /tmp/told 2>&1
echo "status watch $?"
$tardy check $program > /tmp/told 2>&1
echo "checked $?"
grep -i affinity /tmp/told | sed 's/^/told /'
kill $program
wait $program 2> /dev/null

part end
echo "left $(ls /sys/kernel/tracing/instances 2> /dev/null | wc -l)"
