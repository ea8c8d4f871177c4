const { absent } = require("../prelude/absent.js");

module.exports = absent(
  "node:zlib",
  "fetch decodes compressed bodies by itself",
  "crc32 Deflate Inflate Gzip Gunzip DeflateRaw InflateRaw Unzip BrotliCompress BrotliDecompress deflate deflateSync gzip gzipSync deflateRaw deflateRawSync unzip unzipSync inflate inflateSync gunzip gunzipSync inflateRaw inflateRawSync brotliCompress brotliCompressSync brotliDecompress brotliDecompressSync createDeflate createInflate createDeflateRaw createInflateRaw createGzip createGunzip createUnzip createBrotliCompress createBrotliDecompress constants codes",
  { constants: {}, codes: {} },
);
