const { absent } = require("../prelude/absent.js");
const { connectArguments } = require("../prelude/socket.js");
const { createSecureContext, TLSSocket } = require("../prelude/socket-tls.js");
const { isIP } = require("./net.cjs");

function connect(...args) {
  const [options, callback] = connectArguments(args);
  const socket = new TLSSocket(options.socket, options);
  if (socket._handle) throw new Error("TLS over a stream that is not a net.Socket is not available in this runtime");
  if (!options.socket) return socket.connect(options, callback);
  if (callback) socket.once("secureConnect", callback);
  return socket;
}

function matches(pattern, host) {
  const want = pattern.toLowerCase().split(".");
  const have = host.split(".");
  if (want.length !== have.length) return false;
  return want.every((part, i) => part === have[i] || (i === 0 && part === "*" && want.length > 2));
}

/** The error if a certificate is not for a host, as in Node.js. */
function checkServerIdentity(hostname, cert) {
  const host = String(hostname).toLowerCase().replace(/\.$/, "");
  const names = cert.subjectaltname?.split(", ") ?? [];
  const dns = names.filter((n) => n.startsWith("DNS:")).map((n) => n.slice(4));
  const ips = names.filter((n) => n.startsWith("IP Address:")).map((n) => n.slice(11));
  let reason;
  if (isIP(host)) {
    if (!ips.includes(host)) reason = `IP: ${host} is not in the cert's list: ${ips.join(", ")}`;
  } else if (dns.length > 0) {
    if (!dns.some((n) => matches(n, host))) reason = `Host: ${host}. is not in the cert's altnames: ${cert.subjectaltname}`;
  } else if (!cert.subject?.CN) {
    reason = "Cert does not contain a DNS name";
  } else if (!matches(cert.subject.CN, host)) {
    reason = `Host: ${host}. is not cert's CN: ${cert.subject.CN}`;
  }
  if (!reason) return undefined;
  const error = new Error(`Hostname/IP does not match certificate's altnames: ${reason}`);
  return Object.assign(error, { code: "ERR_TLS_CERT_ALTNAME_INVALID", reason, host, cert });
}

module.exports = absent(
  "node:tls",
  "agents open sockets to others, and take no connections",
  "convertALPNProtocols Server createServer createSecurePair",
  {
    TLSSocket,
    connect,
    checkServerIdentity,
    createSecureContext,
    SecureContext: Object,
    DEFAULT_MIN_VERSION: "TLSv1.2",
    DEFAULT_MAX_VERSION: "TLSv1.3",
    DEFAULT_ECDH_CURVE: "auto",
    DEFAULT_CIPHERS: "TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256",
    getCiphers: () => ["tls_aes_256_gcm_sha384", "tls_chacha20_poly1305_sha256", "tls_aes_128_gcm_sha256"],
    rootCertificates: [],
  },
);
