# Functions for scenes about networks.
ip() { /sbin/ip "$@"; }
tc() { /sbin/tc "$@"; }

# own_network: makes the new network and mount namespaces that this shell runs in look like a freshly booted guest.
own_network() {
    mount -t sysfs sysfs /sys
    mount -t tracefs tracefs /sys/kernel/tracing
    mount -t tmpfs tmpfs /run
    mount -t tmpfs tmpfs /tmp
    ip link set lo up
    # The kernel removes the networks of earlier scenes, and their gate timers, when it has time.
    until_true has_no_timers
}
has_no_timers() { [ "$(timers)" = 0 ]; }

# quiet_network: keeps IPv6 neighbour discovery from sending frames.
quiet_network() {
    echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6
    echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6
}

# everything: prints all settings that a switch changes.
everything() {
    ip -details -json -pretty link | sed '/forward_delay\|timer\|promiscuity\|tso_max/d'
    bridge -json -pretty vlan
    tc qdisc show
    nft list ruleset
    sysctl net.bridge 2> /dev/null
    find /run/tardy -type f 2> /dev/null
}

# as_in FILE: prints how the present state differs from FILE. The kernel updates links some time after their ports are
# gone.
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

# cable PORT HOST QUEUES: makes a veth pair and sets the host's end up. The port was up once, because the first time leaves
# a trace: the discipline that the kernel attaches by itself.
cable() {
    ip link add "$1" numtxqueues "$3" numrxqueues "$3" type veth peer name "$2" numtxqueues "$3" numrxqueues "$3"
    ip link set "$2" up
    ip link set "$1" up
    ip link set "$1" down
}

# flow NUMBER UDP_PORT COUNT DELAY_NS: prepares frames from the host 'talker' to the host 'listener'.
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

# trace PORT: from now on the kernel records when frames leave the port and by which queue.
trace() {
    trap untrace EXIT
    echo tai > /sys/kernel/tracing/trace_clock
    echo "name == \"$1\"" > /sys/kernel/tracing/events/net/net_dev_start_xmit/filter
    echo 1 > /sys/kernel/tracing/events/net/net_dev_start_xmit/enable
}
untrace() {
    echo 0 > /sys/kernel/tracing/events/net/net_dev_start_xmit/enable
    echo 0 > /sys/kernel/tracing/events/net/net_dev_start_xmit/filter
    echo local > /sys/kernel/tracing/trace_clock
    echo > /sys/kernel/tracing/trace
}
# traced: prints those records, seconds and queue, and clears them.
traced() {
    # By fields: with a regular expression, this took two thirds of the time of a scene with 15,000 frames.
    awk '$5 == "net_dev_start_xmit:" { print "left", substr($4, 1, length($4) - 1), substr($7, 15) }' /sys/kernel/tracing/trace
    echo > /sys/kernel/tracing/trace
}

# serve_open_vswitch: starts Open vSwitch as its package would. Its servers do not inherit the scene's output, which
# ends when no process has it open.
serve_open_vswitch() {
    mkdir -p /run/openvswitch /etc/openvswitch /var/log/openvswitch
    rm -rf /var/run; ln -s /run /var/run
    echo root:x:0:0::/:/bin/sh > /etc/passwd
    database=/etc/openvswitch/conf.db
    rm -f $database
    ovsdb-tool create $database /usr/share/openvswitch/vswitch.ovsschema
    serve() { "$@" --pidfile --detach --no-chdir > /tmp/served 2>&1 < /dev/null || cat /tmp/served; }
    serve ovsdb-server $database --remote=punix:/run/openvswitch/db.sock
    ovs-vsctl --timeout=60 --no-wait init
    serve /usr/lib/openvswitch-switch/ovs-vswitchd
}
end_open_vswitch() { kill $(cat /run/openvswitch/ovs-vswitchd.pid /run/openvswitch/ovsdb-server.pid); }

# name_iptables: makes a link called iptables, since the package has the program under another name.
name_iptables() { [ -e /usr/sbin/iptables ] || ln -s xtables-legacy-multi /usr/sbin/iptables; }
