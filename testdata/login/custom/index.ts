import { AuthCredentialTypes, FunctionTool, LlmAgent, type AuthConfig } from '@google/adk';
import { z } from 'zod';

const env = process.env as Record<string, string>;

const authConfig: AuthConfig = {
  authScheme: {
    type: 'oauth2',
    flows: {
      authorizationCode: {
        authorizationUrl: env.CALENDAR_AUTH_URL,
        tokenUrl: env.CALENDAR_TOKEN_URL,
        scopes: { openid: '', offline_access: '', 'calendar.read': 'Read the calendar.' },
      },
    },
  },
  rawAuthCredential: {
    authType: AuthCredentialTypes.OAUTH2,
    oauth2: { clientId: env.CALENDAR_CLIENT_ID, clientSecret: env.CALENDAR_CLIENT_SECRET },
  },
  credentialKey: 'calendar',
};

const listEvents = new FunctionTool({
  name: 'list_events',
  description: "Lists the events in the user's calendar.",
  parameters: z.object({}),
  execute: async (_, context) => {
    const logIn = (message: string) => {
      context!.requestCredential(authConfig);
      return { pending: true, message };
    };
    let token = context!.state.get<string>('calendar_token');
    if (!token) {
      token = context!.getAuthResponse(authConfig)?.oauth2?.accessToken;
      if (!token) return logIn('Log in to see your calendar.');
      context!.state.set('calendar_token', token);
    }
    const response = await fetch(env.CALENDAR_API, { headers: { Authorization: `Bearer ${token}` } });
    if (response.status === 401 || response.status === 403) {
      context!.state.set('calendar_token', null);
      (context as any).dropCredential(authConfig);
      return logIn('Log in again, please.');
    }
    return { status: 'success', code: response.status, sent: `Bearer ${token}`, data: await response.json() };
  },
});

export const rootAgent = new LlmAgent({ name: 'calendar', model: 'scripted', tools: [listEvents] });
