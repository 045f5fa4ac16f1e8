/** What signatures are valid for: the chain by both of its IDs. */
export interface SigningChain {
  /** e.g. `coin_7628-1` */
  readonly chainId: string
  readonly evmChainId: bigint
}

/** All accounts have this number: a sequence is enough to tell transactions of one account apart. */
export const ACCOUNT_NUMBER = 0n
