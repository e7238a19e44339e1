"""The attack suite: a table of hostile snippets, each a function `attack(t)` run with no Python-level filter.

`t` names the targets that the runner prepares: `dir` (a directory anyone may write), `secret` (a file in it),
`host` (the host's process id), `port`, `udp`, `unix`, `abstract` (listeners), `address` and `length` (a
secret in the host's memory), `cell` (bytes in the host's memory that must not change).

Success is what the runner sees from outside: a secret in a result, a changed directory, a connection, a
signal, a changed cell, a process left behind, a dead zygote, a false answer to the next honest call, a host
that hangs, swells or crashes. Where nothing is visible from outside (a system call that should have been
refused), the attack returns CLAIM, and the control run shows that it would.
"""

from __future__ import annotations

from dataclasses import dataclass

CLAIM = "PWNED"

PRELUDE = '''
import ctypes, gc, io, itertools, json, mmap, os, pickle, re, resource, select, signal, socket, struct, sys, time
CLAIM = "PWNED"
NUMBERS = {  # name: (x86_64, aarch64)
    "clone": (56, 220), "clone3": (435, 435), "socket": (41, 198), "tgkill": (234, 131), "ptrace": (101, 117),
    "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "io_uring_setup": (425, 425), "bpf": (321, 280),
    "perf_event_open": (298, 241), "add_key": (248, 217), "keyctl": (250, 219), "userfaultfd": (323, 282),
    "unshare": (272, 97), "personality": (135, 92), "memfd_create": (319, 279), "pidfd_open": (434, 434),
    "pidfd_send_signal": (424, 424), "getpid": (39, 172), "seccomp": (317, 277), "open_by_handle_at": (304, 265),
    "shmget": (29, 194), "msgget": (68, 186), "inotify_init1": (294, 26), "timerfd_create": (283, 85),
    "signalfd4": (289, 74), "fsopen": (430, 430), "open_tree": (428, 428), "splice": (275, 76), "kcmp": (312, 272),
    "pidfd_getfd": (438, 438), "landlock_create_ruleset": (444, 444), "modify_ldt": (154, None), "swapoff": (168, 225),
    "mlock": (149, 228), "remap_file_pages": (216, 234), "membarrier": (324, 283), "vmsplice": (278, 75),
    "name_to_handle_at": (303, 264), "getitimer": (36, 102), "setitimer": (38, 103), "alarm": (37, None),
    "execveat": (322, 281), "futex": (202, 98), "set_robust_list": (273, 99), "rseq": (334, 293), "pipe2": (293, 59),
}

def call(name, *arguments):
    """A bare system call; negative results become OSError."""
    number = NUMBERS[name][MACHINE == "aarch64"]
    padded = [a if isinstance(a, (bytes, ctypes.Array, type(None))) or hasattr(a, "_obj") else ctypes.c_long(a)
              for a in arguments]
    result = LIBC.syscall(ctypes.c_long(number), *padded)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result

def nonce():
    """Frame walking: the nonce of the call in progress, out of the server's own variables."""
    frame = sys._getframe()
    while frame is not None:
        if "nonce" in frame.f_locals:
            return frame.f_locals["nonce"]
        frame = frame.f_back

def say(data):
    data = len(data).to_bytes(4, "big") + data
    while data:
        data = data[os.write(0, data):]

def reply(result, end=True):
    """A frame with the right nonce and a result written by hand."""
    say(b'{"n":"%s","r":[["ok",%s]]%s}' % (nonce().encode(), result, b',"end":true' if end else b""))

def honest(_):
    return "honest"
'''


@dataclass(frozen=True)
class Attack:
    name: str
    code: str
    control: str = "live"
    """`live`: must succeed without protection. Otherwise the reason why a control run says nothing."""


def _attack(name: str, body: str, control: str = "live") -> Attack:
    lines = "\n".join("    " + line for line in body.strip("\n").splitlines())
    return Attack(name, PRELUDE + f"\ndef attack(t):\n{lines}\n", control)


PARSER = "the wall is the host's parser, which is up in the control run too"
CLEAN = "a clean exec and closed descriptors leave nothing to find, with or without the kernel's walls"
BOMB = "unprotected it would take the machine with it"
VARIES = "depends on the kernel's configuration"
ANYWAY = "harmless in itself: what counts is that the host goes on"

FILES = [
    _attack("read a file with open", "return open(t['secret']).read()"),
    _attack("read a file with os.open", "return os.read(os.open(t['secret'], os.O_RDONLY), 99).decode()"),
    _attack("read a file with io.FileIO", "return io.FileIO(t['secret']).readall().decode()"),
    _attack(
        "read a file relative to a directory descriptor",
        "d = os.open(t['dir'], os.O_PATH)\n"
        "return os.read(os.open(os.path.basename(t['secret']), 0, dir_fd=d), 99).decode()",
    ),
    _attack(
        "map a file into memory",
        "return mmap.mmap(os.open(t['secret'], os.O_RDONLY), 0, prot=mmap.PROT_READ)[:].decode()",
    ),
    _attack(
        "read a file through libc",
        """
f = LIBC.open(t['secret'].encode(), 0)
buffer = ctypes.create_string_buffer(99)
LIBC.read(f, buffer, 99)
return buffer.value.decode()
""",
    ),
    _attack("read a file through /proc/self/root", "return open('/proc/self/root' + t['secret']).read()"),
    _attack("list a directory", "return CLAIM if 'secret.txt' in os.listdir(t['dir']) else None"),
    _attack(
        "scan a directory through libc",
        """
LIBC.opendir.restype = ctypes.c_void_p
return CLAIM if LIBC.opendir(t['dir'].encode()) else None
""",
    ),
    _attack("stat a file", "return CLAIM if os.stat(t['secret']).st_size else None"),
    _attack("access a file", "return CLAIM if os.access(t['secret'], os.R_OK) else None"),
    _attack("read a symbolic link", "return CLAIM if os.readlink('/proc/self/exe') else None"),
    _attack("write a file", "open(t['dir'] + '/written', 'w').write('x')"),
    _attack("append to a file", "open(t['secret'], 'a').write('x')"),
    _attack("truncate a file", "os.truncate(t['secret'], 1)"),
    _attack("delete a file", "os.remove(t['secret'])"),
    _attack("rename a file", "os.rename(t['secret'], t['dir'] + '/renamed')"),
    _attack("change a file's mode", "os.chmod(t['secret'], 0o600 if os.stat(t['secret']).st_mode & 4 else 0o644)"),
    _attack("make a directory", "os.mkdir(t['dir'] + '/made')"),
    _attack("make a symbolic link", "os.symlink('/etc/passwd', t['dir'] + '/link')"),
    _attack("make a hard link", "os.link(t['secret'], t['dir'] + '/hard')"),
    _attack("make a named pipe", "os.mkfifo(t['dir'] + '/fifo')"),
    _attack("make a nameless file", "os.open(t['dir'], os.O_TMPFILE | os.O_RDWR); return CLAIM"),
    _attack(
        "fill the disk", "with open(t['dir'] + '/big', 'wb') as f:\n    for _ in range(8): f.write(bytes(1 << 20))"
    ),
    _attack("make a file in memory", "call('memfd_create', b'x', 0); return CLAIM"),
    _attack("leave the root directory", "os.chroot(t['dir']); return CLAIM", "needs root"),
    _attack("mount through fsopen", "call('fsopen', b'tmpfs', 0); return CLAIM", "needs root"),
    _attack(
        "find an open descriptor",
        """
found = []
for number in range(1, 512):
    try:
        os.fstat(number); found.append(number)
    except OSError:
        pass
return CLAIM if found else None
""",
        CLEAN,
    ),
    _attack("reopen the channel", "os.open('/proc/self/fd/0', os.O_RDWR); return CLAIM", "sockets cannot be reopened"),
    _attack("read the bare device", "os.open('/dev/vda', os.O_RDONLY); return CLAIM", "not every machine has it"),
]

MEMORY_AND_SECRETS = [
    _attack("read the worker's environment", "return dict(os.environ)", CLEAN),
    _attack(
        "walk the C environment",
        """
environ = ctypes.POINTER(ctypes.c_char_p).in_dll(LIBC, 'environ')
found = []
while environ and environ[len(found)]:
    found.append(environ[len(found)].decode())
return found
""",
        CLEAN,
    ),
    _attack("read the host's environment", "return open(f\"/proc/{t['host']}/environ\").read()"),
    _attack(
        "read the host's command line",
        """
return CLAIM if open(f"/proc/{t['host']}/cmdline").read() else None
""",
    ),
    _attack("read the parent's environment", "return open(f'/proc/{os.getppid()}/environ').read()", CLEAN),
    _attack(
        "read the host's memory through /proc",
        """
with open(f"/proc/{t['host']}/mem", 'rb') as memory:
    memory.seek(t['address'])
    return memory.read(t['length']).decode()
""",
    ),
    _attack(
        "read the host's memory with process_vm_readv",
        """
buffer = ctypes.create_string_buffer(t['length'])
here = struct.pack('QQ', ctypes.addressof(buffer), t['length'])
there = struct.pack('QQ', t['address'], t['length'])
call('process_vm_readv', t['host'], here, 1, there, 1, 0)
return buffer.raw.decode()
""",
    ),
    _attack(
        "write the host's memory with process_vm_writev",
        """
buffer = ctypes.create_string_buffer(b'changed!')
call('process_vm_writev', t['host'], struct.pack('QQ', ctypes.addressof(buffer), 8), 1,
     struct.pack('QQ', t['cell'], 8), 1, 0)
""",
    ),
    _attack(
        "write the host's memory through /proc",
        """
with open(f"/proc/{t['host']}/mem", 'r+b', buffering=0) as memory:
    memory.seek(t['cell'])
    memory.write(b'changed!')
""",
    ),
    _attack("trace the host", "call('ptrace', 0x4206, t['host'], 0, 0); return CLAIM"),
    _attack("trace the zygote", "call('ptrace', 0x4206, os.getppid(), 0, 0); return CLAIM"),
    _attack("ask to be traced", "call('ptrace', 0, 0, 0, 0); return CLAIM"),
    _attack(
        "steal a descriptor of the host",
        """
handle = call('pidfd_open', t['host'], 0)
for number in range(3, 32):
    try:
        call('pidfd_getfd', handle, number, 0)
        return CLAIM
    except OSError:
        continue
""",
    ),
    _attack(
        "compare kernel objects with the host", "call('kcmp', os.getpid(), t['host'], 1, 0, 0); return CLAIM", VARIES
    ),
    _attack(
        "look for the secret among all objects",
        """
return [text for text in gc.get_objects() if isinstance(text, (str, bytes)) and 'SECRET' in str(text)][:3]
""",
        CLEAN,
    ),
    _attack(
        "look for the secret in all strings of all frames",
        """
frame, found = sys._getframe(), []
while frame is not None:
    found += [repr(value)[:2000] for name, value in frame.f_locals.items() if name != 't']
    found += [repr(value)[:200] for value in frame.f_globals.values()]
    frame = frame.f_back
return [text for text in found if 'hunter2' in text]
""",
        CLEAN,
    ),
]

PROCESSES = [
    _attack("fork", "return CLAIM if os.fork() else os._exit(0)"),
    _attack("fork through clone", "return CLAIM if call('clone', 17, 0, 0, 0, 0) else os._exit(0)"),
    _attack(
        "fork through clone3",
        """
arguments = struct.pack('11Q', 0, 0, 0, 0, 17, 0, 0, 0, 0, 0, 0)
return CLAIM if call('clone3', arguments, len(arguments)) else os._exit(0)
""",
    ),
    _attack(
        "fork bomb", "for _ in range(20):\n    if os.fork() == 0:\n        time.sleep(1); os._exit(0)\nreturn CLAIM"
    ),
    _attack(
        "start a thread",
        """
import threading
thread = threading.Thread(target=int); thread.start(); thread.join()
return CLAIM
""",
    ),
    _attack(
        "run a program",
        "import subprocess\nreturn subprocess.run(['/bin/cat', t['secret']], capture_output=True).stdout.decode()",
    ),
    _attack("run a shell", "os.system('echo x > ' + t['dir'] + '/shell')"),
    _attack("run a shell through libc", "LIBC.system(b'echo x > ' + t['dir'].encode() + b'/libc')"),
    _attack("become another program", "os.execv('/bin/sh', ['sh', '-c', 'echo x > ' + t['dir'] + '/exec'])"),
    _attack(
        "spawn a program",
        """
pid = os.posix_spawn('/bin/sh', ['sh', '-c', 'echo x > ' + t['dir'] + '/spawned'], {})
os.waitpid(pid, 0)
""",
    ),
    _attack(
        "execute a file in memory",
        """
f = call('memfd_create', b'x', 0)
os.write(f, b'#!/bin/sh\\necho x > ' + t['dir'].encode() + b'/memfd\\n')
os.execve(f, ['x'], {})
""",
    ),
    _attack(
        "leave a daemon behind",
        """
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(0.2)
        open(t['dir'] + '/late', 'w').write('x')
    os._exit(0)
time.sleep(0.5)
""",
    ),
    _attack("signal the host", "os.kill(t['host'], signal.SIGUSR1)"),
    _attack("signal the host through a pidfd", "signal.pidfd_send_signal(os.pidfd_open(t['host']), signal.SIGUSR1)"),
    _attack("signal the host's thread", "call('tgkill', t['host'], t['host'], signal.SIGUSR1)"),
    _attack("kill the zygote", "os.kill(os.getppid(), signal.SIGKILL)"),
    _attack(
        "kill process 1 of the namespace",
        "os.kill(1, 0); return CLAIM",
        "process 1 is the machine's without a namespace",
    ),
    _attack("reach every process", "os.kill(-1, 0); return CLAIM"),
    _attack("slow the host down", "os.setpriority(os.PRIO_PROCESS, t['host'], 3)"),
    _attack("read the host's limits", "resource.prlimit(t['host'], resource.RLIMIT_NOFILE); return CLAIM"),
    _attack("learn the process id", "return CLAIM if os.getpid() > 0 else None"),
    _attack("stop the worker", "os.kill(os.getpid(), signal.SIGSTOP)", ANYWAY),
]

NETWORK = [
    _attack("connect over TCP", "socket.create_connection(('127.0.0.1', t['port']), 1).send(b'x')"),
    _attack("send over UDP", "socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', t['udp']))"),
    _attack("connect to a Unix socket", "s = socket.socket(socket.AF_UNIX); s.connect(t['unix'])"),
    _attack("connect to an abstract socket", "s = socket.socket(socket.AF_UNIX); s.connect('\\0' + t['abstract'])"),
    _attack("listen for connections", "s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen(); return CLAIM"),
    _attack("open a socket by number", "call('socket', 2, 1, 0); return CLAIM"),
    _attack("open a netlink socket", "socket.socket(16, socket.SOCK_RAW, 0); return CLAIM"),
    _attack("open a packet socket", "socket.socket(17, socket.SOCK_RAW, 0); return CLAIM", "needs root"),
    _attack("make a pair of sockets", "socket.socketpair(); return CLAIM"),
    _attack("make a pipe", "os.pipe(); return CLAIM"),
    _attack("resolve a name", "return CLAIM if socket.getaddrinfo('localhost', 80) else None", VARIES),
    _attack(
        "send a descriptor to the host",
        """
s = socket.socket(socket.AF_UNIX, fileno=0)
socket.send_fds(s, [b'x'], [0])
s.detach()
""",
        ANYWAY,
    ),
]

KERNEL = [
    _attack("enter a user namespace", "call('unshare', 0x10000000); return CLAIM", VARIES),
    _attack("set up io_uring", "call('io_uring_setup', 8, ctypes.create_string_buffer(120)); return CLAIM", VARIES),
    _attack(
        "load a BPF map",
        """
call('bpf', 0, struct.pack('IIII', 2, 4, 4, 1) + bytes(100), 116); return CLAIM
""",
        VARIES,
    ),
    _attack(
        "open a performance counter",
        """
call('perf_event_open', struct.pack('IIQ', 1, 112, 0) + bytes(96), 0, -1, -1, 0); return CLAIM
""",
        VARIES,
    ),
    _attack("add a key", "call('add_key', b'user', b'evoenv', b'x', 1, -2); return CLAIM", VARIES),
    _attack("list keys", "call('keyctl', 0, -3, 0); return CLAIM", VARIES),
    _attack("make a userfaultfd", "call('userfaultfd', 1); return CLAIM", VARIES),
    _attack("change the personality", "call('personality', 0x0400000); return CLAIM"),
    _attack("rename the process", "return CLAIM if LIBC.prctl(15, b'kworker', 0, 0, 0) == 0 else None"),
    _attack("become traceable", "return CLAIM if LIBC.prctl(4, 1, 0, 0, 0) == 0 else None"),
    _attack("outlive the parent", "return CLAIM if LIBC.prctl(1, 0, 0, 0, 0) == 0 else None"),
    _attack(
        "add a filter of its own",
        "call('seccomp', 2, 0, ctypes.create_string_buffer(struct.pack('I', 0x7fff0000))); return CLAIM",
        VARIES,
    ),
    _attack(
        "map executable memory and run it",
        """
page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code = b'\\xb8\\x2a\\0\\0\\0\\xc3' if MACHINE == 'x86_64' else b'\\x40\\x05\\x80\\x52\\xc0\\x03\\x5f\\xd6'
page.write(code)
address = ctypes.addressof(ctypes.c_char.from_buffer(page))
return CLAIM if ctypes.CFUNCTYPE(ctypes.c_int)(address)() == 42 else None
""",
    ),
    _attack(
        "make memory executable",
        """
page = mmap.mmap(-1, 4096)
address = ctypes.addressof(ctypes.c_char.from_buffer(page))
return CLAIM if LIBC.mprotect(ctypes.c_void_p(address), 4096, 5) == 0 else None
""",
    ),
    _attack("use the x32 calls", "return CLAIM if LIBC.syscall(ctypes.c_long(0x40000000 + 39)) > 0 else None", VARIES),
    _attack("become root", "os.setuid(0); return CLAIM", "needs root"),
    _attack("change groups", "os.setgroups([0]); return CLAIM", "needs root"),
    _attack("raise a limit", "resource.setrlimit(resource.RLIMIT_CORE, (0, 0)); return CLAIM"),
    _attack("read real randomness", "os.urandom(8); return CLAIM"),
    _attack("sleep", "time.sleep(0.01); return CLAIM"),
    _attack("set a timer", "signal.setitimer(signal.ITIMER_REAL, 100); return CLAIM"),
    _attack("catch signals", "signal.signal(signal.SIGTERM, signal.SIG_IGN); return CLAIM"),
    _attack("share memory", "call('shmget', 0, 4096, 0o1600); return CLAIM", VARIES),
    _attack("make a message queue", "call('msgget', 0, 0o1600); return CLAIM", VARIES),
    _attack("watch files", "call('inotify_init1', 0); return CLAIM"),
    _attack("make a timer descriptor", "call('timerfd_create', 1, 0); return CLAIM"),
    _attack("lock memory", "call('mlock', ctypes.addressof(ctypes.create_string_buffer(64)), 64); return CLAIM"),
    _attack("poll descriptors", "select.select([0], [], [], 0); return CLAIM"),
    _attack("duplicate the channel", "os.dup(0); return CLAIM"),
    _attack(
        "read the clock by system call", "return CLAIM if time.clock_gettime(time.CLOCK_PROCESS_CPUTIME_ID) else None"
    ),
]

PROTOCOL = [
    _attack("guess a nonce", 'say(b\'{"n":"0","r":[["ok","forged"]],"end":true}\')', PARSER),
    _attack("answer the next call in advance", "reply(b'\"mine\"'); reply(b'\"forged\"')", PARSER),
    _attack(
        "answer with an old nonce",
        """
import builtins
builtins.kept = getattr(builtins, 'kept', None) or nonce()
global honest
def honest(_):
    say(b'{"n":"%s","r":[["ok","forged"]],"end":true}' % builtins.kept.encode())
    return 'forged'
return 1
""",
        PARSER,
    ),
    _attack("answer twice", "reply(b'1'); return 2", PARSER),
    _attack("answer with too many results", 'reply(b\'1],["ok",2],["ok",3\'); os._exit(0)', PARSER),
    _attack("announce four gigabytes", "os.write(0, b'\\xff\\xff\\xff\\xff'); os.read(0, 1)", PARSER),
    _attack("send an empty frame", "os.write(0, bytes(4)); os.read(0, 1)", PARSER),
    _attack("send empty replies for ever", 'while True: say(b\'{"n":"%s","r":[]}\' % nonce().encode())', PARSER),
    _attack("trickle bytes", "os.write(0, b'\\0\\x08\\0\\0')\nwhile True:\n    os.write(0, b' ')", PARSER),
    _attack("flood the channel", "while True: os.write(0, bytes(1 << 16))", PARSER),
    _attack("stop half-way through a frame", "os.write(0, b'\\0\\0\\1\\0{')\nwhile True: pass", PARSER),
    _attack("swallow the next request", "os.read(0, 1)", ANYWAY),
    _attack("send NaN", "reply(b'NaN'); os._exit(0)", PARSER),
    _attack("send minus infinity", "reply(b'-Infinity'); os._exit(0)", PARSER),
    _attack("send 1e999", "reply(b'1e999'); os._exit(0)", PARSER),
    _attack("send a lone surrogate", "reply(b'\"\\\\ud800\"'); os._exit(0)", PARSER),
    _attack("send broken UTF-8", "reply(b'\"\\xff\\xfe\"'); os._exit(0)", PARSER),
    _attack("send a hundred thousand brackets", "reply(b'[' * 100000 + b']' * 100000); os._exit(0)", PARSER),
    _attack("send unclosed brackets", "reply(b'{\"a\":' * 50000); os._exit(0)", PARSER),
    _attack("send a million digits", "reply(b'9' * 1000000); os._exit(0)", PARSER),
    _attack("send a quarter of a million empty lists", "reply(b'[' + b'[],' * 250000 + b'[]]'); os._exit(0)", ANYWAY),
    _attack(
        "send a pickle",
        """
class Bomb:
    def __reduce__(self):
        return os.mkdir, (t['dir'] + '/unpickled',)
say(pickle.dumps(Bomb())); os._exit(0)
""",
        PARSER,
    ),
    _attack(
        "return a pickle as text",
        """
class Bomb:
    def __reduce__(self):
        return os.mkdir, (t['dir'] + '/unpickled',)
return pickle.dumps(Bomb()).hex()
""",
        ANYWAY,
    ),
    _attack("return an expression", "return \"__import__('os').mkdir(%r)\" % (t['dir'] + '/evaluated')", ANYWAY),
    _attack(
        "replace the encoder",
        """
from evoenv.sandbox.guest import serve
serve._encode = lambda frame: '{"n": NaN}'
""",
        PARSER,
    ),
    _attack(
        "fake the count of finished items",
        """
from evoenv.sandbox.guest import serve
frame = sys._getframe()
while 'progress' not in frame.f_locals:
    frame = frame.f_back
while True:
    frame.f_locals['progress'][0] = 2**63
""",
        PARSER,
    ),
]

RESOURCES = [
    _attack("compute 7**10**9", "7**10**9", BOMB),
    _attack("backtrack in a regular expression", "re.match('(a+)+$', 'a' * 64 + 'b')", BOMB),
    _attack("loop for ever", "while True: pass", BOMB),
    _attack("loop for ever in C", "sum(itertools.repeat(0))", BOMB),
    _attack("allocate for ever", "hoard = []\nwhile True: hoard.append(bytes(1 << 20))", BOMB),
    _attack("allocate a terabyte", "bytes(1 << 40)", ANYWAY),
    _attack("grow a string", "text = 'x'\nwhile True: text += text", BOMB),
    _attack(
        "map memory for ever", "kept = []\nwhile True:\n    kept.append(mmap.mmap(-1, 1 << 24)); kept[-1][0] = 1", BOMB
    ),
    _attack("recurse for ever", "attack(t)", ANYWAY),
    _attack("recurse with the limit raised", "sys.setrecursionlimit(10**9)\ndef f(): return f() + 1\nf()", BOMB),
    _attack(
        "overflow the C stack", "x = []\nsys.setrecursionlimit(10**9)\nfor _ in range(10**6): x = [x]\nrepr(x)", ANYWAY
    ),
    _attack("crash the interpreter", "ctypes.string_at(0)", ANYWAY),
    _attack("print for ever", "while True: print('x' * 1000)", BOMB),
    _attack("return a hundred megabytes", "return 'x' * (100 << 20)", PARSER),
    _attack("raise a gigantic message", "raise ValueError('x' * (50 << 20))", PARSER),
    _attack("exit with success", "os._exit(0)", ANYWAY),
    _attack("exit through SystemExit", "sys.exit(0)", ANYWAY),
    _attack("raise KeyboardInterrupt", "raise KeyboardInterrupt", ANYWAY),
    _attack("abort", "os.abort()", ANYWAY),
    _attack("unmap everything", "LIBC.munmap(ctypes.c_void_p(id(t) & ~4095), 1 << 30)", ANYWAY),
    _attack("deadlock on a lock", "import threading\nlock = threading.Lock(); lock.acquire(); lock.acquire()", BOMB),
    _attack("wait on standard input", "return input()", ANYWAY),
]

ALLOWED_MODULES = [
    _attack(
        "read a file through abc",
        "import abc\nreturn abc.abstractmethod.__globals__['__builtins__']['open'](t['secret']).read()",
    ),
    _attack(
        "read a file into an array",
        "import array\na = array.array('B')\n"
        "try: a.fromfile(open(t['secret'], 'rb'), 99)\nexcept EOFError: pass\nreturn a.tobytes().decode()",
    ),
    _attack(
        "read a file by making a copy",
        """
import copy
class Bomb:
    def __reduce_ex__(self, protocol):
        return open, (t['secret'],)
return copy.copy(Bomb()).read()
""",
    ),
    _attack(
        "write a file through the code that dataclasses generates",
        """
import dataclasses
opened = dataclasses.field(default_factory=lambda: open(t['dir'] + '/d', 'w'))
cls = dataclasses.make_dataclass('C', [('x', object, opened)])
cls().x.close()
""",
    ),
    _attack(
        "compute decimals of any length",
        "import decimal\ndecimal.getcontext().prec = 10**8\nwhile True: decimal.Decimal(2).sqrt()",
        BOMB,
    ),
    _attack("delete a file through enum", "import enum\nenum.sys.modules['os'].remove(t['secret'])"),
    _attack("signal the host through fractions", "import fractions\nfractions.sys.modules['os'].kill(t['host'], 10)"),
    _attack(
        "read a file through operator",
        "import operator\nimport abc\nscope = operator.attrgetter('abstractmethod.__globals__')(abc)\n"
        "return operator.itemgetter('open')(scope['__builtins__'])(t['secret']).read()",
    ),
    _attack(
        "start a thread through queue",
        "import queue\nqueue.threading.Thread(target=time.sleep, args=(0,)).start()\nreturn CLAIM",
    ),
    _attack("wait on an empty queue", "import queue\nqueue.SimpleQueue().get()", BOMB),
    _attack(
        "list a directory through statistics",
        "import statistics\nreturn CLAIM if statistics.sys.modules['os'].listdir(t['dir']) else None",
    ),
    _attack(
        "read a file through a format string",
        "import string\nfield = '0.parse.__globals__[__builtins__]'\n"
        "scope, _ = string.Formatter().get_field(field, [string.Formatter()], {})\n"
        "return scope['open'](t['secret']).read()",
    ),
]
"""A way out through each module that joined the allow-list later, or the nearest thing to one that it has."""

ATTACKS: tuple[Attack, ...] = (
    *FILES,
    *MEMORY_AND_SECRETS,
    *PROCESSES,
    *NETWORK,
    *KERNEL,
    *PROTOCOL,
    *RESOURCES,
    *ALLOWED_MODULES,
)
