# Runs before every scene. Programs of packages are called by their paths where busybox has commands of the same names:
# its shell would use its own.
export PATH=/sbin:/usr/sbin:/bin:/usr/bin:/

# part NAME: begins a part of what the test reads.
part() { echo "== $*"; }

# answer COMMAND...: prints its output, of both kinds, and its exit status.
answer() { "$@" 2>&1; echo "exit status $?"; }

# until_true COMMAND...: waits for a condition that always becomes true unless something is broken.
until_true() {
    tries=0
    until "$@"; do
        tries=$((tries + 1))
        if [ $tries -gt 2000 ]; then echo "never came true: $*"; exit 1; fi
        usleep 5000
    done
}

# with_modules 'MODULE PARAMETER...'... -- COMMAND...: runs the command while tardy's own modules are loaded.
with_modules() {
    loaded=
    while [ "$1" != -- ]; do
        insmod /lab/$1 || exit 1
        loaded="${1%%.ko*} $loaded"
        shift
    done
    shift
    "$@"
    ended=$?
    for module in $loaded; do rmmod "$module" || exit 1; done
    return $ended
}
