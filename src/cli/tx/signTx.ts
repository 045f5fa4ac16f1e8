import { evmChainIdOf } from '../../config/chainIds.ts'
import { ConfigError } from '../../config/configError.ts'
import { MESSAGES } from '../../modules/messageTable.ts'
import { isSdkError, type Outcome } from '../../modules/sdkError.ts'
import type { DecodedTransaction } from '../../modules/tx/nativeTransaction.ts'
import { hasAddress, type MultisigKey, type PublicKey, publicKeyToAny } from '../../modules/tx/publicKey.ts'
import { isSignatureOf } from '../../modules/tx/readSigners.ts'
import { createSignDocuments, type SignDocuments } from '../../modules/tx/signDocuments.ts'
import { decodeUnsigned } from '../../modules/tx/transactionDecoder.ts'
import {
  type CompactBitArray,
  type ModeInfo,
  MultiSignature,
  SIGN_MODES,
  type SignatureData,
  type SignatureDescriptor,
  type SignerInfo,
  Tx,
} from '../../modules/tx/types.ts'
import { type Address, toBech32 } from '../../primitives/address.ts'
import { equalBytes } from '../../primitives/bytes.ts'
import type { AnyValue } from '../../primitives/protoSchema.ts'
import { publicKeyIn } from '../keys/keystore.ts'
import type { Signer } from '../keys/signer.ts'

/** The mode of everything that several keys sign: no signer's document holds the others. */
const AMINO = SIGN_MODES.SIGN_MODE_LEGACY_AMINO_JSON

/** Values that are signed together with the transaction. */
export interface SigningTerms {
  readonly chainId: string
  /** of the account that signs */
  readonly sequence: bigint
  /** undefined: the first of the signer's modes that the transaction can be signed in */
  readonly mode?: number | undefined
}

/**
 * Signs a transaction.
 * @param account whose transaction it is: the signer's own, or a multisig that the signer is a member of
 * @throws ConfigError when the transaction is not valid, or not one that the account signs
 */
export async function makeSignature(
  tx: Tx,
  account: Address,
  signer: Signer,
  terms: SigningTerms,
): Promise<SignatureDescriptor> {
  const publicKey = publicKeyToAny(signer.key)
  const { signers } = decodeTx(tx)
  if (!signers.some((address) => equalBytes(address, account))) {
    throw new ConfigError(`the transaction must be signed by ${listOf(signers)}, not by ${toBech32(account)}`)
  }
  // In SIGN_MODE_DIRECT a key signs the keys and sequences of all signers, which the next ones would change.
  const isAlone = signers.length === 1 && equalBytes(account, signer.key.address)
  const possible = isAlone ? signer.modes : signer.modes.filter((mode) => mode === AMINO)
  const mode = terms.mode ?? possible[0]!
  if (!possible.includes(mode)) {
    throw new ConfigError(
      'this key cannot sign the transaction in that mode: use amino-json for several signers or a Ledger',
    )
  }
  const { chainId, sequence } = terms
  const unsigned: SignatureDescriptor = {
    publicKey,
    data: { single: { mode, signature: new Uint8Array() }, multi: undefined },
    sequence,
  }
  const documents = documentsOf(isAlone ? withSignature(tx, account, unsigned) : tx, chainId)
  const signature = await signer.sign(documents, mode, sequence)
  return { ...unsigned, data: { single: { mode, signature }, multi: undefined } }
}

/**
 * Puts the signatures of members together to that of their multisig.
 * @param signatures in any order
 * @throws ConfigError when one is wrong, of no member, or too few are given
 */
export function combineSignatures(
  tx: Tx,
  { multisig, publicKey }: { readonly multisig: MultisigKey; readonly publicKey: AnyValue },
  signatures: readonly SignatureDescriptor[],
  { chainId, sequence }: Pick<SigningTerms, 'chainId' | 'sequence'>,
): SignatureDescriptor {
  const documents = documentsOf(tx, chainId)
  const byMember = new Map<number, SignatureData>()
  for (const { publicKey: any, data } of signatures) {
    const key = any && publicKeyIn(any)
    const index = multisig.keys.findIndex((member) => key !== undefined && equalBytes(member.address, key.address))
    const { single } = data ?? {}
    if (index < 0 || key === undefined || key.kind === 'multisig' || single === undefined) {
      throw new ConfigError(
        `a signature is from ${key === undefined ? 'an unknown key' : toBech32(key.address)}, which is not a member of the multisig`,
      )
    }
    const bytes = documents.bytes(single.mode, sequence)
    if (isSdkError(bytes)) throw new ConfigError(bytes.message)
    if (
      single.mode !== AMINO ||
      !isSignatureOf(key, { bytes, mode: single.mode, sequence, documents }, single.signature)
    ) {
      throw new ConfigError(
        `the signature of ${toBech32(key.address)} is wrong for chain ID ${chainId} and sequence ${sequence}, ` +
          'or belongs to another transaction',
      )
    }
    byMember.set(index, { single, multi: undefined })
  }
  if (byMember.size < multisig.threshold) {
    throw new ConfigError(`the multisig requires ${multisig.threshold} signatures, but ${byMember.size} were given`)
  }
  // The chain takes as many as the multisig needs: more would let others leave some of them out.
  const indexes = [...byMember.keys()].sort((a, b) => a - b).slice(0, multisig.threshold)
  const bitarray = compactBitArray(multisig.keys.length, indexes)
  const multi = { bitarray, signatures: indexes.map((index) => byMember.get(index)!) }
  return { publicKey, data: { single: undefined, multi }, sequence }
}

/** Encodes a cosmos.crypto.multisig.v1beta1.CompactBitArray of `size` bits in which these are set. */
function compactBitArray(size: number, indexes: readonly number[]): CompactBitArray {
  const elems = new Uint8Array(Math.ceil(size / 8))
  for (const index of indexes) elems[index >> 3]! |= 0x80 >> (index % 8)
  return { extraBitsStored: size % 8, elems }
}

/** Adds an account's signature or replaces an earlier one; signers stay in the order of the messages. */
export function withSignature(tx: Tx, account: Address, signature: SignatureDescriptor): Tx {
  const { signers } = decodeTx(tx)
  const infos = tx.authInfo?.signerInfos ?? []
  const earlier = infos.map((info, index) => ({ info, bytes: tx.signatures[index] ?? new Uint8Array() }))
  const { publicKey, data, sequence } = signature
  const own = { info: { publicKey, modeInfo: modeInfoOf(data!), sequence }, bytes: signatureBytes(data!) }
  const isOf = (address: Address, { publicKey: key }: SignerInfo): boolean =>
    key !== undefined && hasAddress(publicKeyIn(key), address)
  const entries = signers
    .map((address) => (equalBytes(address, account) ? own : earlier.find(({ info }) => isOf(address, info))))
    .filter((entry) => entry !== undefined)
  return {
    ...tx,
    authInfo: { ...tx.authInfo!, signerInfos: entries.map(({ info }) => info) },
    signatures: entries.map(({ bytes }) => bytes),
  }
}

/** A signer whose signature is to come. */
export interface Placeholder {
  /** undefined when only its address is known */
  readonly publicKey: AnyValue | undefined
  readonly sequence: bigint
}

/**
 * Returns the transaction with the length that it will have once it is signed, for a simulation.
 * @param signers all, in their order
 */
export function withPlaceholders(tx: Tx, signers: readonly Placeholder[]): Tx {
  const data = signers.map(({ publicKey }) => emptySignature(publicKey && publicKeyIn(publicKey)))
  return {
    ...tx,
    authInfo: {
      ...tx.authInfo!,
      signerInfos: signers.map((signer, index) => ({ ...signer, modeInfo: modeInfoOf(data[index]!) })),
    },
    signatures: data.map(signatureBytes),
  }
}

const SIGNATURE_BYTES = 64

/** Returns an empty signature, with as many members of a multisig as it needs. */
function emptySignature(key: PublicKey | undefined): SignatureData {
  if (key?.kind === 'multisig') {
    const indexes = Array.from({ length: key.threshold }, (_, index) => index)
    const signatures = indexes.map((index) => emptySignature(key.keys[index]))
    return { single: undefined, multi: { bitarray: compactBitArray(key.keys.length, indexes), signatures } }
  }
  const single = { mode: SIGN_MODES.SIGN_MODE_DIRECT, signature: new Uint8Array(SIGNATURE_BYTES) }
  return { single, multi: undefined }
}

function modeInfoOf({ single, multi }: SignatureData): ModeInfo {
  if (multi === undefined) return { single: { mode: single!.mode }, multi: undefined }
  return { single: undefined, multi: { bitarray: multi.bitarray, modeInfos: multi.signatures.map(modeInfoOf) } }
}

function signatureBytes({ single, multi }: SignatureData): Uint8Array {
  return multi === undefined
    ? single!.signature
    : MultiSignature.encode({ signatures: multi.signatures.map(signatureBytes) })
}

/** Decodes a transaction that not all signers have signed. @throws ConfigError when it is not valid */
export function decodeTx(tx: Tx): DecodedTransaction {
  const decoded: Outcome<DecodedTransaction> = decodeUnsigned(Tx.encode(tx), MESSAGES)
  if (isSdkError(decoded)) throw new ConfigError(`the transaction is not valid: ${decoded.message}`)
  return decoded
}

/** @throws ConfigError when the chain ID has another form */
export function signingChainOf(chainId: string): { readonly chainId: string; readonly evmChainId: bigint } {
  const evmChainId = evmChainIdOf(chainId)
  if (evmChainId === undefined) throw new ConfigError(`${chainId} is not a chain ID: expected one such as coin_7628-1`)
  return { chainId, evmChainId }
}

function documentsOf(tx: Tx, chainId: string): SignDocuments {
  return createSignDocuments(decodeTx(tx), signingChainOf(chainId), MESSAGES)
}

export function listOf(addresses: readonly Address[]): string {
  return addresses.map((address) => toBech32(address)).join(' and ')
}
