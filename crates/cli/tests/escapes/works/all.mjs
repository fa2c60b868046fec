// What programs in Node do, each part followed by a word.
import { execFileSync, fork, spawn } from "node:child_process";
import cluster from "node:cluster";
import { once } from "node:events";
import fs from "node:fs";
import http from "node:http";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { Worker, isMainThread, parentPort } from "node:worker_threads";

const self = fileURLToPath(import.meta.url);

async function main() {
  fs.writeFileSync("file", "fs");
  console.log(fs.readFileSync("file", "utf8"));
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "x"));
  fs.writeFileSync(path.join(folder, "file"), "temporary");
  console.log(fs.readFileSync(path.join(folder, "file"), "utf8"));
  console.log(execFileSync("echo", ["child"]).toString().trim());
  const child = spawn("cat", { stdio: ["pipe", "pipe", "inherit"] });
  child.stdin.end("piped");
  console.log((await once(child.stdout, "data")).toString());
  const forked = fork(self, ["forked"]);
  console.log((await once(forked, "message"))[0]);
  await once(forked, "exit");
  const worker = new Worker(self);
  console.log((await once(worker, "message"))[0]);
  const server = http.createServer((_, response) => response.end("http")).listen(0, "localhost");
  await once(server, "listening");
  console.log(await (await fetch(`http://localhost:${server.address().port}`)).text());
  server.close();
  const unix = net.createServer((stream) => stream.end("unix socket")).listen("socket");
  await once(unix, "listening");
  console.log((await once(net.connect("socket"), "data")).toString());
  unix.close();
  const watcher = fs.watch(".");
  fs.writeFileSync("watched", "x");
  await once(watcher, "change");
  watcher.close();
  console.log("watched");
  cluster.setupPrimary({ exec: self, args: ["clustered"] });
  const [one] = [cluster.fork(), cluster.fork()];
  const [address] = await once(one, "listening");
  console.log(await (await fetch(`http://127.0.0.1:${address.port}`)).text());
  await new Promise((done) => cluster.disconnect(done));
  console.log("interfaces", "lo" in os.networkInterfaces());
  console.log("processors", os.cpus().length > 0, os.totalmem() > 0);
}

if (!isMainThread) {
  parentPort.postMessage("worker");
} else if (process.argv[2] === "forked") {
  process.send("forked", () => process.disconnect());
} else if (cluster.isWorker) {
  http.createServer((_, response) => response.end("cluster")).listen(0, "127.0.0.1");
} else {
  await main();
}
