# Runs before every scene. A scene calls a package's program by its path if busybox has a command of that name, since
# busybox's shell prefers its own.
export PATH=/sbin:/usr/sbin:/bin:/usr/bin:/

# part NAME: begins a part of the output, which the test reads by its name.
part() { echo "== $*"; }

# answer COMMAND...: runs the command and prints its standard output and error, and its exit status.
answer() { "$@" 2>&1; echo "exit status $?"; }

# until_true COMMAND...: waits for a condition that always becomes true unless something is broken. It looks at it every
# $look_us: looking costs the emulator time, waiting does not.
look_us=20000
until_true() {
    tries=0
    until "$@"; do
        tries=$((tries + 1))
        if [ $tries -gt 500 ]; then echo "never came true: $*"; exit 1; fi
        usleep $look_us
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
