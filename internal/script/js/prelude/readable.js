// ReadableStream: what the Streams Standard says about the default kind, which
// is what bodies and pipes need. Byte streams are read as the default kind.

const settled = (promise) => void promise.catch(() => {}); // a rejection that may never get a handler

export class ReadableStream {
  #queue = [];
  #size = 0;
  #state = "readable";
  #error;
  #reader = null;
  #reads = []; // promises of reads that wait for a chunk
  #pulling = false;
  #again = false;
  #closing = false;
  #source;
  #highWaterMark;
  #measure;
  #controller;
  #disturbed = false;
  #started;

  constructor(source = {}, { highWaterMark = 1, size = () => 1 } = {}) {
    this.#source = source ?? {};
    this.#highWaterMark = source?.type === "bytes" && highWaterMark === 1 ? 0 : Number(highWaterMark);
    this.#measure = size;
    const stream = this;
    this.#controller = {
      get desiredSize() {
        return stream.#state === "errored"
          ? null
          : stream.#state === "closed"
            ? 0
            : stream.#highWaterMark - stream.#size;
      },
      byobRequest: null,
      enqueue: (chunk) => stream.#enqueue(chunk),
      close: () => stream.#close(),
      error: (reason) => stream.#fail(reason),
    };
    const begun = this.#source.start?.(this.#controller);
    this.#started = Promise.resolve(begun).then(
      () => {
        this.#started = null;
        this.#pull();
      },
      (error) => this.#fail(error),
    );
  }

  static from(items) {
    const iterator = items[Symbol.asyncIterator]?.() ?? items[Symbol.iterator]();
    return new ReadableStream(
      {
        async pull(controller) {
          const { done, value } = await iterator.next();
          if (done) controller.close();
          else controller.enqueue(await value);
        },
        async cancel(reason) {
          await iterator.return?.(reason);
        },
      },
      { highWaterMark: 0 },
    );
  }

  get locked() {
    return this.#reader !== null;
  }

  #enqueue(chunk) {
    if (this.#closing || this.#state !== "readable")
      throw new TypeError("The stream is closed and takes no more chunks");
    if (this.#reads.length) {
      this.#reads.shift().resolve({ value: chunk, done: false });
    } else {
      const size = Number(this.#measure(chunk));
      this.#queue.push({ chunk, size });
      this.#size += size;
    }
    this.#pull();
  }

  #close() {
    if (this.#closing || this.#state !== "readable") throw new TypeError("The stream is closed already");
    this.#closing = true;
    if (!this.#queue.length) this.#finish();
  }

  #finish() {
    this.#state = "closed";
    this.#source = {};
    for (const read of this.#reads.splice(0)) read.resolve({ value: undefined, done: true });
    this.#reader?.ended.resolve();
  }

  #fail(reason) {
    if (this.#state !== "readable") return;
    this.#state = "errored";
    this.#error = reason;
    this.#queue = [];
    this.#size = 0;
    this.#source = {};
    for (const read of this.#reads.splice(0)) read.reject(reason);
    this.#reader?.ended.reject(reason);
  }

  #pull() {
    const wanted = this.#reads.length > 0 || this.#size < this.#highWaterMark;
    if (this.#started || this.#closing || this.#state !== "readable" || !wanted) return;
    if (this.#pulling) {
      this.#again = true;
      return;
    }
    if (!this.#source.pull) return;
    this.#pulling = true;
    Promise.resolve()
      .then(() => this.#source.pull?.(this.#controller))
      .then(
        () => {
          this.#pulling = false;
          if (this.#again) {
            this.#again = false;
            this.#pull();
          }
        },
        (error) => this.#fail(error),
      );
  }

  #read() {
    this.#disturbed = true;
    if (this.#queue.length) {
      const { chunk, size } = this.#queue.shift();
      this.#size -= size;
      if (this.#closing && !this.#queue.length) this.#finish();
      else this.#pull();
      return Promise.resolve({ value: chunk, done: false });
    }
    if (this.#state === "closed") return Promise.resolve({ value: undefined, done: true });
    if (this.#state === "errored") return Promise.reject(this.#error);
    const read = Promise.withResolvers();
    this.#reads.push(read);
    this.#pull();
    return read.promise;
  }

  async #cancel(reason) {
    this.#disturbed = true;
    if (this.#state === "closed") return;
    if (this.#state === "errored") throw this.#error;
    const source = this.#source;
    this.#queue = [];
    this.#size = 0;
    this.#finish();
    await source.cancel?.(reason);
  }

  cancel(reason) {
    if (this.locked) return Promise.reject(new TypeError("The stream is locked: cancel it through its reader"));
    return this.#cancel(reason);
  }

  getReader({ mode } = {}) {
    if (mode !== undefined)
      throw new TypeError('getReader({ mode: "byob" }) is not available in this runtime: use getReader()');
    return new ReadableStreamDefaultReader(this);
  }

  static lock(stream) {
    if (stream.locked) throw new TypeError("The stream is locked to a reader already");
    const ended = Promise.withResolvers();
    settled(ended.promise);
    if (stream.#state === "closed") ended.resolve();
    if (stream.#state === "errored") ended.reject(stream.#error);
    stream.#reader = {
      ended,
      read: () => stream.#read(),
      cancel: (reason) => stream.#cancel(reason),
      release() {
        const reason = new TypeError("The reader has been released");
        for (const read of stream.#reads.splice(0)) read.reject(reason);
        stream.#reader = null;
        ended.reject(reason);
      },
    };
    return stream.#reader;
  }

  tee() {
    const reader = this.getReader();
    const branches = [];
    const cancelled = [];
    const over = Promise.withResolvers();
    let reading = false;
    let more = false;
    const pull = async () => {
      if (reading) {
        more = true;
        return;
      }
      reading = true;
      do {
        more = false;
        try {
          const { done, value } = await reader.read();
          for (const [i, branch] of branches.entries()) {
            if (i in cancelled) continue;
            if (done) branch.close();
            else branch.enqueue(value);
          }
          if (done) over.resolve();
        } catch (error) {
          for (const branch of branches) branch.error(error);
          over.resolve();
        }
      } while (more);
      reading = false;
    };
    const make = (i) =>
      new ReadableStream(
        {
          start: (controller) => void branches.push(controller),
          pull,
          cancel: (reason) => {
            cancelled[i] = reason;
            if (0 in cancelled && 1 in cancelled) over.resolve(reader.cancel(cancelled));
            return over.promise;
          },
        },
        { highWaterMark: 0 },
      );
    return [make(0), make(1)];
  }

  async pipeTo(target, { preventClose = false, preventAbort = false, preventCancel = false, signal } = {}) {
    const reader = this.getReader();
    const writer = target.getWriter();
    const stop = signal && Promise.withResolvers();
    const abort = () => stop.reject(signal.reason);
    if (stop) {
      settled(stop.promise);
      if (signal.aborted) abort();
      else signal.addEventListener("abort", abort);
    }
    const unless = (promise) => (stop ? Promise.race([promise, stop.promise]) : promise);
    try {
      for (;;) {
        await unless(writer.ready);
        const { done, value } = await unless(reader.read().catch((error) => Promise.reject({ from: "source", error })));
        if (done) break;
        await unless(writer.write(value));
      }
      if (!preventClose) await writer.close();
    } catch (failure) {
      const inSource = failure?.from === "source";
      const error = inSource ? failure.error : failure;
      if (!preventAbort && (inSource || signal?.aborted)) await writer.abort(error).catch(() => {});
      if (!preventCancel && !inSource) await reader.cancel(error).catch(() => {});
      throw error;
    } finally {
      signal?.removeEventListener("abort", abort);
      reader.releaseLock();
      writer.releaseLock();
    }
  }

  pipeThrough({ writable, readable }, options) {
    settled(this.pipeTo(writable, options));
    return readable;
  }

  async *values({ preventCancel = false } = {}) {
    const reader = this.getReader();
    let over = false;
    try {
      for (;;) {
        const { done, value } = await reader.read().catch((error) => {
          over = true;
          throw error;
        });
        if (done) {
          over = true;
          return;
        }
        yield value;
      }
    } finally {
      if (!over && !preventCancel) await reader.cancel();
      reader.releaseLock();
    }
  }
  [Symbol.asyncIterator](options) {
    return this.values(options);
  }

  static disturbed = (stream) => stream.#disturbed;
  get [Symbol.toStringTag]() {
    return "ReadableStream";
  }
}

// The reader below and a body look inside; programs cannot.
const { lock, disturbed } = ReadableStream;
delete ReadableStream.lock;
delete ReadableStream.disturbed;
export { disturbed };

const released = () => Promise.reject(new TypeError("The reader has been released"));

export class ReadableStreamDefaultReader {
  #access;
  #ended;
  constructor(stream) {
    this.#access = lock(stream);
    this.#ended = this.#access.ended.promise;
  }
  get closed() {
    return this.#ended;
  }
  read() {
    return this.#access?.read() ?? released();
  }
  cancel(reason) {
    return this.#access?.cancel(reason) ?? released();
  }
  releaseLock() {
    this.#access?.release();
    this.#access = null;
  }
}
