# state: prints all that must be as before after a restore: the network, the tracers' settings, and the settings that
# `tardy check --measure` tries.
state() {
    everything | grep -v '^/run/tardy'
    ovs-vsctl show
    iptables -t mangle -S
    cd /sys/kernel/tracing
    ls instances
    cat current_tracer tracing_on uprobe_events
    cd osnoise
    grep '' cpus options period_us runtime_us stop_tracing_us timerlat_period_us print_stack
    cd /
    cat /proc/sys/kernel/sched_rt_runtime_us /proc/sys/kernel/timer_migration
    # Number, priority and policy, which are fields 40 and 41. A program for each thread would take longer than all the rest.
    cat /proc/[0-9]*/stat 2> /dev/null | sed -n 's/^\([0-9]* \)(\(ktimers\|irq\)\/.*) /\1/p' | cut -d ' ' -f 1,39,40
}

# crash NAME 'CONDITION' COMMAND...: kills the command as soon as the condition is true, restores, and compares. The
# kernel updates links some time after their ports are gone, so the comparison is repeated for a while.
crash() {
    echo "== scene $1"
    condition=$2
    shift 2
    state > /tmp/state
    # The command's own redirection may come after the first look.
    : > /tmp/told
    "$@" > /tmp/told 2>&1 &
    killed=$!
    (until_true eval "$condition") || cat /tmp/told
    kill -9 $killed
    wait $killed
    for entry in /run/tardy/journal/*.json; do
        sed 's/.*"change":"\([a-z_]*\)".*/\1/; s/.*"kind":"\([a-z_]*\)".*/\1/; s/^/journal /' "$entry"
        echo
    done
    state | diff /tmp/state - > /dev/null
    echo "differed $?"
    tardy restore > /tmp/restore 2>&1
    echo "restored $?"
    cat /tmp/restore
    tries=0
    until state > /tmp/now && cmp -s /tmp/state /tmp/now || [ $tries -gt 40 ]; do tries=$((tries + 1)); usleep 50000; done
    answer diff /tmp/state /tmp/now
}
is_up() { grep -q shaper /tmp/told; }
has_changed() { grep -q "\"$1\"" /run/tardy/journal/*.json 2> /dev/null; }

trap put_back EXIT
put_back() { mv /usr/sbin/nft.away /usr/sbin/nft; mv /sbin/tc.away /sbin/tc; }
serve_open_vswitch
name_iptables

# tardy needs longer to make its changes.
look_us=100000
cable swp0 talker 2
cable swp1 listener 2
crash 'bridge, VLANs and nft' is_up tardy tsn apply $FILES/tags.toml --for 100s

ip link add tsn0 address 02:00:00:00:00:99 type bridge
ip link set tsn0 up
ip link add other type bridge vlan_filtering 1
ip link set swp1 master other
bridge vlan add dev swp1 vid 7
tc qdisc replace dev swp1 root handle 8001: pfifo
crash "a foreign bridge, port and discipline" is_up tardy tsn apply $FILES/tags.toml --replace --for 100s
tc qdisc del dev swp1 root
ip link del other
ip link del tsn0

tardy tsn apply $FILES/slow.toml > /dev/null 2>&1
until_true eval 'tardy tsn show | grep -c operating | grep -q 2'
# The first port's schedule has been sent once the second's is in the journal.
both_noted() { [ "$(grep -l '"schedule"' /run/tardy/journal/*.json 2> /dev/null | wc -l)" = 2 ]; }
look_us=20000
crash 'a replaced schedule' both_noted tardy tsn apply $FILES/slow-other.toml
look_us=100000
tardy tsn remove > /dev/null 2>&1

crash 'Open vSwitch' is_up tardy tsn apply $FILES/ovs-tags.toml --for 100s
ovs-vsctl add-br tsn0
ovs-vsctl add-port tsn0 swp1
ip link set tsn0 up; ip link set tsn0 down
crash 'a foreign Open vSwitch' is_up tardy tsn apply $FILES/ovs-tags.toml --replace --for 100s
ovs-vsctl del-br tsn0

mv /usr/sbin/nft /usr/sbin/nft.away
nft() { /usr/sbin/nft.away "$@"; }
crash 'filters of tc' is_up tardy tsn apply $FILES/ports.toml --for 100s
mv /sbin/tc /sbin/tc.away
tc() { /sbin/tc.away "$@"; }
echo 0 > /proc/sys/net/bridge/bridge-nf-call-iptables
crash 'a rule of iptables' is_up tardy tsn apply $FILES/ports.toml --for 100s

measures() { has_changed file && grep -q timerlat /sys/kernel/tracing/instances/tardy-*/current_tracer 2> /dev/null; }
crash 'the timerlat tracer' measures tardy run --probe timerlat --duration 100s -o /tmp/timerlat.run.json
# An entry is in the journal before its change is made.
traces() { has_changed trace_instance && ls /sys/kernel/tracing/instances | grep -q causes; }
crash 'a trace of causes' traces \
    tardy run --causes --interval 1ms --duration 100s -o /tmp/causes.run.json

if [ -x $FILES/chain ]; then
    $FILES/chain one probe 2000 1000000 50 /tmp/chain.log &
    chain=$!
    probes() { has_changed user_probe && grep -q . /sys/kernel/tracing/uprobe_events; }
    crash 'probes of a watched program' probes tardy attach $chain --duration 100s -o /tmp/attach.run.json
    kill $chain
fi

# With this seed the change comes before the baseline. Its run file exists once the change is in force.
tries_it() { ls /run/tardy/trials/round-001-$1.run.json > /dev/null 2>&1; }
for change in ktimers-up timer-migration; do
    crash "the doctor's $change" "tries_it $change" \
        tardy check --measure --only $change --rounds 1 --seed 4 --interval 1ms --duration 100s
done
end_open_vswitch
