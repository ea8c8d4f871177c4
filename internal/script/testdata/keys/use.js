// What agents do with keys, by way of the packages that they use for it. It runs in
// Node.js and as a tool.
import { generateKeyPairSync } from 'node:crypto';
import { GoogleAuth } from 'google-auth-library';
import * as jose from 'jose';
import jwt from 'jsonwebtoken';
import Stripe from 'stripe';
import { Webhook } from 'svix';
import { v5 } from 'uuid';

const reason = async (f) => {
  try {
    return await f();
  } catch (error) {
    return `${error.name}: ${error.message}`;
  }
};

/** A token for a service account. The package knows one endpoint, so its requests are sent to another. */
async function google({ tokenURL, privateKey }) {
  const auth = new GoogleAuth({
    credentials: {
      type: 'service_account',
      project_id: 'demo',
      private_key_id: 'k1',
      private_key: privateKey,
      client_email: 'agent@demo.iam.gserviceaccount.com',
      client_id: '1',
    },
    scopes: ['https://www.googleapis.com/auth/cloud-platform'],
  });
  const client = await auth.getClient();
  client.transporter.interceptors.request.add({ resolved: async (request) => ({ ...request, url: new URL(tokenURL) }) });
  const { token } = await client.getAccessToken();
  const signed = await auth.sign('some text');
  return [token, signed.length, await auth.getProjectId()];
}

async function tokens({ privateKey, publicKey }) {
  const out = [];
  const claims = { sub: 'ann', exp: 4102444800, iat: 1 };
  const rs = jwt.sign(claims, privateKey, { algorithm: 'RS256', keyid: 'k1' });
  out.push(rs, jwt.verify(rs, publicKey, { algorithms: ['RS256'] }));
  out.push(await reason(() => jwt.verify(`${rs.slice(0, -4)}AAAA`, publicKey)));
  const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  out.push(jwt.verify(jwt.sign(claims, ec.privateKey, { algorithm: 'ES256' }), ec.publicKey));
  out.push(jwt.verify(jwt.sign(claims, privateKey, { algorithm: 'PS256' }), publicKey));
  for (const alg of ['RS256', 'PS384', 'ES256', 'ES512', 'EdDSA']) {
    const keys = await jose.generateKeyPair(alg, { extractable: true });
    const signed = await new jose.SignJWT(claims).setProtectedHeader({ alg }).sign(keys.privateKey);
    const jwk = await jose.exportJWK(keys.publicKey);
    const { payload } = await jose.jwtVerify(signed, await jose.importJWK(jwk, alg));
    out.push([alg, payload, Object.keys(jwk).sort()]);
    out.push(await reason(() => jose.jwtVerify(`${signed.slice(0, -8)}AAAAAAAA`, keys.publicKey)));
  }
  for (const alg of ['RSA-OAEP-256', 'ECDH-ES+A128KW', 'A256KW', 'A256GCMKW', 'PBES2-HS256+A128KW', 'dir']) {
    const secret = new Uint8Array(32).fill(7);
    const pair = /^(RSA|ECDH)/.test(alg) ? await jose.generateKeyPair(alg) : { publicKey: secret, privateKey: secret };
    for (const enc of ['A256GCM', ...(alg === 'dir' ? [] : ['A128CBC-HS256'])]) {
      const text = new TextEncoder().encode('hidden');
      const sealed = await new jose.CompactEncrypt(text).setProtectedHeader({ alg, enc }).encrypt(pair.publicKey);
      const { plaintext } = await jose.compactDecrypt(sealed, pair.privateKey, { keyManagementAlgorithms: [alg] });
      out.push([alg, enc, new TextDecoder().decode(plaintext)]);
    }
  }
  const spki = await jose.importSPKI(publicKey, 'RS256');
  out.push((await jose.jwtVerify(rs, spki)).protectedHeader, await jose.calculateJwkThumbprint(await jose.exportJWK(spki)));
  return out;
}

async function webhooks() {
  const payload = JSON.stringify({ id: 'evt_1', object: 'event', type: 'charge.succeeded', data: { object: {} } });
  const stripe = new Stripe('sk_test_1');
  const timestamp = 1700000000;
  const header = await stripe.webhooks.generateTestHeaderStringAsync({ payload, secret: 'whsec_1', timestamp });
  const read = async (secret) => (await stripe.webhooks.constructEventAsync(payload, header, secret, 1e12)).type;
  const hook = new Webhook('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw');
  const now = new Date();
  const headers = {
    'webhook-id': 'msg_1',
    'webhook-timestamp': String(Math.floor(now / 1000)),
    'webhook-signature': hook.sign('msg_1', now, payload),
  };
  const wrong = { ...headers, 'webhook-id': 'msg_2' };
  return [
    header,
    await read('whsec_1'),
    (await reason(() => read('whsec_2'))).split('.')[0],
    hook.verify(payload, headers),
    await reason(() => hook.verify(payload, wrong)),
    v5('parley.run', v5.DNS),
  ];
}

export const use = async (given) => ({
  google: await reason(() => google(given)),
  tokens: await reason(() => tokens(given)),
  webhooks: await reason(() => webhooks()),
});
