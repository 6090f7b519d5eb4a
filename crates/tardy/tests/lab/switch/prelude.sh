# Before every script. Programs of packages are called by their paths where busybox has commands of the same names,
# which its shell would take instead.
export PATH=/sbin:/usr/sbin:/bin:/usr/bin:/
ip() { /sbin/ip "$@"; }
tc() { /sbin/tc "$@"; }

# Neighbour discovery would send frames of its own in between.
echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6
echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6

# part NAME: begins a part of what the test reads.
part() { echo "== $*"; }

# answer COMMAND...: what it says, on both ways, and its exit status.
answer() { "$@" 2>&1; echo "exit status $?"; }

# everything: all that a switch changes.
everything() {
    ip -details -json -pretty link | sed '/forward_delay\|timer\|promiscuity\|tso_max/d'
    bridge -json -pretty vlan
    tc qdisc show
    nft list ruleset
    sysctl net.bridge 2> /dev/null
    find /run/tardy -type f 2> /dev/null
}

# as_in FILE: what differs from it by now. Links notice a while later that their ports are gone.
as_in() {
    tries=0
    everything > /tmp/now
    until cmp -s "$1" /tmp/now || [ $tries -gt 40 ]; do
        tries=$((tries + 1))
        usleep 50000
        everything > /tmp/now
    done
    answer diff "$1" /tmp/now
}

# cable PORT HOST QUEUES: a veth pair, with the host's end set up. The port has been up: the first time leaves a trace,
# the discipline that the kernel hangs up by itself.
cable() {
    ip link add "$1" numtxqueues "$3" numrxqueues "$3" type veth peer name "$2" numtxqueues "$3" numrxqueues "$3"
    ip link set "$2" up
    ip link set "$1" up
    ip link set "$1" down
}

# until_true COMMAND...: waits for what always comes unless something is broken.
until_true() {
    tries=0
    until "$@"; do
        tries=$((tries + 1))
        if [ $tries -gt 2000 ]; then echo "never came true: $*"; exit 1; fi
        usleep 5000
    done
}

# flow NUMBER UDP_PORT COUNT DELAY_NS: frames from the host 'talker' to the host 'listener'.
flow() {
    device=/proc/net/pktgen/talker@$1
    [ -e "$device" ] || echo "add_device talker@$1" > /proc/net/pktgen/kpktgend_0
    for word in "count $3" "delay $4" "pkt_size 1000" "src_min 10.9.0.1" "src_max 10.9.0.1" "dst 10.9.0.2" \
        "dst_mac 02:00:00:00:00:02" "udp_dst_min $2" "udp_dst_max $2"; do
        echo "$word" > "$device"
    done
}
send() { echo start > /proc/net/pktgen/pgctrl; }

# sent PORT: how many frames left it so far.
sent() { cat "/sys/class/net/$1/statistics/tx_packets"; }

# timers: how many gate timers run.
timers() { grep -c advance_sched /proc/timer_list; }

# trace PORT: from now on the kernel notes when frames leave the port and by which queue.
trace() {
    echo tai > /sys/kernel/tracing/trace_clock
    echo "name == \"$1\"" > /sys/kernel/tracing/events/net/net_dev_start_xmit/filter
    echo 1 > /sys/kernel/tracing/events/net/net_dev_start_xmit/enable
}
# traced: prints those notes, seconds and queue, and forgets them.
traced() {
    sed -n 's/^.* \([0-9]*\.[0-9]*\): net_dev_start_xmit: dev=[^ ]* queue_mapping=\([0-9]*\) .*/left \1 \2/p' \
        /sys/kernel/tracing/trace
    echo > /sys/kernel/tracing/trace
}
