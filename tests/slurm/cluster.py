"""A Slurm of several nodes on this machine, made for a test and gone with it.

Each node is a slurmd of its own in a UTS namespace: it has a host name of its own, so that MPI takes ranks of two nodes
for ranks of two hosts (shared memory within, TCP between). All of it lives in a network namespace that has nothing but
a loopback, so that no daemon is seen from outside and no port is taken. Files are written in one temporary folder,
none in /etc. Needs root or user namespaces, and Debian's slurm-wlm and munge; Slurm 22.05 was tried.
"""

import glob
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

LOGIN = "login"  # the host name outside the nodes
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "unshare", "setpriv", "ip", "hostname")
os.environ["PATH"] += ":/usr/sbin:/sbin"


def why_not():
    """What stands against a cluster here, or nothing."""
    missing = [name for name in PROGRAMS if not shutil.which(name)]
    if missing:
        return "not installed: " + ", ".join(missing)
    tried = subprocess.run([*_namespaces(), "true"], capture_output=True, text=True)
    return f"namespaces are not allowed here ({tried.stderr.strip()})" if tried.returncode else ""


def _namespaces():
    words = ["unshare", "--net", "--uts"]
    return words if os.geteuid() == 0 else [*words, "--user", "--map-current-user", "--keep-caps"]


def enter(words):
    """Goes on as `words` in namespaces of its own, once; then gives them a loopback and a name."""
    if socket.gethostname() != LOGIN or "CANDOR_CLUSTER" not in os.environ:
        os.environ["CANDOR_CLUSTER"] = "entered"
        os.execvp("unshare", [*_namespaces(), "sh", "-c", f'hostname {LOGIN} && exec "$@"', "sh", *words])
    # Slurm looks names up among addresses of the machine's kinds, and loopbacks do not count as one.
    for step in ("link set lo up", "address add 192.0.2.1/32 dev lo"):
        subprocess.run(["ip", *step.split()], check=True)


def wait_until(condition, seconds, what):
    """The first value of `condition()` that is true."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} s: {what() if callable(what) else what}")
        time.sleep(0.05)


class Cluster:
    """`nodes` nodes of `cpus` processors each, believed whatever the machine has."""

    def __init__(self, nodes=2, cpus=2):
        # Paths of sockets may have 108 bytes.
        self.folder = tempfile.mkdtemp(prefix="slurm-", dir="/tmp")
        # Of their own among clusters of this machine: MPI names shared memory and folders in /tmp by the host.
        self.nodes = [f"p{os.getpid()}n{i + 1}" for i in range(nodes)]
        self.daemons = {}
        self.spaces = {}
        self.environment = dict(
            os.environ, SLURM_CONF=self._path("slurm.conf"),
            OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
            # Hosts that are one: talk over its loopback, and let ranks that wait leave the processor to others.
            OMPI_MCA_btl_tcp_if_include="lo", OMPI_MCA_oob_tcp_if_include="lo", OMPI_MCA_mpi_yield_when_idle="1",
            OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_hwloc_base_binding_policy="none",
            OMPI_MCA_btl_vader_single_copy_mechanism="none",
            # Without it one launch in seventy ends in MPI_Init with Open MPI 4.1.4 and PMIx 4.2.2.
            PMIX_MCA_gds="hash")
        for name in [n for n in self.environment if n.startswith("SLURM_") and n != "SLURM_CONF"]:
            del self.environment[name]
        try:
            self._start(cpus)
        except BaseException:
            self.stop()
            raise

    def _path(self, *names):
        return os.path.join(self.folder, *names)

    def _start(self, cpus):
        os.chmod(self.folder, 0o755)
        os.mkdir(self._path("munge"), 0o711)
        os.chmod(self._path("munge"), 0o711)
        for name in ("log", "state", "spool"):
            os.mkdir(self._path(name))
        with open(os.open(self._path("munge/key"), os.O_WRONLY | os.O_CREAT, 0o600), "wb") as f:
            f.write(os.urandom(128))
        user = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
        nodes = "\n".join(f"NodeName={n} NodeHostname={n} NodeAddr=127.0.0.1 Port={6819 + i} CPUs={cpus} Boards=1 "
                          f"SocketsPerBoard=1 CoresPerSocket={cpus} ThreadsPerCore=1 RealMemory=2000"
                          for i, n in enumerate(self.nodes))
        with open(self._path("slurm.conf"), "w") as f:
            f.write(f"""ClusterName=throwaway
SlurmctldHost={LOGIN}(127.0.0.1)
SlurmctldPort=6817
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={self._path("munge/socket")},cred_expire=5
StateSaveLocation={self._path("state")}
SlurmctldPidFile={self._path("slurmctld.pid")}
SlurmctldLogFile={self._path("log/slurmctld")}
SlurmdPidFile={self._path("slurmd.%n.pid")}
SlurmdLogFile={self._path("log/slurmd.%n")}
SlurmdSpoolDir={self._path("spool/%n")}
# PMIx's folder of a step is named by the job alone: nodes that share a /tmp would meet in it.
TmpFS={self._path("spool/%n/tmp")}
MailProg=/bin/true
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
ReturnToService=2
EnforcePartLimits=ALL
SchedulerParameters=bf_interval=2,sched_min_interval=100000,batch_sched_delay=0
KillWait=2
SlurmdTimeout=15
SlurmctldTimeout=15
MinJobAge=86400
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
{nodes}
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE DefaultTime=10 State=UP
PartitionName=urgent Nodes=ALL PriorityTier=10 MaxTime=INFINITE DefaultTime=10 State=UP
""")
        # Nothing here uses control groups, but slurmd looks for them where it is not told which kind, and a container
        # may have none. Of the kinds that 22.05 knows the first starts without.
        with open(self._path("cgroup.conf"), "w") as f:
            f.write("CgroupPlugin=cgroup/v1\n")
        self._daemon("munged", ["munged", "--foreground", "--force", "--num-threads=2",
                                *(f"--{kind}-file=" + self._path("munge", kind) for kind in ("key", "pid", "log", "seed")),
                                "--socket=" + self._path("munge/socket")])
        wait_until(lambda: os.path.exists(self._path("munge/socket")), 10, "munged")
        self._daemon("slurmctld", ["slurmctld", "-D", "-i"])
        for node in self.nodes:
            self._boot(node)
        self._wait_for(*self.nodes)

    def _daemon(self, name, words):
        # A test that is killed takes its daemons along.
        with open(self._path("log", name + ".err"), "ab") as log:
            self.daemons[name] = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *words], env=self.environment,
                                                  stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/")

    def _boot(self, node):
        spool = self._path("spool", node)  # what a step that died with its node left there stops the same step
        shutil.rmtree(spool, ignore_errors=True)
        os.makedirs(os.path.join(spool, "tmp"))
        self._daemon(node, ["unshare", "--uts", "sh", "-c", f"hostname {node} && exec slurmd -D -N {node}"])
        outside = os.readlink("/proc/self/ns/uts")
        link = f"/proc/{self.daemons[node].pid}/ns/uts"
        self.spaces[node] = wait_until(lambda: os.readlink(link) != outside and os.readlink(link), 10, node)

    def _wait_for(self, *nodes):
        idle = lambda: self.run("sinfo", "-h", "-N", "-n", ",".join(nodes), "-o", "%t").stdout.split()
        wait_until(lambda: set(idle()) == {"idle"}, 30, lambda: f"nodes up: {idle()}\n{self.logs()}")

    def logs(self):
        texts = []
        for name in sorted(os.listdir(self._path("log"))):
            with open(self._path("log", name), errors="replace") as f:
                texts.append(f"== {name}\n" + "".join(f.readlines()[-15:]))
        return "\n".join(texts)

    def pids(self, node, pattern=""):
        """Processes of a node whose command line has `pattern` in it."""
        found = []
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{name}/cmdline", "rb") as f:
                    words = f.read().replace(b"\0", b" ").decode(errors="replace")
                if os.readlink(f"/proc/{name}/ns/uts") == self.spaces.get(node) and re.search(pattern, words):
                    found.append(int(name))
            except OSError:
                continue  # gone meanwhile
        return found

    def crash(self, node):
        """Ends everything that runs on a node at once, as a loss of power would."""
        for _ in range(3):  # what is forked meanwhile too
            for pid in self.pids(node):
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
        self.daemons.pop(node).wait()

    def boot(self, node):
        """Starts a crashed node again. Slurm is told of it, since it does not notice a crash so short."""
        self.run("scontrol", "update", f"nodename={node}", "state=down", "reason=rebooted")
        self._boot(node)

        def is_ready():
            self.run("scontrol", "update", f"nodename={node}", "state=resume")  # refused where it is up already
            state = self.run("sinfo", "-h", "-N", "-p", "main", "-n", node, "-o", "%t").stdout.strip()
            return re.fullmatch("idle|alloc|mix", state)

        wait_until(is_ready, 20, lambda: f"{node} to be up\n{self.logs()}")

    def run(self, *words, **options):
        """Runs words on the login node, in its environment."""
        return subprocess.run(words, env=dict(self.environment, **options.pop("variables", {})), capture_output=True,
                              text=True, timeout=120, **options)

    def job(self, number):
        """What Slurm says of a job, by its own names (JobState, Restarts, ...)."""
        shown = self.run("scontrol", "show", "job", "-o", str(number)).stdout
        return dict(re.findall(r"(\w+)=(\S*)", shown))

    def wait_for_state(self, number, states, seconds):
        return wait_until(lambda: self.job(number).get("JobState") in states and self.job(number), seconds,
                          lambda: f"job {number} to be {states}: {self.job(number)}\n{self.logs()}")

    def stop(self):
        if "slurmctld" in self.daemons:
            self.run("scancel", "--quiet", "--state=PENDING,RUNNING,SUSPENDED")
            end = time.monotonic() + 8
            while self.run("squeue", "-h").stdout and time.monotonic() < end:
                time.sleep(0.1)
        for node in [n for n in self.nodes if n in self.daemons]:
            self.crash(node)
        for daemon in self.daemons.values():
            daemon.terminate()
        for daemon in self.daemons.values():
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
        for node in self.nodes:  # what MPI leaves behind where its ranks are killed
            for left in glob.glob(f"/tmp/ompi.{node}.*") + glob.glob(f"/dev/shm/*.{node}.*"):
                shutil.rmtree(left) if os.path.isdir(left) else os.remove(left)
        shutil.rmtree(self.folder, ignore_errors=True)
