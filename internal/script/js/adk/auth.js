// Logins, as authors describe them. They are data, which Go reads in every
// spelling; the classes of the packages and of their documentation only name it.
import { camelOptions, hide } from "./names.js";

const enumOf = (values) => Object.freeze(values);

export const AuthCredentialTypes = enumOf({
  API_KEY: "apiKey",
  HTTP: "http",
  OAUTH2: "oauth2",
  OPEN_ID_CONNECT: "openIdConnect",
  SERVICE_ACCOUNT: "serviceAccount",
});

// The packages have two of this name, with other keys.
export const AuthSchemeType = enumOf({ ...AuthCredentialTypes, apiKey: "apiKey", http: "http", oauth2: "oauth2", openIdConnect: "openIdConnect" });

export const OAuthGrantType = enumOf({
  CLIENT_CREDENTIALS: "client_credentials",
  AUTHORIZATION_CODE: "authorization_code",
  IMPLICIT: "implicit",
  PASSWORD: "password",
  REFRESH_TOKEN: "refresh_token",
});

export const APIKeyIn = enumOf({ header: "header", query: "query", cookie: "cookie" });

export function getOAuthGrantTypeFromFlow(flows) {
  const { clientCredentials, authorizationCode, implicit, password } = camelOptions(flows);
  if (clientCredentials) return OAuthGrantType.CLIENT_CREDENTIALS;
  if (authorizationCode) return OAuthGrantType.AUTHORIZATION_CODE;
  if (implicit) return OAuthGrantType.IMPLICIT;
  return password ? OAuthGrantType.PASSWORD : undefined;
}

class Data {
  constructor(init) {
    Object.assign(this, init);
  }
}

/** Classes that are nothing but a name for data. */
export const dataClasses = (names) => Object.fromEntries(names.split(" ").map((name) => [name, { [name]: class extends Data {} }[name]]));

// Schemes that say what they are by their class.
const schemeClass = (name, scheme) =>
  ({
    [name]: class extends Data {
      constructor(init) {
        super({ ...scheme, ...init });
      }
    },
  })[name];

const schemes = {
  APIKey: schemeClass("APIKey", { type: "apiKey" }),
  HTTPBase: schemeClass("HTTPBase", { type: "http" }),
  HTTPBearer: schemeClass("HTTPBearer", { type: "http", scheme: "bearer" }),
  OAuth2: schemeClass("OAuth2", { type: "oauth2" }),
  OpenIdConnect: schemeClass("OpenIdConnect", { type: "openIdConnect" }),
  OpenIdConnectWithConfig: schemeClass("OpenIdConnectWithConfig", { type: "openIdConnect" }),
};

class ApiKeyAuthScheme extends Data {
  constructor(headerName = "X-API-Key") {
    super({ type: "apiKey", in: "header", name: headerName });
  }
  generateHeaders(apiKey) {
    return { [this.name]: apiKey };
  }
}

class BearerAuthScheme extends Data {
  constructor() {
    super({ type: "http", scheme: "bearer" });
  }
  generateHeaders(token) {
    return { Authorization: `Bearer ${token}` };
  }
}

class BasicAuthScheme extends Data {
  constructor() {
    super({ type: "http", scheme: "basic" });
  }
  generateHeaders({ username, password }) {
    return { Authorization: `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}` };
  }
}

class AuthCredential extends Data {
  toAuthCredential() {
    return this;
  }
}

class ApiKeyCredential extends AuthCredential {
  constructor(apiKey) {
    super({ authType: "apiKey", apiKey });
    readable(this);
  }
}

class BearerCredential extends AuthCredential {
  constructor(token) {
    super(bearer(token));
    readable(this);
  }
}

class BasicCredential extends AuthCredential {
  constructor(username, password) {
    super({ authType: "http", http: { scheme: "basic", credentials: { username, password } } });
    readable(this);
  }
}

const bearer = (token) => ({ authType: "http", http: { scheme: "bearer", credentials: { token } } });

/** A scheme and a credential for a token or an API key. */
export function tokenToSchemeCredential(tokenType, location, name, token) {
  if (/^api_?key$/i.test(tokenType)) {
    if (!Object.hasOwn(APIKeyIn, location)) throw new Error(`Invalid location for an API key: ${location}. It is header, query or cookie.`);
    return [createApiKeyScheme(name, location), token ? { authType: "apiKey", apiKey: token } : null];
  }
  if (/^oauth2_?token$/i.test(tokenType)) return [createBearerScheme(), token ? bearer(token) : null];
  throw new Error(`Invalid type of a token: ${tokenType}. It is apikey or oauth2Token.`);
}

export const createApiKeyScheme = (name, location) => ({ type: "apiKey", in: location, name });
export const createBearerScheme = () => ({ type: "http", scheme: "bearer", bearerFormat: "JWT" });

export const serviceAccountSchemeCredential = (serviceAccount) => [createBearerScheme(), { authType: "serviceAccount", serviceAccount }];
export const serviceAccountDictToSchemeCredential = (key, scopes) => serviceAccountSchemeCredential({ serviceAccountCredential: key, scopes });

/** A scheme and a credential for a provider that has described itself. */
export function openidDictToSchemeCredential(config, scopes, client) {
  const oauth2 = camelOptions(client.web ?? client.installed ?? client);
  const [redirectUri] = oauth2.redirectUris ?? [oauth2.redirectUri];
  const { clientId, clientSecret } = oauth2;
  if (!clientId || !clientSecret) throw new Error("The credential of a client needs client_id and client_secret");
  return [{ ...config, type: "openIdConnect", scopes }, { authType: "openIdConnect", oauth2: { clientId, clientSecret, redirectUri } }];
}

export async function openidUrlToSchemeCredential(url, scopes, client) {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`The OpenID configuration could not be fetched: ${response.status} ${response.statusText}`);
  const { authorization_endpoint, token_endpoint, userinfo_endpoint, revocation_endpoint } = await response.json();
  const described = { openIdConnectUrl: url, authorization_endpoint, token_endpoint, userinfo_endpoint, revocation_endpoint };
  return openidDictToSchemeCredential(described, scopes, client);
}

export const dictToAuthScheme = (data) => ({ ...data });

/** Does for a tool what its first lines would do. */
export class ToolAuthHandler {
  constructor(context, authScheme, authCredential, credentialKey) {
    hide(this, { context, authConfig: authScheme && { authScheme, rawAuthCredential: authCredential, credentialKey } });
  }
  static fromToolContext(context, authScheme, authCredential, options) {
    return new ToolAuthHandler(context, authScheme, authCredential, options?.credentialKey);
  }
  async prepareAuthCredentials() {
    if (!this.authConfig) return { state: "done" };
    const authCredential = await this.context.loadCredential(this.authConfig);
    if (authCredential) return { state: "done", authCredential };
    this.context.requestCredential(this.authConfig);
    return { state: "pending" };
  }
}

const keyOf = (authConfig) => {
  const key = camelOptions(authConfig).credentialKey;
  if (!key) throw new Error("The authConfig needs a credentialKey, under which the credential is kept");
  return key;
};

/** Keeps credentials in the session's state, where Go seals them. */
export class SessionStateCredentialService {
  async loadCredential(authConfig, context) {
    return context.state.get(keyOf(authConfig));
  }
  async saveCredential(authConfig, context) {
    context.state.set(keyOf(authConfig), camelOptions(authConfig).exchangedAuthCredential);
  }
}

/** Keeps credentials until the engine ends. */
export class InMemoryCredentialService {
  #kept = new Map();
  #place = (authConfig, { appName, userId }) => JSON.stringify([appName, userId, keyOf(authConfig)]);

  async loadCredential(authConfig, context) {
    return this.#kept.get(this.#place(authConfig, context));
  }
  async saveCredential(authConfig, context) {
    this.#kept.set(this.#place(authConfig, context), camelOptions(authConfig).exchangedAuthCredential);
  }
}

export const classes = {
  ...schemes,
  ...dataClasses("AuthConfig HttpAuth HttpCredentials OAuth2Auth ServiceAccount ServiceAccountCredential"),
  ApiKeyAuthScheme,
  ApiKeyCredential,
  AuthCredential,
  BasicAuthScheme,
  BasicCredential,
  BearerAuthScheme,
  BearerCredential,
};

const snake = (name) => name.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`);

/** A credential whose members can be read in snake_case, too: one of the
 * packages has them so. Only the camelCase ones show when it is printed or kept. */
export function readable(value) {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  for (const [name, inner] of Object.entries(value)) {
    readable(inner);
    if (snake(name) !== name && !(snake(name) in value)) {
      Object.defineProperty(value, snake(name), {
        get() {
          return this[name];
        },
        set(other) {
          this[name] = other;
        },
        configurable: true,
      });
    }
  }
  return value;
}

/** A value of the state, readable if it is a credential. */
export const readableValue = (value) => (typeof value?.authType === "string" ? readable(value) : value);
