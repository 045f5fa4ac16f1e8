/** State-test cases that are expected to fail, each with its reason. */
export const KNOWN_FAILURES: Readonly<Record<string, string>> = {}
