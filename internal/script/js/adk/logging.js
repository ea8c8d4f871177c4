// The packages' own logger, which writes where console does.

export const LogLevel = Object.freeze({ DEBUG: 0, INFO: 1, WARN: 2, ERROR: 3 });

let level = LogLevel.INFO;

const at = (least, name) => (...args) => {
  if (least >= level) console[name](...args);
};
const standard = { debug: at(LogLevel.DEBUG, "debug"), info: at(LogLevel.INFO, "info"), warn: at(LogLevel.WARN, "warn"), error: at(LogLevel.ERROR, "error") };
const silent = { debug() {}, info() {}, warn() {}, error() {} };

let logger = standard;

export const setLogLevel = (other) => {
  level = other;
};
export const setLogger = (other) => {
  logger = other ?? silent;
};
export const getLogger = () => logger;

export class Logger {
  debug = (...args) => logger.debug(...args);
  info = (...args) => logger.info(...args);
  warn = (...args) => logger.warn(...args);
  error = (...args) => logger.error(...args);
}
