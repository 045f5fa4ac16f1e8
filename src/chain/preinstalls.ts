import list from './preinstalls.json' with { type: 'json' }

/** A contract that the genesis puts in place, in the genesis file's form. */
export interface Preinstall {
  readonly name: string
  /** checksummed */
  readonly address: string
  /** runtime code, 0x and hex */
  readonly code: string
}

/**
 * Contracts that tools expect at their well-known addresses: the system contracts of EIP-4788 and EIP-2935, the CREATE2
 * deployment proxy, Multicall3 (MIT) and Permit2 (MIT). The code is that of Ethereum mainnet; Permit2's cached domain
 * separator is for chain 1, so it computes the one of this chain at each call.
 */
export const PREINSTALLS: readonly Preinstall[] = list
