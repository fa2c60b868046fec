// Stands before a stand-in for the server: gives out crates/server/ui under /ui/ as the server does, and passes everything else on.
import { readFile } from "node:fs/promises";
import { createServer, request as ask, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";

const FILES = fileURLToPath(new URL("../../crates/server/ui/", import.meta.url));
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; font-src 'self'; connect-src 'self'; " +
  "frame-src blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const TYPES: Record<string, string> = {
  ".css": "text/css",
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".svg": "image/svg+xml",
};

export interface Front {
  address: string;
  /** The server behind it; it may change, as where that was killed and started again. */
  server: string;
  close(): Promise<void>;
}

/** A file of the pages, as the server gives it out. */
export async function pageFile(path: string): Promise<{ status: number; headers: Record<string, string>; body: Buffer }> {
  const name = normalize(path.slice("/ui/".length));
  const isAsset = name !== "." && !name.startsWith("..") && extname(name) !== "";
  const wanted = isAsset ? name : "index.html";
  const body = await readFile(join(FILES, wanted)).catch(() => null);
  return {
    status: body === null ? 404 : 200,
    headers: {
      "content-type": TYPES[extname(wanted)] ?? "application/octet-stream",
      "content-security-policy": POLICY,
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
      "cache-control": wanted === "index.html" ? "no-cache" : "public, max-age=31536000, immutable",
    },
    body: body ?? Buffer.alloc(0),
  };
}

async function file(path: string, response: ServerResponse): Promise<void> {
  const { status, headers, body } = await pageFile(path);
  response.writeHead(status, headers);
  response.end(body);
}

function pass(request: IncomingMessage, response: ServerResponse, server: string): void {
  const { host, hostname, port } = new URL(server);
  const headers = { ...request.headers, host };
  if (headers.origin !== undefined) headers.origin = server;
  const onward = ask({ hostname, port, path: request.url, method: request.method, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.on("error", () => response.destroy());
    answer.pipe(response);
  });
  onward.on("error", () => response.destroy());
  response.on("close", () => onward.destroy());
  request.pipe(onward);
}

export async function front(server: string, port = 0): Promise<Front> {
  const http: Server = createServer((request, response) => {
    const path = new URL(request.url ?? "/", "http://front").pathname;
    if (path.startsWith("/ui/") && request.method === "GET") void file(path, response);
    else pass(request, response, it.server);
  });
  await new Promise<void>((resolve) => http.listen(port, "127.0.0.1", resolve));
  const it: Front = {
    address: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    server,
    close: () =>
      new Promise((resolve) => {
        http.close(() => resolve());
        http.closeAllConnections();
      }),
  };
  return it;
}

