const { absent } = require("../prelude/absent.js");

module.exports = absent(
  "node:v8",
  "this runtime is not V8; copy values with structuredClone",
  "cachedDataVersionTag getHeapSnapshot getHeapStatistics getHeapSpaceStatistics getHeapCodeStatistics setFlagsFromString Serializer Deserializer DefaultSerializer DefaultDeserializer deserialize takeCoverage stopCoverage serialize writeHeapSnapshot promiseHooks queryObjects startupSnapshot setHeapSnapshotNearHeapLimit GCProfiler",
);
