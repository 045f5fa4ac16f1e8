// The rules of the running fork that differ from Cancun's.
import { FORK_OSAKA, FORK_PRAGUE } from './constants'

/** EIP-7702 */
export let hasDelegations: bool = false
/** EIP-7939 */
export let hasCountLeadingZeros: bool = false

export function setFork(fork: u32): void {
  hasDelegations = fork >= <u32>FORK_PRAGUE
  hasCountLeadingZeros = fork >= <u32>FORK_OSAKA
}
