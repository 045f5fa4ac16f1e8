/** State-test cases that are expected to fail on every engine, each with its reason. */
export const KNOWN_FAILURES: Readonly<Record<string, string>> = {}
