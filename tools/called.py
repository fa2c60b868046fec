"""Which functions of a program are called, in the order of their first calls: it is run with a breakpoint on each of them.

Linux on x86-64 alone. Nothing but the standard library.
"""

import ctypes
import os
import signal
import struct

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long

TRACEME, CONT, GETREGS, SETREGS, DETACH, SETOPTIONS = 0, 7, 12, 13, 17, 0x4200
# New threads and processes are followed; programs that are begun are seen; all of them end with the tracer.
FORK, VFORK, CLONE, EXEC, EXITKILL = 1 << 1, 1 << 2, 1 << 3, 1 << 4, 1 << 20
EVENT_EXEC = 4
# Where `rip` is among the registers of `user_regs_struct`, and how many there are.
RIP, REGISTERS = 16, 27
WALL = 0x40000000


def ptrace(what, pid, address=None, data=None):
    ctypes.set_errno(0)
    if libc.ptrace(what, pid, address, data) == -1 and ctypes.get_errno():
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


class Program:
    """The functions of an ELF file, and the bytes that they begin with."""

    def __init__(self, path):
        self.path = os.path.realpath(path)
        with open(path, "rb") as file:
            data = file.read()
        if data[:6] != b"\x7fELF\x02\x01" or struct.unpack_from("<H", data, 18)[0] != 62:
            raise ValueError(f"{path} is no program for x86-64")
        sections_at, size, count = struct.unpack_from("<Q", data, 40)[0], *struct.unpack_from("<HH", data, 58)
        sections = [struct.unpack_from("<IIQQQQIIQQ", data, sections_at + n * size) for n in range(count)]
        segments_at, size, count = struct.unpack_from("<Q", data, 32)[0], *struct.unpack_from("<HH", data, 54)
        segments = [struct.unpack_from("<IIQQQQQQ", data, segments_at + n * size) for n in range(count)]
        # Those that are loaded and run: address, offset in the file, length there.
        self.code = [(at, offset, length) for kind, flags, offset, at, _, length, _, _ in segments if kind == 1 and flags & 1]
        self.names, self.first = {}, {}
        for _, kind, _, _, offset, length, link, _, _, entry in sections:
            if kind != 2:
                continue
            strings = sections[link][4]
            for at in range(offset, offset + length, entry):
                name, info, _, section, address, long = struct.unpack_from("<IBBHQQ", data, at)
                place = self.place(address)
                if info & 15 != 2 or not section or not long or place is None:
                    continue
                end = data.index(b"\0", strings + name)
                self.names.setdefault(address, []).append(data[strings + name : end].decode())
                self.first[address] = data[place]

    def place(self, address):
        for at, offset, length in self.code:
            if at <= address < at + length:
                return address - at + offset
        return None


class Tracer:
    def __init__(self, program):
        self.program, self.seen, self.bases = program, {}, {}

    def base(self, pid):
        """Where the program lies in a process; None: another program runs there."""
        if os.path.realpath(f"/proc/{pid}/exe") != self.program.path:
            return None
        with open(f"/proc/{pid}/maps") as maps:
            for line in maps:
                parts = line.split()
                if len(parts) > 5 and os.path.realpath(parts[5]) == self.program.path and parts[2] == "00000000":
                    return int(parts[0].split("-")[0], 16)
        return None

    def prepare(self, pid):
        base = self.base(pid)
        if base is None:
            return False
        with open(f"/proc/{pid}/mem", "r+b", buffering=0) as memory:
            for address in self.program.names:
                if address not in self.seen:
                    memory.seek(base + address)
                    memory.write(b"\xcc")
        self.bases[pid] = base
        return True

    def called(self, pid):
        """Whether it stands at a breakpoint; then it goes on from there."""
        registers = (ctypes.c_ulonglong * REGISTERS)()
        ptrace(GETREGS, pid, None, ctypes.addressof(registers))
        for base in set(self.bases.values()):
            address = registers[RIP] - 1 - base
            if address in self.program.names:
                self.seen.setdefault(address, len(self.seen))
                with open(f"/proc/{pid}/mem", "r+b", buffering=0) as memory:
                    memory.seek(base + address)
                    memory.write(bytes([self.program.first[address]]))
                registers[RIP] -= 1
                ptrace(SETREGS, pid, None, ctypes.addressof(registers))
                return True
        return False

    def run(self, arguments, folder, output=None, begun=lambda pid: None):
        """Runs it to its end and gives its exit code. `arguments` are all its words; `begun` is told its process id."""
        pid = os.fork()
        if pid == 0:
            try:
                os.chdir(folder)
                nothing = os.open(os.devnull, os.O_RDWR)
                for number, to in enumerate((nothing, nothing if output is None else output, nothing)):
                    os.dup2(to, number)
                ptrace(TRACEME, 0)
                os.execv(self.program.path, arguments)
            finally:
                os._exit(127)
        if output is not None:
            os.close(output)
        os.waitpid(pid, 0)
        ptrace(SETOPTIONS, pid, None, FORK | VFORK | CLONE | EXEC | EXITKILL)
        if not self.prepare(pid):
            raise OSError(f"{self.program.path} does not start")
        ptrace(CONT, pid)
        begun(pid)
        code = None
        while True:
            try:
                at, status = os.waitpid(-1, WALL)
            except ChildProcessError:
                return code
            if os.WIFEXITED(status) or os.WIFSIGNALED(status):
                if at == pid:
                    code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status)
                continue
            try:
                self.stopped(at, status)
            except ProcessLookupError:
                pass

    def stopped(self, pid, status):
        given, event = os.WSTOPSIG(status), status >> 16
        if event == EVENT_EXEC and not self.prepare(pid):
            ptrace(DETACH, pid)
            return
        if event or given == signal.SIGSTOP or given == signal.SIGTRAP and self.called(pid):
            given = 0
        ptrace(CONT, pid, None, given)

