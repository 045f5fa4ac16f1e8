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

/** Position of each fork in the order of activation; it is looked up a dozen times in every transaction. */
const ORDER = Object.fromEntries(HARDFORKS.map((fork, index) => [fork, index])) as Readonly<Record<Hardfork, number>>

/** Whether `fork` includes the rules of `since`. */
export function includesFork(fork: Hardfork, since: Hardfork): boolean {
  return ORDER[fork] >= ORDER[since]
}
