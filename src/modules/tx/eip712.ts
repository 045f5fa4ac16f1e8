import { equalBytes } from '../../primitives/bytes.ts'
import type { Json } from '../../primitives/protoScalars.ts'
import type { MessageTable } from '../message.ts'
import type { AminoSignDoc } from './aminoSignDoc.ts'
import type { DecodedTransaction } from './decodedTransaction.ts'
import { flatTypedData, legacyTypedData } from './eip712Types.ts'
import { SIGN_MODES } from './txTypes.ts'
import { typedDataDigests } from './typedData.ts'

/**
 * The digests by which Ethereum wallets may have signed a transaction in place of its sign bytes (EIP-712): that of the flat
 * encoding and that of the older one, both over the amino JSON, as cosmos/evm takes them (ethereum/eip712). None where the
 * transaction cannot be written so: messages of several signers, several signers in SIGN_MODE_DIRECT, extension options, a
 * timeout height, a fee payer or granter.
 */
export function eip712Digests(
  decoded: DecodedTransaction,
  document: AminoSignDoc,
  { mode, sequence, evmChainId, messages }: TypedDataContext,
): readonly Uint8Array[] {
  const [signer, ...others] = decoded.messages.flatMap(({ handler, value }) => handler.signers(value))
  if (signer === undefined || others.some((other) => !equalBytes(other, signer))) return []
  if (mode === SIGN_MODES.SIGN_MODE_DIRECT && decoded.authInfo.signerInfos.length !== 1) return []
  const json = document.json(sequence)
  const typed = [flatTypedData(json), legacyTypedData(json, decoded.messages, signer, messages)]
  const domain = domainOf(evmChainId)
  return typed.flatMap((data) => (data === undefined ? [] : typedDataDigests(data, domain)))
}

interface TypedDataContext {
  readonly mode: number
  /** of the signer */
  readonly sequence: bigint
  readonly evmChainId: bigint
  readonly messages: MessageTable
}

/** Domain of all typed data: strings where other chains have an address and 32 bytes. */
function domainOf(evmChainId: bigint): { readonly [name: string]: Json } {
  return {
    name: 'Cosmos Web3',
    version: '1.0.0',
    chainId: evmChainId.toString(),
    verifyingContract: 'cosmos',
    salt: '0',
  }
}
