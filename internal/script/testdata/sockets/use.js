// What agents do with sockets, by way of the packages that they use for it. It runs
// in Node.js and as a tool.
import { once } from 'node:events';
import Redis from 'ioredis';
import nodemailer from 'nodemailer';
import pg from 'pg';

const reason = async (f) => {
  try {
    return await f();
  } catch (error) {
    return `${error.name}: ${error.message}`;
  }
};

/** A pool, parameters, types, transactions, notifications and errors. */
async function postgres({ database }) {
  const pool = new pg.Pool({ connectionString: database, max: 3 });
  await pool.query('CREATE TABLE IF NOT EXISTS things (id int PRIMARY KEY, name text, made timestamptz, data jsonb, raw bytea)');
  await pool.query('TRUNCATE things');
  const client = await pool.connect();
  await client.query('BEGIN');
  for (let i = 0; i < 20; i++) {
    const values = [i, `thing ${i} ü`, new Date(i * 1000), { i }, Buffer.from([i, 255])];
    await client.query('INSERT INTO things VALUES ($1, $2, $3, $4, $5)', values);
  }
  await client.query('COMMIT');
  const wrong = await client.query('SELECT nothing').catch((error) => [error.code, error.message]);
  client.release();
  const some = await pool.query({ name: 'some', text: 'SELECT * FROM things WHERE id < $1 ORDER BY id', values: [3] });
  const many = await Promise.all([1, 2, 3, 4, 5].map((n) => pool.query('SELECT $1::int * 2 AS n', [n])));
  const large = await pool.query("SELECT repeat('x', 2000000) AS text");
  const listener = new pg.Client({ connectionString: database });
  await listener.connect();
  await listener.query('LISTEN news');
  const heard = once(listener, 'notification');
  await pool.query("NOTIFY news, 'hello'");
  const [{ channel, payload }] = await heard;
  await listener.end();
  const rows = some.rows.map((row) => ({ ...row, raw: [...row.raw] }));
  await pool.end();
  return { rows, wrong, many: many.map((r) => r.rows[0].n), large: large.rows[0].text.length, channel, payload };
}

async function postgresErrors({ database }) {
  const attempt = (options) => {
    const client = new pg.Client(options);
    return client.connect().then(() => 'connected').catch((error) => [error.code ?? null, error.message]);
  };
  const wrong = new URL(database);
  wrong.password = 'wrong';
  const secure = new URL(database);
  secure.searchParams.set('sslmode', 'verify-full');
  return [
    await attempt({ connectionString: wrong.href }),
    await attempt({ connectionString: secure.href }),
    await attempt({ host: '127.0.0.1', port: 1 }),
  ];
}

async function redis({ redisPort }) {
  const client = new Redis({ host: '127.0.0.1', port: redisPort });
  await client.set('name', 'ü'.repeat(100_000));
  const length = (await client.get('name')).length;
  const all = await client.pipeline().incr('n').incr('n').get('n').exec();
  const unknown = await client.call('NOPE').catch((error) => error.message);
  const over = once(client, 'end');
  await client.quit();
  await over;
  const refused = new Redis({ host: '127.0.0.1', port: 1, retryStrategy: null, lazyConnect: true });
  refused.on('error', () => {});
  const error = await refused.connect().catch((e) => e.message);
  return { length, all, unknown, error };
}

async function mail({ smtpPort, ca }) {
  const options = { host: '127.0.0.1', port: smtpPort, requireTLS: true, tls: { ca }, auth: { user: 'me', pass: 'secret' } };
  const sent = await nodemailer.createTransport(options).sendMail({
    from: 'a@example.com',
    to: ['b@example.com', 'c@example.com'],
    subject: 'Grüße',
    text: 'Hello,\n.\nthis is a message.\n',
    attachments: [{ filename: 'a.bin', content: Buffer.alloc(200_000, 7) }],
    messageId: '<1@example.com>',
    date: new Date(0),
  });
  const unknown = nodemailer.createTransport({ ...options, tls: {} });
  const refused = await unknown.verify().catch((error) => error.code);
  return { accepted: sent.accepted, response: sent.response, refused };
}

export async function use(given) {
  const out = {};
  for (const [name, f] of Object.entries({ postgres, postgresErrors, redis, mail })) out[name] = await reason(() => f(given));
  return out;
}
