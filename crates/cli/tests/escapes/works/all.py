"""What programs in Python do, each part followed by a word."""
import asyncio, multiprocessing, os, pathlib, pty, socket, sqlite3, subprocess, tempfile, threading, urllib.request
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, HTTPServer
from multiprocessing import shared_memory


def square(n):
    return n * n


async def loopback():
    async def serve(reader, writer):
        writer.write(await reader.readline())
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "localhost", 0)
    for family in server.sockets:
        host, port = family.getsockname()[:2]
        reader, writer = await asyncio.open_connection(host, port)
        writer.write(b"asyncio\n")
        line = await reader.readline()
        writer.close()
    server.close()
    process = await asyncio.create_subprocess_exec("echo", "child", stdout=asyncio.subprocess.PIPE)
    child, _ = await process.communicate()
    return line.decode().strip() + " " + child.decode().strip()


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"http")

    def log_message(self, *_):
        pass


def main():
    print(subprocess.run(["echo", "subprocess"], capture_output=True, text=True, check=True).stdout, end="")
    with multiprocessing.Pool(2) as pool:
        print("pool", pool.map(square, range(4)))
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        print("spawned", list(pool.map(square, range(4))))
    with ThreadPoolExecutor(2) as pool:
        print("threads", list(pool.map(square, range(4))))
    lock, queue = multiprocessing.Lock(), multiprocessing.Queue()
    with lock:
        queue.put("queue")
    print(queue.get())
    memory = shared_memory.SharedMemory(create=True, size=4096)
    memory.buf[0] = 7
    print("shared memory", memory.buf[0])
    memory.close()
    memory.unlink()
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as file:
        pathlib.Path(folder, "file").write_text("tempfile")
        file.write(b"x")
        print(pathlib.Path(folder, "file").read_text())
    database = sqlite3.connect("all.sqlite")
    database.execute("pragma journal_mode = wal")
    database.execute("create table words (word)")
    database.execute("insert into words values ('sqlite')")
    database.commit()
    print(database.execute("select word from words").fetchone()[0])
    print(asyncio.run(loopback()))
    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(urllib.request.urlopen(f"http://localhost:{server.server_port}").read().decode())
    server.shutdown()
    ours, theirs = socket.socketpair()
    ours.sendall(b"socketpair")
    print(theirs.recv(64).decode())
    listener = socket.socket(socket.AF_UNIX)
    listener.bind("socket")
    listener.listen()
    client = socket.socket(socket.AF_UNIX)
    client.connect("socket")
    listener.accept()[0].sendall(b"unix socket")
    print(client.recv(64).decode())
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind(("127.0.0.1", 0))
    udp.sendto(b"udp", udp.getsockname())
    print(udp.recv(64).decode())
    print("interfaces", any(name == "lo" for _, name in socket.if_nameindex()))
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvp("sh", ["sh", "-c", "test -t 0 && echo terminal"])
    print(os.read(terminal, 64).decode().strip())
    os.waitpid(pid, 0)
    print("processors", os.cpu_count() > 0, len(os.sched_getaffinity(0)) > 0)


if __name__ == "__main__":
    main()
