/** The configuration cannot be used. The message is one line for the operator; it never shows a secret. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}
