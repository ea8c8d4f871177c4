const { absent } = require("../prelude/absent.js");

module.exports = absent(
  "node:v8",
  "this runtime is not V8; copy values with structuredClone",
  "cachedDataVersionTag getHeapSnapshot getHeapStatistics getHeapSpaceStatistics getHeapCodeStatistics setFlagsFromString Serializer Deserializer DefaultSerializer DefaultDeserializer deserialize takeCoverage stopCoverage serialize writeHeapSnapshot promiseHooks queryObjects startupSnapshot setHeapSnapshotNearHeapLimit GCProfiler",
  {
    /** Of the server, for all applications together; the limit is that of Node.js. */
    getHeapStatistics() {
      const { heapTotal, heapUsed } = process.memoryUsage();
      const limit = 4345298944;
      return {
        total_heap_size: heapTotal,
        total_heap_size_executable: 0,
        total_physical_size: heapTotal,
        total_available_size: Math.max(limit - heapUsed, 0),
        used_heap_size: heapUsed,
        heap_size_limit: limit,
        malloced_memory: 0,
        peak_malloced_memory: 0,
        does_zap_garbage: 0,
        number_of_native_contexts: 1,
        number_of_detached_contexts: 0,
        total_global_handles_size: 0,
        used_global_handles_size: 0,
        external_memory: 0,
      };
    },
    getHeapSpaceStatistics: () => [],
    setFlagsFromString() {},
    cachedDataVersionTag: () => 0,
  },
);
