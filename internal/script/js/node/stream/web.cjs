module.exports = {
  ReadableStream,
  ReadableStreamDefaultReader,
  WritableStream,
  TransformStream,
  TextDecoderStream,
  TextEncoderStream,
  CountQueuingStrategy,
  ByteLengthQueuingStrategy,
  CompressionStream,
  DecompressionStream,
};
