// What agents do with sockets, by way of the packages that they use for it. It runs
// in Node.js and as a tool.
import { once } from 'node:events';
import Redis from 'ioredis';
import { MongoClient } from 'mongodb';
import mysql from 'mysql2/promise';
import nodemailer from 'nodemailer';
import pg from 'pg';
import { createClient } from 'redis';

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

async function ioredis({ redisPort }) {
  const client = new Redis({ host: '127.0.0.1', port: redisPort });
  await client.set('name', 'ü'.repeat(100_000));
  const length = (await client.get('name')).length;
  await client.del('n', 'set');
  const all = await client.pipeline().incr('n').incr('n').get('n').sadd('set', 'a', 'b').exec();
  const done = await client.multi().incr('n').expire('n', 100).exec();
  const unknown = await client.call('NOPE').catch((error) => error.message);
  const listener = client.duplicate();
  await listener.subscribe('news');
  const heard = once(listener, 'message');
  await client.publish('news', 'hello');
  const message = await heard;
  listener.disconnect();
  const blocked = await client.blpop('nothing', 0.01);
  const over = once(client, 'end');
  await client.quit();
  await over;
  const refused = new Redis({ host: '127.0.0.1', port: 1, retryStrategy: null, lazyConnect: true });
  refused.on('error', () => {});
  const error = await refused.connect().catch((e) => e.message);
  return { length, all, done, unknown, message, blocked, error };
}

async function redis({ redisPort }) {
  const client = await createClient({ url: `redis://127.0.0.1:${redisPort}` }).connect();
  await client.del('hash');
  await client.hSet('hash', { a: '1', b: 'ü' });
  const hash = { ...(await client.hGetAll('hash')) };
  const many = await Promise.all([1, 2, 3].map((n) => client.set(`k${n}`, n).then(() => client.get(`k${n}`))));
  await client.close();
  const error = await createClient({ url: 'redis://127.0.0.1:1', socket: { reconnectStrategy: false } }).on('error', () => {}).connect().catch((e) => e.code);
  return { hash, many, error };
}

/** A pool, parameters, prepared statements, types, transactions, streams and errors. */
async function mariadb({ mysqlPort }) {
  const options = { host: '127.0.0.1', port: mysqlPort, user: 'root', password: 'secret', database: 'test' };
  const pool = mysql.createPool({ ...options, connectionLimit: 3 });
  await pool.query('CREATE TABLE IF NOT EXISTS things (id int PRIMARY KEY, name text, made datetime, raw blob, price decimal(10,2))');
  await pool.query('DELETE FROM things');
  const connection = await pool.getConnection();
  await connection.beginTransaction();
  for (let i = 0; i < 20; i++) {
    const values = [i, `thing ${i} ü`, new Date(i * 1000), Buffer.from([i, 255]), i / 4];
    await connection.execute('INSERT INTO things VALUES (?, ?, ?, ?, ?)', values);
  }
  await connection.commit();
  const wrong = await connection.query('SELECT nothing').catch((error) => [error.code, error.errno, error.sqlMessage]);
  connection.release();
  const [rows, fields] = await pool.execute('SELECT * FROM things WHERE id < ? ORDER BY id', [3]);
  const many = await Promise.all([1, 2, 3, 4, 5].map((n) => pool.query('SELECT ? * 2 AS n', [n])));
  const [[{ text }]] = await pool.query("SELECT repeat('x', 2000000) AS text");
  const streamed = [];
  const one = await mysql.createConnection(options);
  for await (const row of one.connection.query('SELECT id FROM things ORDER BY id').stream()) streamed.push(row.id);
  await one.end();
  await pool.end();
  const attempt = (more) => mysql.createConnection({ ...options, ...more }).then(() => 'connected').catch((error) => [error.code, error.message]);
  return {
    rows: rows.map((row) => ({ ...row, raw: [...row.raw] })),
    fields: fields.map((f) => f.name),
    wrong,
    many: many.map(([[row]]) => row.n),
    large: text.length,
    streamed,
    password: await attempt({ password: 'wrong' }),
    refused: await attempt({ port: 1 }),
  };
}

/** It loads, and tells why it cannot connect. */
async function mongo() {
  const client = new MongoClient('mongodb://127.0.0.1:1', { serverSelectionTimeoutMS: 100 });
  const error = await client.connect().catch((e) => e);
  return [error.name, error.message, error.reason.type];
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
  for (const [name, f] of Object.entries({ postgres, postgresErrors, ioredis, redis, mariadb, mongo, mail })) out[name] = await reason(() => f(given));
  return out;
}
