import WebSocket from "ws";
import { agent, sockets } from "./lib/agent.js";

const run = () =>
  new Promise((resolve, reject) => {
    const got = [];
    const socket = new WebSocket(sockets);
    socket.on("error", reject);
    socket.on("open", () => (socket.send("hello"), socket.send(Buffer.from([1, 2, 3]))));
    socket.on("message", (data, binary) => (got.push([binary, binary ? [...data] : `${data}`]), got.length === 2 && socket.close(1000, "bye")));
    socket.on("close", (code, reason) => resolve([got, code, `${reason}`]));
  });

export const rootAgent = agent(run);
