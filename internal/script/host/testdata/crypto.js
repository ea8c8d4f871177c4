// The body of a function that runs in this runtime and in Node.js. make returns
// what must be the same in both, and what the other one has to accept; check
// accepts it.
const text = "The quick brown fox jumps over the lazy dog, ";
const long = text.repeat(20);
const hex = (data) => Buffer.from(data).toString("hex");
const code = async (fn) => {
  try {
    await fn();
    return "none";
  } catch (e) {
    return [e.name, e.code].join();
  }
};
const message = async (fn) => {
  try {
    await fn();
    return "none";
  } catch (e) {
    return e.message;
  }
};
const { subtle } = globalThis.crypto;
const types = {
  rsa: ["rsa", { modulusLength: 2048 }],
  p256: ["ec", { namedCurve: "prime256v1" }],
  p384: ["ec", { namedCurve: "secp384r1" }],
  p521: ["ec", { namedCurve: "P-521" }],
  ed25519: ["ed25519", {}],
};

async function make() {
  const same = {};
  const other = [];
  for (const name of ["sha512-256", "sha3-256", "RSA-SHA256", "SHA1"])
    same[name] = crypto.createHash(name).update(text).digest("hex");

  // Ciphers, in pieces of all sizes, are deterministic.
  for (const mode of ["cbc", "ctr", "gcm", "ecb"]) {
    for (const size of [128, 192, 256]) {
      for (const [piece, ivSize] of [
        [7, 16],
        [16, 16],
        [33, 12],
        [1000, 1],
      ]) {
        const iv = mode === "ecb" ? null : Buffer.alloc(mode === "gcm" ? ivSize : 16, 2);
        const cipher = crypto.createCipheriv(`aes-${size}-${mode}`, Buffer.alloc(size / 8, 1), iv);
        if (mode === "gcm") cipher.setAAD(Buffer.from("aad"));
        const out = [];
        for (let i = 0; i < long.length; i += piece) out.push(cipher.update(long.slice(i, i + piece), "utf8"));
        out.push(cipher.final());
        const tag = mode === "gcm" ? cipher.getAuthTag() : null;
        const decipher = crypto.createDecipheriv(`aes-${size}-${mode}`, Buffer.alloc(size / 8, 1), iv);
        if (tag) decipher.setAAD(Buffer.from("aad")).setAuthTag(tag);
        const back = out.map((part) => decipher.update(part));
        back.push(decipher.final());
        const sum = crypto.createHash("md5").update(Buffer.concat(out)).digest("hex");
        const lengths = [out, back].map((list) => list.map((part) => part.length).join());
        same[`${mode} ${size} ${piece}`] = [lengths, sum, tag && hex(tag), Buffer.concat(back).toString() === long];
      }
    }
  }
  const wrap = crypto.createCipheriv("aes128-wrap", Buffer.alloc(16, 3), Buffer.alloc(8, 0xa6));
  same.wrap = wrap.update(Buffer.alloc(24, 4), null, "hex") + wrap.final("hex");
  const later = (name, ...args) =>
    new Promise((resolve, reject) => crypto[name](...args, (e, k) => (e ? reject(e) : resolve(hex(k)))));
  same.pbkdf2 = crypto.pbkdf2Sync("password", "salt", 1000, 40, "sha256").toString("hex");
  same.pbkdf2Later = await later("pbkdf2", "password", "salt", 10, 70, "sha512");
  same.scrypt = crypto.scryptSync("password", "salt", 32).toString("hex");
  same.scryptLater = await later("scrypt", "password", "salt", 16, { N: 1024, r: 4, p: 2 });
  same.hkdf = hex(crypto.hkdfSync("sha256", "key", "salt", "info", 42));
  same.hkdfLater = await later("hkdf", "sha512", "key", Buffer.alloc(0), "", 5);
  const salt = Buffer.from("salt");
  const bits = await subtle.importKey("raw", Buffer.from("password"), "PBKDF2", false, ["deriveBits", "deriveKey"]);
  const pbkdf2 = { name: "PBKDF2", hash: "SHA-256", salt, iterations: 10 };
  same.webPBKDF2 = hex(await subtle.deriveBits(pbkdf2, bits, 256));
  const derived = await subtle.deriveKey(pbkdf2, bits, { name: "AES-GCM", length: 256 }, true, ["encrypt"]);
  same.webDeriveKey = await subtle.exportKey("jwk", derived);
  const hk = await subtle.importKey("raw", Buffer.from("secret"), "HKDF", false, ["deriveBits"]);
  const hkdf = { name: "HKDF", hash: "SHA-384", salt: new Uint8Array(3), info: new Uint8Array(2) };
  same.webHKDF = hex(await subtle.deriveBits(hkdf, hk, 128));
  const hmac = { name: "HMAC", hash: "SHA-256" };
  const mac = await subtle.importKey("raw", Buffer.from("secret"), hmac, true, ["sign", "verify"]);
  same.webHMAC = hex(await subtle.sign("HMAC", mac, Buffer.from(text)));
  same.webHMACKey = [mac.type, mac.extractable, mac.usages, mac.algorithm, await subtle.exportKey("jwk", mac)];
  for (const [name, params] of Object.entries({
    "AES-GCM": { iv: new Uint8Array(12), additionalData: new Uint8Array(5) },
    "AES-CBC": { iv: new Uint8Array(16) },
    "AES-CTR": { counter: new Uint8Array(16), length: 64 },
  })) {
    const key = await subtle.importKey("raw", new Uint8Array(32), name, false, ["encrypt", "decrypt"]);
    const sealed = await subtle.encrypt({ name, ...params }, key, Buffer.from(text));
    same[name] = [hex(sealed), Buffer.from(await subtle.decrypt({ name, ...params }, key, sealed)).toString()];
  }
  const kw = await subtle.importKey("raw", new Uint8Array(16), "AES-KW", false, ["wrapKey", "unwrapKey"]);
  const wrapped = await subtle.wrapKey("raw", mac.extractable ? derived : mac, kw, "AES-KW");
  same.webWrap = hex(wrapped);
  const unwrapped = await subtle.unwrapKey("raw", wrapped, kw, "AES-KW", "AES-GCM", true, ["encrypt"]);
  same.webUnwrap = hex(await subtle.exportKey("raw", unwrapped));

  const d = crypto.createDecipheriv("aes-128-gcm", Buffer.alloc(16), Buffer.alloc(12)).setAuthTag(Buffer.alloc(16));
  d.update(Buffer.alloc(5));
  const padded = crypto.createDecipheriv("aes-128-cbc", Buffer.alloc(16), Buffer.alloc(16));
  padded.update(Buffer.alloc(16));
  same.errors = [
    await code(() => padded.final()),
    await message(() => d.final()), // these two first: after others, Node.js reports the others
    await code(() => crypto.createCipheriv("aes-128-cbc", "short", Buffer.alloc(16))),
    await code(() => crypto.createCipheriv("aes-128-cbc", Buffer.alloc(16), Buffer.alloc(3))),
    await code(() => crypto.createCipheriv("rot13", Buffer.alloc(16), Buffer.alloc(3))),
    await code(() => crypto.createPrivateKey("no key")),
    await code(() => crypto.createPrivateKey(5)),
    await code(() => crypto.scryptSync("a", "b", 3, { N: 3 })),
    await code(() => crypto.scryptSync("a", "b", 3, { N: 1 << 20 })),
    await code(() => crypto.pbkdf2Sync("a", "b", 0, 3, "sha1")),
    await code(() => crypto.pbkdf2Sync("a", "b", 1, 3, "none")),
    await code(() => crypto.createSign("none")),
    await code(() => subtle.importKey("raw", new Uint8Array(5), "AES-GCM", false, ["encrypt"])),
    await code(() => subtle.importKey("raw", new Uint8Array(16), "AES-GCM", false, ["sign"])),
    await code(() => subtle.sign("HMAC", derived, new Uint8Array(1))),
    await code(() => subtle.importKey("raw", new Uint8Array(16), "No-Such", false, ["sign"])),
  ];

  // Keys and signatures are not: the other one has to accept them.
  const pss = { padding: crypto.constants.RSA_PKCS1_PSS_PADDING, saltLength: crypto.constants.RSA_PSS_SALTLEN_DIGEST };
  for (const [name, [type, options]] of Object.entries(types)) {
    const { publicKey, privateKey } = crypto.generateKeyPairSync(type, options);
    const hash = type === "ed25519" ? null : "sha256";
    const { publicExponent, namedCurve } = publicKey.asymmetricKeyDetails;
    const members = Object.keys(privateKey.export({ format: "jwk" })).sort();
    same[`details ${name}`] = [
      privateKey.type,
      privateKey.asymmetricKeyType,
      String(publicExponent),
      namedCurve ?? null,
      members,
    ];
    const signed = (how) => crypto.sign(hash, Buffer.from(text), { key: privateKey, ...how }).toString("base64");
    const sealed = (how) => crypto.publicEncrypt({ key: publicKey, ...how }, Buffer.from(text)).toString("base64");
    const spki = publicKey.export({ type: "spki", format: "pem" });
    const forms = [
      [spki, privateKey.export({ type: "pkcs8", format: "pem" })],
      [
        { key: publicKey.export({ format: "jwk" }), format: "jwk" },
        { key: privateKey.export({ format: "jwk" }), format: "jwk" },
      ],
    ];
    if (type === "rsa")
      forms.push([publicKey, privateKey].map((key) => key.export({ type: "pkcs1", format: "pem" })));
    if (type === "ec") forms.push([spki, privateKey.export({ type: "sec1", format: "pem" })]);
    other.push({
      name,
      forms,
      der: privateKey.export({ type: "pkcs8", format: "der" }).toString("base64"),
      plain: signed({}),
      pss: type === "rsa" ? signed(pss) : null,
      p1363: type === "ec" ? signed({ dsaEncoding: "ieee-p1363" }) : null,
      stream: hash && crypto.createSign("RSA-SHA512").update(text.slice(0, 5)).update(text.slice(5)).sign(privateKey, "hex"),
      oaep: type === "rsa" ? sealed({ oaepHash: "sha256" }) : null,
    });
  }
  const rsa = { modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]) };
  for (const [name, how, params] of [
    ["RSASSA-PKCS1-v1_5", { ...rsa, hash: "SHA-256" }, {}],
    ["RSA-PSS", { ...rsa, hash: "SHA-384" }, { saltLength: 20 }],
    ["ECDSA", { namedCurve: "P-384" }, { hash: "SHA-512" }],
    ["Ed25519", {}, {}],
  ]) {
    const { publicKey, privateKey } = await subtle.generateKey({ name, ...how }, true, ["sign", "verify"]);
    const jwk = await subtle.exportKey("jwk", publicKey);
    same[`web ${name}`] = [Object.keys(jwk).sort(), jwk.alg ?? null, jwk.key_ops, privateKey.usages, publicKey.algorithm];
    other.push({
      web: name,
      how: { ...how, publicExponent: undefined },
      params,
      jwk,
      pkcs8: hex(await subtle.exportKey("pkcs8", privateKey)),
      signature: hex(await subtle.sign({ name, ...params }, privateKey, Buffer.from(text))),
    });
  }
  return { same, other };
}

async function check(other) {
  const out = [];
  const ok = (what, good) => out.push(`${what} ${good}`);
  for (const one of other) {
    if (one.web) {
      const name = one.web;
      const how = { name, ...one.params };
      const key = await subtle.importKey("jwk", one.jwk, { name, ...one.how }, true, ["verify"]);
      const signature = Buffer.from(one.signature, "hex");
      ok(name, await subtle.verify(how, key, signature, Buffer.from(text)));
      ok(`${name} other text`, await subtle.verify(how, key, signature, Buffer.from("other")));
      const own = await subtle.importKey("pkcs8", Buffer.from(one.pkcs8, "hex"), { name, ...one.how }, false, ["sign"]);
      const again = await subtle.sign(how, own, Buffer.from("x"));
      ok(`${name} again`, await subtle.verify(how, key, again, Buffer.from("x")));
      continue;
    }
    const hash = one.name === "ed25519" ? null : "sha256";
    const plain = Buffer.from(one.plain, "base64");
    for (const [i, [publicForm, privateForm]] of one.forms.entries()) {
      const key = crypto.createPublicKey(publicForm);
      const own = crypto.createPrivateKey(privateForm);
      ok(`${one.name} ${i}`, crypto.verify(hash, Buffer.from(text), key, plain));
      ok(`${one.name} ${i} other text`, crypto.verify(hash, Buffer.from("other"), key, plain));
      ok(`${one.name} ${i} public of private`, crypto.createPublicKey(privateForm).equals(key));
      ok(`${one.name} ${i} der`, own.export({ type: "pkcs8", format: "der" }).toString("base64") === one.der);
    }
    const [publicForm, privateForm] = one.forms[0];
    const accepts = (how, signature) =>
      crypto.verify(hash, Buffer.from(text), { key: publicForm, ...how }, Buffer.from(signature, "base64"));
    const reads = (how, sealed) =>
      crypto.privateDecrypt({ key: privateForm, ...how }, Buffer.from(sealed, "base64")).toString() === text;
    if (one.pss) ok("pss", accepts({ padding: crypto.constants.RSA_PKCS1_PSS_PADDING }, one.pss));
    if (one.p1363) ok("p1363", accepts({ dsaEncoding: "ieee-p1363" }, one.p1363));
    if (one.stream) ok("stream", crypto.createVerify("RSA-SHA512").update(text).verify(publicForm, one.stream, "hex"));
    if (one.oaep) ok("oaep", reads({ oaepHash: "sha256" }, one.oaep));
  }
  for (const curve of ["prime256v1", "secp384r1"]) {
    const [a, b] = [crypto.createECDH(curve), crypto.createECDH(curve)];
    a.generateKeys();
    const mine = a.computeSecret(b.generateKeys("hex"), "hex", "hex");
    ok(`ecdh ${curve}`, mine === b.computeSecret(a.getPublicKey(), null, "hex"));
  }
  const [a, b] = [crypto.generateKeyPairSync("x25519"), crypto.generateKeyPairSync("x25519")];
  const shared = [[a, b], [b, a]].map(([x, y]) =>
    crypto.diffieHellman({ privateKey: x.privateKey, publicKey: y.publicKey }).toString("hex"),
  );
  ok("x25519", shared[0] === shared[1]);
  return out;
}

return params.other ? check(params.other) : make();
