import { type Hardfork, includesFork } from '../chain/hardfork.ts'

/** The rules that hold for one block. */
export interface Rules {
  readonly fork: Hardfork
  readonly chainId: bigint
}

/** Whether `rules` include those of `fork`. */
export function isAtLeast(rules: Rules, fork: Hardfork): boolean {
  return includesFork(rules.fork, fork)
}
