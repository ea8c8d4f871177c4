const { absent } = require("../prelude/absent.js");
const { connectArguments, Socket } = require("../prelude/socket.js");

/** The version of an address, or 0 if it is none. */
function isIP(text) {
  if (/^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?!$)|$)){4}$/.test(text)) return 4;
  return String(text).includes(":") && URL.canParse(`http://[${text}]/`) ? 6 : 0;
}

function connect(...args) {
  const [options] = connectArguments(args);
  return new Socket(options).connect(...args);
}

module.exports = absent(
  "node:net",
  "agents open sockets to others, and take no connections: requests to an agent come through the server",
  "BlockList SocketAddress createServer Server",
  {
    Socket,
    Stream: Socket,
    connect,
    createConnection: connect,
    isIP,
    isIPv4: (text) => isIP(text) === 4,
    isIPv6: (text) => isIP(text) === 6,
    getDefaultAutoSelectFamily: () => true,
    setDefaultAutoSelectFamily() {},
    getDefaultAutoSelectFamilyAttemptTimeout: () => 250,
    setDefaultAutoSelectFamilyAttemptTimeout() {},
  },
);
