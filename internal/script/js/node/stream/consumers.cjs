const buffer = async (stream) => Buffer.concat((await Array.fromAsync(stream)).map((chunk) => Buffer.from(chunk)));
const text = async (stream) => (await buffer(stream)).toString();

module.exports = {
  buffer,
  text,
  json: async (stream) => JSON.parse(await text(stream)),
  arrayBuffer: async (stream) => new Uint8Array(await buffer(stream)).buffer,
  blob: async (stream) => new Blob([await buffer(stream)]),
};
