import { LlmAgent, OpenAPIToolset } from '@google/adk';

const env = process.env as Record<string, string>;

const calendar = new OpenAPIToolset({
  specFile: './openapi.yaml',
  baseUrl: env.CALENDAR_HOST,
  authScheme: { type: 'openIdConnect', openIdConnectUrl: env.CALENDAR_ISSUER, scopes: ['openid', 'offline_access', 'calendar.read'] },
  authCredential: {
    authType: 'openIdConnect',
    oauth2: { clientId: env.CALENDAR_CLIENT_ID, clientSecret: env.CALENDAR_CLIENT_SECRET },
  },
} as any);

export const rootAgent = new LlmAgent({ name: 'calendar', model: 'scripted', tools: [calendar] });
