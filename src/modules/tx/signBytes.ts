import type { MessageTable } from '../message.ts'
import { type Outcome, sdkError } from '../sdkError.ts'
import { aminoSignBytes } from './aminoSignDoc.ts'
import type { DecodedTransaction } from './decodedTransaction.ts'
import { SIGN_MODES, SignDoc } from './txTypes.ts'

/** What signatures are valid for: the chain by both of its IDs. */
export interface SigningChain {
  /** e.g. `coin_7628-1` */
  readonly chainId: string
  readonly evmChainId: bigint
}

/** All accounts have this number: a sequence is enough to tell transactions of one account apart. */
export const ACCOUNT_NUMBER = 0n

/**
 * The bytes that a key signs in a mode; the key's kind says how they are hashed.
 * @param sequence of the signer
 */
export function signBytes(
  decoded: DecodedTransaction,
  mode: number,
  sequence: bigint,
  chain: SigningChain,
  messages: MessageTable,
): Outcome<Uint8Array> {
  if (mode === SIGN_MODES.SIGN_MODE_DIRECT) {
    const { bodyBytes, authInfoBytes } = decoded.txRaw
    return SignDoc.encode({ bodyBytes, authInfoBytes, chainId: chain.chainId, accountNumber: ACCOUNT_NUMBER })
  }
  if (mode === SIGN_MODES.SIGN_MODE_LEGACY_AMINO_JSON) return aminoSignBytes(decoded, sequence, chain.chainId, messages)
  const name = Object.entries(SIGN_MODES).find(([, number]) => number === mode)?.[0] ?? mode
  return sdkError('notSupported', `the sign mode ${name}`)
}
