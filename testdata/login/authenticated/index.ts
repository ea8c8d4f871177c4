import * as adk from '@google/adk';

const { AuthenticatedFunctionTool, LlmAgent } = adk as any; // it is not one of the package's own
const env = process.env as Record<string, string>;

const authConfig = {
  authScheme: { type: 'openIdConnect', openIdConnectUrl: env.CALENDAR_ISSUER, scopes: ['openid', 'offline_access', 'calendar.read'] },
  rawAuthCredential: {
    authType: 'OPEN_ID_CONNECT',
    oauth2: { clientId: env.CALENDAR_CLIENT_ID, clientSecret: env.CALENDAR_CLIENT_SECRET },
  },
};

const listEvents = new AuthenticatedFunctionTool({
  name: 'list_events',
  description: "Lists the events in the user's calendar.",
  authConfig,
  execute: async (_: unknown, context: any) => {
    const { accessToken } = context.credential.oauth2;
    const response = await fetch(env.CALENDAR_API, { headers: { Authorization: `Bearer ${accessToken}` } });
    if (response.status === 401) {
      context.dropCredential(authConfig);
      context.requestCredential(authConfig);
      return { pending: true, message: 'Log in again, please.' };
    }
    console.log('the calendar answers', response.status);
    return { status: 'success', code: response.status, data: await response.json(), client: authConfig };
  },
});

export const rootAgent = new LlmAgent({ name: 'calendar', model: 'scripted', tools: [listEvents] });
