import type { MessageTable } from '../message.ts'
import { isSdkError, type Outcome, sdkError } from '../sdkError.ts'
import { type AminoSignDoc, createAminoSignDoc } from './aminoSignDoc.ts'
import type { DecodedTransaction } from './decodedTransaction.ts'
import { eip712Digests } from './eip712.ts'
import type { SigningChain } from './signingChain.ts'
import { ACCOUNT_NUMBER } from './signingChain.ts'
import { SIGN_MODES, SignDoc } from './txTypes.ts'

/**
 * Typed data is a microsecond of work a byte, which anybody who sends a wrong signature could ask for: longer bodies, of more than
 * a hundred messages, cannot be signed so. The reference has no such bound.
 */
export const MAX_TYPED_BODY_BYTES = 16_384

/** What the keys of one transaction sign. Everything is made once, when it is first asked for. */
export interface SignDocuments {
  /** The bytes that a key signs in a mode; the key's kind says how they are hashed. */
  readonly bytes: (mode: number, sequence: bigint) => Outcome<Uint8Array>
  /** what an Ethereum wallet may have signed in their place, see `eip712Digests` */
  readonly typedDataDigests: (mode: number, sequence: bigint) => readonly Uint8Array[]
}

export function createSignDocuments(
  decoded: DecodedTransaction,
  chain: SigningChain,
  messages: MessageTable,
): SignDocuments {
  let known: Outcome<AminoSignDoc> | undefined
  const amino = (): Outcome<AminoSignDoc> => {
    known ??= createAminoSignDoc(decoded, chain.chainId, messages)
    return known
  }
  const aminoBytes = (sequence: bigint): Outcome<Uint8Array> => {
    const document = amino()
    return isSdkError(document) ? document : document.bytes(sequence)
  }
  const directBytes = (): Uint8Array => {
    const { bodyBytes, authInfoBytes } = decoded.txRaw
    return SignDoc.encode({ bodyBytes, authInfoBytes, chainId: chain.chainId, accountNumber: ACCOUNT_NUMBER })
  }
  return {
    bytes: remembered((mode, sequence) => {
      if (mode === SIGN_MODES.SIGN_MODE_DIRECT) return directBytes()
      if (mode === SIGN_MODES.SIGN_MODE_LEGACY_AMINO_JSON) return aminoBytes(sequence)
      const name = Object.entries(SIGN_MODES).find(([, number]) => number === mode)?.[0] ?? mode
      return sdkError('notSupported', `the sign mode ${name}`)
    }),
    typedDataDigests: remembered((mode, sequence) => {
      if (decoded.txRaw.bodyBytes.length > MAX_TYPED_BODY_BYTES) return []
      const document = amino()
      if (isSdkError(document)) return []
      return eip712Digests(decoded, document, { mode, sequence, evmChainId: chain.evmChainId, messages })
    }),
  }
}

function remembered<T>(make: (mode: number, sequence: bigint) => T): (mode: number, sequence: bigint) => T {
  let last: { readonly mode: number; readonly sequence: bigint; readonly result: T } | undefined
  return (mode, sequence) => {
    if (last?.mode !== mode || last.sequence !== sequence) last = { mode, sequence, result: make(mode, sequence) }
    return last.result
  }
}
