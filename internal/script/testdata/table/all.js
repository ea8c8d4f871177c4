// All packages in one application.
import { together } from "./lib/agent.js";
import { rootAgent as ai } from "./ai.js";
import { rootAgent as ajv } from "./ajv.js";
import { rootAgent as anthropic_ai_sdk } from "./anthropic-ai_sdk.js";
import { rootAgent as archiver } from "./archiver.js";
import { rootAgent as axios } from "./axios.js";
import { rootAgent as bcryptjs } from "./bcryptjs.js";
import { rootAgent as cheerio } from "./cheerio.js";
import { rootAgent as commander } from "./commander.js";
import { rootAgent as crypto_js } from "./crypto-js.js";
import { rootAgent as csv_parse } from "./csv-parse.js";
import { rootAgent as date_fns } from "./date-fns.js";
import { rootAgent as dayjs } from "./dayjs.js";
import { rootAgent as dotenv } from "./dotenv.js";
import { rootAgent as drizzle_orm } from "./drizzle-orm.js";
import { rootAgent as exa_js } from "./exa-js.js";
import { rootAgent as exceljs } from "./exceljs.js";
import { rootAgent as express } from "./express.js";
import { rootAgent as fast_xml_parser } from "./fast-xml-parser.js";
import { rootAgent as firebase_admin } from "./firebase-admin.js";
import { rootAgent as form_data } from "./form-data.js";
import { rootAgent as google_auth_library } from "./google-auth-library.js";
import { rootAgent as google_cloud_bigquery } from "./google-cloud_bigquery.js";
import { rootAgent as google_cloud_storage } from "./google-cloud_storage.js";
import { rootAgent as googleapis_drive } from "./googleapis_drive.js";
import { rootAgent as got } from "./got.js";
import { rootAgent as handlebars } from "./handlebars.js";
import { rootAgent as hono } from "./hono.js";
import { rootAgent as ioredis } from "./ioredis.js";
import { rootAgent as jose } from "./jose.js";
import { rootAgent as js_tiktoken } from "./js-tiktoken.js";
import { rootAgent as js_yaml } from "./js-yaml.js";
import { rootAgent as jsdom } from "./jsdom.js";
import { rootAgent as jsonwebtoken } from "./jsonwebtoken.js";
import { rootAgent as ky } from "./ky.js";
import { rootAgent as langchain_core } from "./langchain_core.js";
import { rootAgent as lodash } from "./lodash.js";
import { rootAgent as luxon } from "./luxon.js";
import { rootAgent as marked } from "./marked.js";
import { rootAgent as mathjs } from "./mathjs.js";
import { rootAgent as modelcontextprotocol_sdk } from "./modelcontextprotocol_sdk.js";
import { rootAgent as moment } from "./moment.js";
import { rootAgent as mongodb } from "./mongodb.js";
import { rootAgent as mustache } from "./mustache.js";
import { rootAgent as mysql2 } from "./mysql2.js";
import { rootAgent as nanoid } from "./nanoid.js";
import { rootAgent as needle } from "./needle.js";
import { rootAgent as node_fetch } from "./node-fetch.js";
import { rootAgent as nodemailer } from "./nodemailer.js";
import { rootAgent as notionhq_client } from "./notionhq_client.js";
import { rootAgent as nunjucks } from "./nunjucks.js";
import { rootAgent as octokit_rest } from "./octokit_rest.js";
import { rootAgent as openai } from "./openai.js";
import { rootAgent as p_limit } from "./p-limit.js";
import { rootAgent as papaparse } from "./papaparse.js";
import { rootAgent as pdf_lib } from "./pdf-lib.js";
import { rootAgent as pdf_parse } from "./pdf-parse.js";
import { rootAgent as pg } from "./pg.js";
import { rootAgent as pino } from "./pino.js";
import { rootAgent as playwright_core } from "./playwright-core.js";
import { rootAgent as puppeteer_core } from "./puppeteer-core.js";
import { rootAgent as qs } from "./qs.js";
import { rootAgent as redis } from "./redis.js";
import { rootAgent as rss_parser } from "./rss-parser.js";
import { rootAgent as rxjs } from "./rxjs.js";
import { rootAgent as semver } from "./semver.js";
import { rootAgent as sendgrid_mail } from "./sendgrid_mail.js";
import { rootAgent as sharp } from "./sharp.js";
import { rootAgent as sinclair_typebox } from "./sinclair_typebox.js";
import { rootAgent as slack_web_api } from "./slack_web-api.js";
import { rootAgent as sql_js } from "./sql.js.js";
import { rootAgent as stripe } from "./stripe.js";
import { rootAgent as supabase_supabase_js } from "./supabase_supabase-js.js";
import { rootAgent as superagent } from "./superagent.js";
import { rootAgent as tavily_core } from "./tavily_core.js";
import { rootAgent as tiktoken } from "./tiktoken.js";
import { rootAgent as turndown } from "./turndown.js";
import { rootAgent as twilio } from "./twilio.js";
import { rootAgent as undici } from "./undici.js";
import { rootAgent as uuid } from "./uuid.js";
import { rootAgent as valibot } from "./valibot.js";
import { rootAgent as winston } from "./winston.js";
import { rootAgent as ws } from "./ws.js";
import { rootAgent as xlsx } from "./xlsx.js";
import { rootAgent as xml2js } from "./xml2js.js";
import { rootAgent as yup } from "./yup.js";
import { rootAgent as zod } from "./zod.js";
import { rootAgent as zod_to_json_schema } from "./zod-to-json-schema.js";

export const rootAgent = together({
  ai,
  ajv,
  anthropic_ai_sdk,
  archiver,
  axios,
  bcryptjs,
  cheerio,
  commander,
  crypto_js,
  csv_parse,
  date_fns,
  dayjs,
  dotenv,
  drizzle_orm,
  exa_js,
  exceljs,
  express,
  fast_xml_parser,
  firebase_admin,
  form_data,
  google_auth_library,
  google_cloud_bigquery,
  google_cloud_storage,
  googleapis_drive,
  got,
  handlebars,
  hono,
  ioredis,
  jose,
  js_tiktoken,
  js_yaml,
  jsdom,
  jsonwebtoken,
  ky,
  langchain_core,
  lodash,
  luxon,
  marked,
  mathjs,
  modelcontextprotocol_sdk,
  moment,
  mongodb,
  mustache,
  mysql2,
  nanoid,
  needle,
  node_fetch,
  nodemailer,
  notionhq_client,
  nunjucks,
  octokit_rest,
  openai,
  p_limit,
  papaparse,
  pdf_lib,
  pdf_parse,
  pg,
  pino,
  playwright_core,
  puppeteer_core,
  qs,
  redis,
  rss_parser,
  rxjs,
  semver,
  sendgrid_mail,
  sharp,
  sinclair_typebox,
  slack_web_api,
  sql_js,
  stripe,
  supabase_supabase_js,
  superagent,
  tavily_core,
  tiktoken,
  turndown,
  twilio,
  undici,
  uuid,
  valibot,
  winston,
  ws,
  xlsx,
  xml2js,
  yup,
  zod,
  zod_to_json_schema,
});
