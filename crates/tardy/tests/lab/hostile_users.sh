# An ordinary user of the machine attacks root's tardy: the attacker plants links, pipes, files and programs where tardy
# reads, writes and searches. All attacks are made twice, with the kernel's protection of links, pipes and files in
# shared directories switched off (level 0) and on (level 1).
tardy=$(which tardy)
roots=/tmp/roots
theirs=/tmp/theirs
shared=/tmp/shared
run=$roots/killed.run.json

echo nobody:x:65534:65534::/:/bin/sh > /tmp/passwd
mkdir -p /etc
[ -e /etc/passwd ] || : > /etc/passwd
mount -o bind /tmp/passwd /etc/passwd
ln -s /bin/busybox /tmp/sh

# as_attacker 'SCRIPT': runs the script as the attacker, in the attacker's directory.
as_attacker() { su -s /tmp/sh nobody -c "cd $theirs; $1" 2>&1; }

# as_root WORD COMMAND...: runs tardy as root. Prints the word with the exit status, which is 137 if tardy hangs.
as_root() {
    word=$1
    shift
    timeout -s KILL 60 $tardy "$@" > /tmp/told 2>&1 < /dev/null
    echo "status $word $?"
    report
}

# report: prints the first lines of tardy's output.
report() { sed 's/^/told /; 4q' /tmp/told; }

# attack NAME: begins a part of the output. The attacker's and the shared directory are empty, and root's file is new.
attack() {
    part "attack $level $1"
    rm -rf $theirs $shared /tmp/go /tmp/stop /tmp/executed $map
    mkdir -m 1777 $shared
    mkdir -m 755 $theirs
    chown 65534:65534 $theirs
    echo precious > $roots/precious
    roots_files > /tmp/before
}
roots_files() { (cd $roots; ls -lin; md5sum *; cat /proc/sys/kernel/core_pattern); }

# survived: ends the part: prints whether a file of root or the pattern for core files has changed, and the names of
# planted programs that were executed.
survived() {
    roots_files | diff /tmp/before - > /tmp/changes
    echo "changed $?"
    cat /tmp/changes
    [ ! -e /tmp/executed ] || sed 's/^/executed /' /tmp/executed
    cp /tmp/killed.run.json $run
    cp /tmp/killed.map $roots/map
    echo core > /proc/sys/kernel/core_pattern
}

# begin COMMAND...: starts the command as a process whose number the attacker knows beforehand, in $pid. It waits until
# /tmp/go exists.
begin() {
    (until_true [ -e /tmp/go ]; exec "$@" > /tmp/told 2>&1 < /dev/null) &
    pid=$!
}

# id_of FILE: the run's id.
id_of() { sed -n 's/.*"id":"\([-0-9a-f]*\)".*/\1/p' "$1"; }

mkdir -m 755 $roots /tmp/own
map=
level=
echo core > /proc/sys/kernel/core_pattern
begin $tardy run -q --cpus 0 --duration 1h --warmup 0s --interval 10ms -o $run
touch /tmp/go
# Each look at the file costs the host more time than the wait.
has_counts() { usleep 200000; grep -qs '"series":\[{' $run; }
until_true has_counts
# Scenes of the same boot have left maps as well.
id=$(id_of $run)
map=/dev/shm/tardy-$id-0.map
is_mapped() { grep -qs "$map" /proc/[0-9]*/maps; }
is_not_mapped() { ! is_mapped; }
kill -9 $pid
wait $pid
until_true is_not_mapped
cp $run /tmp/killed.run.json
cp $map /tmp/killed.map
cp $map $roots/map
chmod 644 $roots/map

# The attacker's pipe holds a reader that waits for it while the run file is replaced by a link.
pipe_for() {
    attack "a pipe for $1"
    as_attacker "cp $run a.run.json; mkfifo $map"
    as_attacker "exec 3> $map; ln -sf $roots/precious a.run.json; exec 3>&-" &
    attacker=$!
    as_root "$@"
    kill -9 $attacker 2> /dev/null
    wait $attacker
    survived
}

# The attacker puts something else where the map of a run was, and root reads the attacker's copy of that run, or its own.
planted_maps() {
    attack 'a map of the attacker'
    as_attacker "cp $run a.run.json; cp $roots/map $map"
    as_root show show $run
    survived
    [ $level = 0 ] || return
    attack 'a map that is truncated again and again'
    as_attacker "cp $run a.run.json; until [ -e /tmp/stop ]; do cat $roots/map > $map; : > $map; done" &
    attacker=$!
    until_true test -e $map
    as_root show show $theirs/a.run.json
    touch /tmp/stop
    wait $attacker
    survived
    attack "a link to root's map"
    as_attacker "cp $run a.run.json; ln -s $roots/map $map"
    as_root show show $theirs/a.run.json
    survived
}

# temporary_names NAME DIRECTORY: the attacker plants links under the names that a run could use next to its file.
temporary_names() {
    attack "temporary names in $1"
    begin $tardy run -q --cpus 0 --duration 1200ms --warmup 0s --interval 10ms -o $2/c.run.json
    names=".c.run.json.$pid.tmp .c.run.json.0.counters ..c.run.json.0.counters.$pid.tmp"
    as_attacker "cd $2; until [ -e /tmp/stop ]; do
        for name in $names; do [ -L \$name ] || ln -s $roots/precious \$name; done
        touch /tmp/go; usleep 100000
    done" > /dev/null &
    attacker=$!
    wait $pid
    echo "status run $?"
    touch /tmp/stop
    wait $attacker
    survived
}

outputs() {
    attack 'a link as output'
    as_attacker "ln -s $roots/precious a.run.json; ln -s $roots/precious $shared/a.html"
    as_root run run -q --cpus 0 --duration 10ms --warmup 0s --force -o $theirs/a.run.json
    as_root report report $run --force -o $shared/a.html
    survived
}

rescue() {
    attack 'the rescue name'
    mkdir -p /tmp/small
    mount -t tmpfs -o size=256k none /tmp/small
    begin $tardy run -q --cpus 0 --duration 2s --warmup 0s --interval 10ms -o /tmp/small/r.run.json
    touch /tmp/go
    until_true test -s /tmp/small/r.run.json
    rescued=/dev/shm/tardy-$(id_of /tmp/small/r.run.json).run.json
    as_attacker "ln -s $roots/precious $rescued"
    dd if=/dev/zero of=/tmp/small/rest bs=4k 2> /dev/null
    wait $pid
    echo "status run $?"
    sed -n '/written either/s/^/told /p' /tmp/told
    umount /tmp/small
    survived
    rm $rescued
}

switch_test() {
    attack "the directories of a switch's test"
    begin $tardy tsn test --netns $FILES/ports.toml --with-shaper --for 20ms -q -o /tmp/t.run.json
    planted=/tmp/tardy-switches-$pid-0
    as_attacker "mkdir $planted"
    made=$(stat -c %Z $planted)
    touch /tmp/go
    wait $pid
    echo "status test $?"
    report
    ls -d /tmp/tardy-switches-$pid-0 /tmp/tardy-switches-$pid-1
    echo "used $(find /tmp/tardy-switches-$pid-0/ $theirs -user 0 | wc -l)"
    survived
    rm -rf /tmp/tardy-switches-$pid-* /tmp/t.run.json
}

namespace=$(readlink /proc/self/ns/net | sed 's/[^0-9]//g')
dead='{"owner":{"pid":4294967295,"started_ticks":1},"setting"'
forged_pattern="$dead:{\"kind\":\"file\",\"path\":\"/proc/sys/kernel/core_pattern\",\"old\":\"|$theirs/program\"}}"
forged_rule="$dead:{\"kind\":\"network\",\"namespace\":$namespace,\"change\":{\"change\":\"iptables_rule\",\"words\":[\
\"POSTROUTING\",\"--modprobe=$theirs/program\",\"-j\",\"CLASSIFY\",\"--set-class\",\"0:1\"]}}}"
restorable="$dead:{\"kind\":\"file\",\"path\":\"/proc/sys/kernel/timer_migration\",\"old\":\"0\"}}"
program='#!/bin/busybox sh
/bin/busybox echo "$0" >> /tmp/executed'

# plant_program NAME: the attacker writes a program.
plant_program() { as_attacker "echo '$program' > $1; chmod 755 $1"; }

journals() {
    attack "the attacker's journal"
    rm -rf /run/tardy
    plant_program program
    as_attacker "mkdir -p /run/tardy/journal; cd /run/tardy/journal; echo '$forged_pattern' > 4294967295-0.json
        echo '$forged_rule' > 4294967295-1.json"
    as_root restore restore
    as_root apply tsn apply $FILES/tags.toml
    survived
    rm -rf /run/tardy

    attack 'forged entries'
    plant_program program
    mkdir -p -m 700 /run/tardy/journal
    cd /run/tardy/journal
    echo "$forged_pattern" > 4294967295-0.json
    echo "$forged_rule" > 4294967295-1.json
    echo "$restorable" > 4294967295-2.json
    cp 4294967295-2.json 4294967295-3.json
    chown 65534 4294967295-3.json
    cd /
    echo 1 > /proc/sys/kernel/timer_migration
    as_root restore restore
    echo "entries $(ls /run/tardy/journal | wc -l)"
    echo "migration $(cat /proc/sys/kernel/timer_migration)"
    echo 1 > /proc/sys/kernel/timer_migration
    survived
    rm -rf /run/tardy
}

# programs HOW: the attacker's directory is the working directory, and no PATH names another.
programs() {
    attack "programs of the working directory with $1 PATH"
    for name in nft tc iptables ip bridge sh; do plant_program $name; done
    cd $theirs
    (
        if [ "$1" = no ]; then unset PATH; else PATH=; fi
        $tardy tsn apply $FILES/tags.toml
        echo "status apply $?"
        $tardy tsn remove
        echo "status remove $?"
    ) > /tmp/told 2>&1
    cd /
    grep status /tmp/told
    report
    survived
}

legitimate_use() {
    attack 'a run in a shared directory'
    cp $run $shared/a.run.json
    as_root recover recover $shared/a.run.json
    survived
    attack 'no attack: show'
    (umask 077; cp /tmp/killed.map $map)
    cp $run /tmp/own/a.run.json
    as_root show show /tmp/own/a.run.json
    survived
    attack 'no attack: recover'
    (umask 077; cp /tmp/killed.map $map)
    as_root recover recover /tmp/own/a.run.json
    survived
}

cable swp0 talker 2
cable swp1 listener 2
name_iptables
cd /proc/sys/fs
protections=$(grep -H '' protected_symlinks protected_hardlinks protected_regular protected_fifos)
cd /
for level in 0 1; do
    for name in symlinks hardlinks; do echo $level > /proc/sys/fs/protected_$name; done
    for name in regular fifos; do echo $((level * 2)) > /proc/sys/fs/protected_$name; done
    pipe_for show show $theirs/a.run.json
    planted_maps
    temporary_names "the attacker's directory" $theirs
    outputs
    journals
    if [ $level = 0 ]; then
        # All commands open a run in the same way.
        pipe_for report report $theirs/a.run.json --force -o /tmp/a.html
        pipe_for plot plot $theirs/a.run.json --force -o /tmp/a.svg
        pipe_for compare compare $theirs/a.run.json $theirs/a.run.json
        pipe_for export export $theirs/a.run.json --to csv --force -o /tmp/a.csv
        rescue
        temporary_names 'a sticky directory' $shared
        programs no
    else
        switch_test
        programs empty
    fi
    legitimate_use
done
for protection in $protections; do echo ${protection#*:} > /proc/sys/fs/${protection%:*}; done
umount /etc/passwd
