"""Takes TLS on a port of loopback and passes what comes on to another: tls.py CERTIFICATE KEY TO. Prints its port."""

import socket
import ssl
import sys
import threading

certificate, key, to = sys.argv[1:4]
host, port = to.rsplit(":", 1)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(certificate, key)


def pass_on(source, sink):
    try:
        while piece := source.recv(65536):
            sink.sendall(piece)
    except OSError:
        pass
    for end in (source, sink):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def serve(raw):
    try:
        taken = context.wrap_socket(raw, server_side=True)
        onward = socket.create_connection((host, int(port)))
    except OSError:
        raw.close()
        return
    threading.Thread(target=pass_on, args=(onward, taken), daemon=True).start()
    pass_on(taken, onward)


listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
