// A WebSocket server that sends everything back. It ends with its input.
import { WebSocketServer } from "ws";

const server = new WebSocketServer({ host: "127.0.0.1", port: 0 });
server.on("connection", (socket) => socket.on("message", (data, binary) => socket.send(data, { binary })));
server.on("listening", () => console.log(`ws://127.0.0.1:${server.address().port}`));
process.stdin.on("end", () => process.exit(0)).resume();
