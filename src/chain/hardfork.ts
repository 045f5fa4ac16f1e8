/** Hardforks in order of activation. Production chains start at Cancun or later; conformance chains run all of them. */
export const HARDFORKS = [
  'frontier',
  'homestead',
  'tangerineWhistle',
  'spuriousDragon',
  'byzantium',
  'constantinople',
  'petersburg',
  'istanbul',
  'muirGlacier',
  'berlin',
  'london',
  'arrowGlacier',
  'grayGlacier',
  'paris',
  'shanghai',
  'cancun',
  'prague',
  'osaka',
] as const

export type Hardfork = (typeof HARDFORKS)[number]

/** Whether `fork` includes the rules of `since`. */
export function includesFork(fork: Hardfork, since: Hardfork): boolean {
  return HARDFORKS.indexOf(fork) >= HARDFORKS.indexOf(since)
}
