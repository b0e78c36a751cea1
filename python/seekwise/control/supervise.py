"""The process between Seekwise and its load: it lives only to see that the load dies.

    seekwise ──lifeline (pipe, pidfd)──▶ supervisor ──▶ [init of a PID namespace] ──▶ fio ──▶ its workers (own sessions)

A program of its own, run by path with the standard library only, so that it starts in milliseconds and shares nothing
with Seekwise that could fail. Who dies first, and what then ends the load:

| dies | the load ends because |
|---|---|
| Seekwise, by whatever signal | the lifeline closes: the supervisor kills everything below it |
| the supervisor | the process below has PR_SET_PDEATHSIG; as root that is an init, and the kernel kills its namespace with it |
| both at once | the same |
| fio alone | the supervisor, a subreaper, inherits the workers and kills them |

If Seekwise is dead, the supervisor then has the settings and scratch folders of the journal restored at once.

Without root there is no PID namespace; workers orphaned by a death of both are found by their mark in the environment,
at the next start (`child.kill_marked`).

Arguments: lifeline, report and parent as numbers, cgroup files joined by `:` or `-`, then the program. The report pipe
gets `pid N`, then `exit N` or `signal N`, or `failed ERRNO`.
"""

import ctypes
import os
import select
import signal
import sys
import time

# Linux v6.12 include/uapi/linux/prctl.h and sched.h
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
CLONE_NEWPID = 0x20000000

GRACE_S = 2.0
"""Between asking (SIGTERM) and killing, when Seekwise asks for a gentle end."""
PATIENT_GRACE_S = 60.0
"""The same for a load that writes its logs when it is told to end."""
DYING_S = 10.0
"""The longest that a process which was killed takes to die."""


def main() -> None:
    """Starts the program, waits for it or for the death of the starter, ends everything, reports."""
    lifeline, report, parent = (int(word) for word in sys.argv[1:4])
    cgroup_files = [] if sys.argv[4] == "-" else sys.argv[4].split(":")
    program = sys.argv[5:]
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    # A gentle end of this process means the load.
    woken, wake = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    signal.set_wakeup_fd(wake)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, lambda *_: None)
    os.set_inheritable(report, False)
    os.set_inheritable(lifeline, False)

    # Fails without privilege: then the subreaper is all there is.
    namespace = libc.unshare(CLONE_NEWPID) == 0
    top, program_pid, outcome = start(program, cgroup_files, libc, report, namespace)
    tell(report, b"pid %d\n" % program_pid)
    status, abandoned = watch(top, program_pid, lifeline, parent, woken)
    if namespace:
        # The namespace's init passes the program's own status on; silence means that it was killed.
        relayed = os.read(outcome, 64)
        status = int(relayed) if relayed else signal.SIGKILL
    kill_everything()
    if is_dead(parent, DYING_S if abandoned else 0.0):
        restore_left_behind()
    if os.WIFSIGNALED(status):
        tell(report, b"signal %d\n" % os.WTERMSIG(status))
    else:
        tell(report, b"exit %d\n" % os.WEXITSTATUS(status))


def is_dead(parent: int, patience_s: float) -> bool:
    """Whether our starter is. A process that dies closes its files before it counts as dead, and on a busy machine some
    time before."""
    end = time.monotonic() + patience_s
    while os.getppid() == parent:
        if time.monotonic() >= end:
            return False
        time.sleep(0.005)
    return True


def restore_left_behind() -> None:
    """Our starter is dead: what it left changed can be restored now, not only at the next start.

    Becomes another program and does not return. No process may be started from here on: after `unshare`, children would
    belong to the namespace whose init is dead.
    """
    environment = {name: value for name, value in os.environ.items() if name != "SEEKWISE_CHILD"}
    code = "from seekwise.control import recovery; recovery.at_start(lambda sentence: None)"
    try:
        os.execve(sys.executable, [sys.executable, "-P", "-c", code], environment)
    except OSError:
        pass  # the next start does it


def tell(report: int, line: bytes) -> None:
    """Nobody may be listening any more; that must not keep us from our work."""
    try:
        os.write(report, line)
    except BrokenPipeError:
        pass


def start(
    program: list[str], cgroup_files: list[str], libc: ctypes.CDLL, report: int, namespace: bool
) -> tuple[int, int, int]:
    """Forks the program, below an init of its own if it has a PID namespace.

    Returns the process to wait for and to kill, the program's pid, and the pipe on which the init reports. The program
    runs only once it is told to: by then its death with us is arranged.
    """
    go_read, go_write = os.pipe2(os.O_CLOEXEC)
    outcome_read, outcome_write = os.pipe2(os.O_CLOEXEC)
    top = os.fork()
    if top == 0:
        try:
            os.close(go_write)
            os.close(outcome_read)
            libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            signal.set_wakeup_fd(-1)
            for number in (
                signal.SIGCHLD,
                signal.SIGTERM,
                signal.SIGINT,
                signal.SIGHUP,
                signal.SIGQUIT,
                signal.SIGPIPE,
            ):
                signal.signal(number, signal.SIG_DFL)
            if namespace:
                be_init(outcome_write)
            run_program(program, cgroup_files, go_read, report)
        finally:
            os._exit(127)
    os.close(go_read)
    os.close(outcome_write)
    program_pid = top
    while namespace and (program_pid := next(iter(children_of(top)), 0)) == 0:
        time.sleep(0.0002)
    os.write(go_write, b"g")
    os.close(go_write)
    return top, program_pid, outcome_read


def be_init(outcome: int) -> None:
    """Returns in the program's process; in the init it waits, relays the program's status and ends, and all with it.

    A program that is itself process 1 would be immune against signals without a handler: hence this one.
    """
    program = os.fork()
    if program == 0:
        return
    while True:
        pid, status = os.waitpid(-1, 0)
        if pid == program:
            os.write(outcome, b"%d" % status)
            os._exit(0)


def run_program(program: list[str], cgroup_files: list[str], go: int, report: int) -> None:
    """Becomes the program, once told to; reports why where it cannot."""
    try:
        if os.read(go, 1) != b"g":
            return  # the supervisor died first
        os.setpgid(0, 0)
        for file in cgroup_files:
            with open(file, "w") as procs:
                procs.write("0\n")  # 0 means the writer
        os.execvp(program[0], program)
    except OSError as error:
        tell(report, b"failed %d\n" % (error.errno or 0))


def watch(top: int, program_pid: int, lifeline: int, parent: int, woken: int) -> tuple[int, bool]:
    """Returns the wait status of `top` once it has ended, by itself or by us, and whether our starter has let go
    without a word."""
    watched = [lifeline, woken]
    try:
        watched.append(os.pidfd_open(parent))
    except OSError:
        # Linux before 5.3, or the parent is gone already: the lifeline says so.
        pass
    deadline = None
    while True:
        done, status = os.waitpid(top, os.WNOHANG)
        if done:
            return status, False
        timeout = None if deadline is None else max(0.0, deadline - time.monotonic())
        ready = select.select(watched, [], [], timeout)[0]
        ended = abandoned = False
        if woken in ready:
            ended = any(number != signal.SIGCHLD for number in os.read(woken, 64))
        asked = os.read(lifeline, 1) if lifeline in ready else b""
        if asked == b"K":
            ended = True
        elif asked:
            os.kill(program_pid, signal.SIGTERM)
            deadline = time.monotonic() + (PATIENT_GRACE_S if asked == b"P" else GRACE_S)
        elif lifeline in ready or (len(watched) > 2 and watched[2] in ready):
            ended = abandoned = True
        if ended or (deadline is not None and time.monotonic() >= deadline):
            # `top` is not waited for yet, so its pid cannot mean another process.
            os.kill(top, signal.SIGKILL)
            return os.waitpid(top, 0)[1], abandoned


def kill_everything() -> None:
    """Kills children, and what they leave behind, until there is none.

    A dead child's children become ours (subreaper), so killing children repeatedly reaches all descendants.
    """
    pause_s = 0.001
    while True:
        children = children_of(os.getpid())
        for pid in children:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            try:
                os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                pass
        if not children:
            return
        # One that waits for its device inside the kernel dies when the device answers.
        time.sleep(pause_s)
        pause_s = min(pause_s * 2, 0.1)


def children_of(parent: int) -> list[int]:
    """Process ids of a process's children."""
    children = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as stat:
                    text = stat.read()
            except OSError:
                continue
            if int(text[text.rindex(b")") + 2 :].split()[1]) == parent:
                children.append(int(name))
    return children


if __name__ == "__main__":
    main()
