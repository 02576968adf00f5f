/**
 * One setting. Parsing, `mayfly config`, error messages and docs/configuration.md are all made from it.
 */
export interface Setting<T> {
  /** The environment variable; `NAME_FILE` names a file that contains the value. */
  name: string;
  /** As it would be written in the environment; '' means not set. What `mayfly dev` uses instead: dev-defaults.ts. */
  fallback: string;
  /** What is allowed, with its unit; completes the sentence "Use …". */
  allowed: string;
  /** What the setting is for. */
  sentence: string;
  /** Its value is never shown. */
  secret?: true;
  /** @throws Error of any text when `text` is not allowed; SettingError when the reason is worth telling */
  parse(text: string): T;
}

/** Infers the type of a setting's value. */
export const setting = <T>(one: Setting<T>): Setting<T> => one;
