import { Agent } from 'adk-typescript/agents';
import { AuthConfig, AuthCredential, AuthCredentialTypes, OAuth2Auth, OpenIdConnectWithConfig } from 'adk-typescript/auth';
import { FunctionTool, type ToolContext } from 'adk-typescript/tools';

const env = process.env as Record<string, string>;

const authConfig = new AuthConfig({
  auth_scheme: new OpenIdConnectWithConfig({
    authorization_endpoint: env.CALENDAR_AUTH_URL,
    token_endpoint: env.CALENDAR_TOKEN_URL,
    scopes: ['openid', 'offline_access', 'calendar.read'],
  }),
  raw_auth_credential: new AuthCredential({
    auth_type: AuthCredentialTypes.OPEN_ID_CONNECT,
    oauth2: new OAuth2Auth({ client_id: env.CALENDAR_CLIENT_ID, client_secret: env.CALENDAR_CLIENT_SECRET }),
  }),
});

/** Lists the events in the user's calendar. */
async function list_events(toolContext: ToolContext) {
  const logIn = (message: string) => {
    toolContext.requestCredential(authConfig);
    return { pending: true, message };
  };
  let credential = toolContext.state['calendar_credential'];
  if (!credential) {
    credential = toolContext.getAuthResponse(authConfig);
    if (!credential) return logIn('Log in to see your calendar.');
    toolContext.state['calendar_credential'] = credential;
  }
  const token = credential.oauth2.access_token;
  const response = await fetch(env.CALENDAR_API, { headers: { Authorization: `Bearer ${token}` } });
  if (response.status === 401 || response.status === 403) {
    toolContext.state.delete('calendar_credential');
    toolContext.dropCredential(authConfig);
    return logIn('Log in again, please.');
  }
  return { status: 'success', code: response.status, credential, data: await response.json() };
}

export const rootAgent = new Agent('calendar', { model: 'scripted', tools: [new FunctionTool(list_events)] });
