import type { Address } from '../../primitives/address.ts'
import { bytesToBigInt, equalBytes } from '../../primitives/bytes.ts'
import { keccak256, sha256 } from '../../primitives/hash.ts'
import { ProtobufError } from '../../primitives/protobuf.ts'
import {
  compressPublicKey,
  recoverPublicKey,
  SECP256K1_HALF_ORDER,
  verifySignature,
} from '../../primitives/secp256k1.ts'
import { MAX_KEYS } from '../auth/params.ts'
import type { MessageTable } from '../message.ts'
import { isSdkError, type Outcome, type SdkError, sdkError } from '../sdkError.ts'
import type { DecodedTransaction, NativeSigner, SignatureCounts } from './nativeTransaction.ts'
import {
  countKeys,
  hasAddress,
  type KeyBudget,
  type MultisigKey,
  publicKeyToAny,
  readPublicKey,
  type SingleKey,
  singleKey,
} from './publicKey.ts'
import { ACCOUNT_NUMBER, createSignDocuments, type SignDocuments, type SigningChain } from './signDocuments.ts'
import { typedDataDigest } from './typedData.ts'
import { type CompactBitArray, type ModeInfo, MultiSignature, SIGN_MODES, type SignerInfo } from './types.ts'

/** How signatures are checked; none of this needs state. */
type SignatureCheck =
  /** they must be valid */
  | 'verify'
  /** they were verified before */
  | 'known'
  /** a simulation: they may be missing */
  | 'simulate'

export interface ReadSigners {
  readonly signers: readonly NativeSigner[]
  readonly signatureCounts: SignatureCounts
  readonly keyCount: number
  /** what verified signatures leave of the ways to encode the transaction; undefined where none were verified */
  readonly signed: SignedEncoding | undefined
}

/** The parts of a transaction that signatures do not cover themselves, in the one form that is accepted. */
export interface SignedEncoding {
  /** in the order of the signers */
  readonly signatures: readonly Uint8Array[]
  /** in the order of the signers; undefined where a signature covers the bytes of body and AuthInfo (SIGN_MODE_DIRECT) */
  readonly signerInfos: readonly SignerInfo[] | undefined
}

interface SignerContext {
  readonly documents: SignDocuments
  readonly chainId: string
  readonly check: SignatureCheck
  readonly sequence: bigint
  /** keys that may still be read */
  readonly budget: KeyBudget
}

/** The keys and signatures of one signer: one of each, or those of a multisig's members. */
interface SignatureSet {
  readonly keys: readonly SingleKey[]
  readonly signatures: readonly Uint8Array[]
  readonly form: SignatureForm
}

/** The verified signatures of one signer in the form that blocks accept. */
interface SignatureForm {
  /** as TxRaw, or the MultiSignature around it, has it */
  readonly signature: Uint8Array
  readonly modeInfo: ModeInfo
  /** one of them is over the bytes of body and AuthInfo */
  readonly coversBytes: boolean
}

/** Reads and checks every signer's key and signatures. Errors: 8 for a key, 4 for a signature. */
export function readSigners(
  decoded: DecodedTransaction,
  chain: SigningChain,
  messages: MessageTable,
  check: SignatureCheck,
): Outcome<ReadSigners> {
  const signers: NativeSigner[] = []
  const forms: SignatureForm[] = []
  const counts = { ethSecp256k1: 0, secp256k1: 0 }
  let keyCount = 0
  const documents = createSignDocuments(decoded, chain, messages)
  const budget = { keys: MAX_KEYS }
  for (const [index, address] of decoded.signers.entries()) {
    const info = decoded.authInfo.signerInfos[index]!
    const signature = decoded.txRaw.signatures[index]!
    const context = { documents, chainId: chain.chainId, check, sequence: info.sequence, budget }
    const read = info.publicKey === undefined ? readKeyless : readWithKey
    const signer = read(context, info, address, signature, index)
    if (isSdkError(signer)) return signer
    for (const { kind } of signer.keys) counts[kind]++
    keyCount += signer.keyCount
    signers.push({ address, sequence: info.sequence, publicKey: signer.publicKey, signatures: signer.signatures })
    forms.push(signer.form)
  }
  const signed = check === 'verify' ? signedEncoding(signers, forms) : undefined
  return { signers, signatureCounts: counts, keyCount, signed }
}

function signedEncoding(signers: readonly NativeSigner[], forms: readonly SignatureForm[]): SignedEncoding {
  const signatures = forms.map(({ signature }) => signature)
  if (forms.some(({ coversBytes }) => coversBytes)) return { signatures, signerInfos: undefined }
  const signerInfos = signers.map(({ publicKey, sequence }, index) => ({
    publicKey,
    modeInfo: forms[index]!.modeInfo,
    sequence,
  }))
  return { signatures, signerInfos }
}

type ReadSigner = SignatureSet & Pick<NativeSigner, 'publicKey'> & { readonly keyCount: number }

function readWithKey(
  context: SignerContext,
  info: SignerInfo,
  address: Address,
  signature: Uint8Array,
  index: number,
): Outcome<ReadSigner> {
  const key = readPublicKey(info.publicKey!, context.budget)
  if (isSdkError(key)) return key
  if (!hasAddress(key, address)) {
    // In a simulation CosmJS sends every key as one of the SDK's own kind, which has another address.
    if (context.check === 'simulate') return readKeyless(context, info, address, signature)
    return sdkError('invalidPubKey', `pubKey does not match signer address with signer index: ${index}`)
  }
  if (info.modeInfo === undefined) return sdkError('txDecode', 'a signer without mode info')
  const set =
    key.kind === 'multisig'
      ? readMultisig(context, key, info.modeInfo, signature)
      : readSingle(context, key, info.modeInfo, signature)
  if (isSdkError(set)) return set
  return { ...set, publicKey: publicKeyToAny(key), keyCount: countKeys(key) }
}

function readSingle(
  context: SignerContext,
  key: SingleKey,
  { single }: ModeInfo,
  signature: Uint8Array,
): Outcome<SignatureSet> {
  if (single === undefined) return sdkError('unauthorized', 'expected one signature, not those of a multisig')
  const set = { keys: [key], signatures: [signature] }
  if (context.check !== 'verify') return { ...set, form: formOf(single.mode, signature) }
  const bytes = context.documents.bytes(single.mode, context.sequence)
  if (isSdkError(bytes)) return bytes
  const mode = signedMode(key, { ...context, bytes, mode: single.mode }, signature)
  return mode === undefined ? verificationFailed(context) : { ...set, form: formOf(mode, compactSignature(signature)) }
}

function formOf(mode: number, signature: Uint8Array): SignatureForm {
  const modeInfo = { single: { mode }, multi: undefined }
  return { signature, modeInfo, coversBytes: mode === SIGN_MODES.SIGN_MODE_DIRECT }
}

/** The document that a key may have signed. */
interface Signed {
  /** of `documents` in this mode */
  readonly bytes: Uint8Array
  readonly mode: number
  readonly sequence: bigint
  readonly documents: SignDocuments
}

/** Whether a key made the signature over a transaction's bytes, or over its typed data. */
export function isSignatureOf(key: SingleKey, signed: Signed, signature: Uint8Array): boolean {
  return signedMode(key, signed, signature) !== undefined
}

/** The sign mode of what the key has signed: typed data shows the amino JSON. Undefined when it did not make the signature. */
function signedMode(key: SingleKey, signed: Signed, signature: Uint8Array): number | undefined {
  const { bytes, mode, sequence, documents } = signed
  if (key.kind === 'secp256k1') return verifySignature(sha256(bytes), signature, key.key) ? mode : undefined
  const compact = compactSignature(signature)
  if (verifySignature(keccak256(bytes), compact, key.key)) return mode
  return documents
    .typedData(mode, sequence)
    .some((hashes) => verifySignature(typedDataDigest(hashes), compact, key.key))
    ? SIGN_MODES.SIGN_MODE_LEGACY_AMINO_JSON
    : undefined
}

/** Without the recovery ID that wallets of Ethereum and Go clients add; it is not looked at. */
function compactSignature(signature: Uint8Array): Uint8Array {
  return signature.length === 65 ? signature.subarray(0, 64) : signature
}

/** LegacyAminoPubKey.VerifyMultisignature (crypto/keys/multisig). */
function readMultisig(
  context: SignerContext,
  key: MultisigKey,
  { multi }: ModeInfo,
  signature: Uint8Array,
): Outcome<SignatureSet> {
  if (multi?.bitarray === undefined) return sdkError('unauthorized', 'expected the signatures of a multisig')
  const { bitarray, modeInfos } = multi
  let parts: readonly Uint8Array[]
  try {
    parts =
      signature.length === 0 && context.check === 'simulate'
        ? modeInfos.map(() => new Uint8Array())
        : MultiSignature.decode(signature).signatures
  } catch (error) {
    if (!(error instanceof ProtobufError)) throw error
    return sdkError('txDecode', error.message)
  }
  const signing = signingMembers(bitarray, key.keys.length)
  if (signing === undefined) return sdkError('unauthorized', 'the bit array of a multisig has another size')
  // More would let others leave some of them out.
  if (signing.length !== key.threshold || signing.length !== parts.length || signing.length !== modeInfos.length) {
    return sdkError('unauthorized', `not as many signatures as the multisig needs (${key.threshold}) and says`)
  }
  const keys: SingleKey[] = []
  const signatures: Uint8Array[] = []
  const forms: SignatureForm[] = []
  for (const [index, memberIndex] of signing.entries()) {
    const member = key.keys[memberIndex]!
    const set =
      member.kind === 'multisig'
        ? readMultisig(context, member, modeInfos[index]!, parts[index]!)
        : readSingle(context, member, modeInfos[index]!, parts[index]!)
    if (isSdkError(set)) return set
    keys.push(...set.keys)
    signatures.push(...set.signatures)
    forms.push(set.form)
  }
  const form = {
    signature: MultiSignature.encode({ signatures: forms.map((member) => member.signature) }),
    modeInfo: { single: undefined, multi: { bitarray, modeInfos: forms.map(({ modeInfo }) => modeInfo) } },
    coversBytes: forms.some(({ coversBytes }) => coversBytes),
  }
  return { keys, signatures, form }
}

/** Indexes of the members that signed; undefined when there are not `size` bits. */
function signingMembers({ extraBitsStored, elems }: CompactBitArray, size: number): number[] | undefined {
  const bits = extraBitsStored === 0 ? elems.length * 8 : (elems.length - 1) * 8 + extraBitsStored
  if (extraBitsStored > 7 || bits !== size) return undefined
  // Bits behind the last member say nothing: they are 0.
  if (extraBitsStored > 0 && (elems.at(-1)! & (0xff >> extraBitsStored)) !== 0) return undefined
  const members: number[] = []
  for (let i = 0; i < size; i++) if ((elems[i >> 3]! & (0x80 >> (i % 8))) !== 0) members.push(i)
  return members
}

/** Reads a signer that leaves its key out: the key is recovered from the signature and must have the signer's address. */
function readKeyless(
  context: SignerContext,
  info: SignerInfo,
  address: Address,
  signature: Uint8Array,
): Outcome<ReadSigner> {
  const { single } = info.modeInfo ?? {}
  if (context.check === 'simulate') {
    // The kind of key that nearly all accounts have.
    const assumed: SingleKey = { kind: 'ethSecp256k1', key: new Uint8Array(33), address }
    const form = formOf(single?.mode ?? SIGN_MODES.SIGN_MODE_DIRECT, signature)
    return { keys: [assumed], signatures: [signature], publicKey: undefined, keyCount: 1, form }
  }
  if (single === undefined) return sdkError('invalidPubKey', 'a multisig must give its public key')
  if (context.budget.keys-- === 0) return sdkError('tooManySignatures')
  const bytes = context.documents.bytes(single.mode, context.sequence)
  if (isSdkError(bytes)) return bytes
  const ofDocument =
    recoverKey('ethSecp256k1', keccak256(bytes), signature, address) ??
    recoverKey('secp256k1', sha256(bytes), signature, address)
  const key =
    ofDocument ??
    context.documents
      .typedData(single.mode, context.sequence)
      .map((hashes) => recoverKey('ethSecp256k1', typedDataDigest(hashes), signature, address))
      .find((found) => found !== undefined)
  if (key === undefined) return verificationFailed(context)
  const mode = ofDocument === undefined ? SIGN_MODES.SIGN_MODE_LEGACY_AMINO_JSON : single.mode
  const form = formOf(mode, compactSignature(signature))
  return { keys: [key], signatures: [signature], publicKey: publicKeyToAny(key), keyCount: 1, form }
}

function recoverKey(
  kind: SingleKey['kind'],
  digest: Uint8Array,
  signature: Uint8Array,
  address: Address,
): SingleKey | undefined {
  if (signature.length !== 64 && (kind === 'secp256k1' || signature.length !== 65)) return undefined
  const r = bytesToBigInt(signature.subarray(0, 32))
  const s = bytesToBigInt(signature.subarray(32, 64))
  if (s > SECP256K1_HALF_ORDER) return undefined
  for (const recovery of [0, 1] as const) {
    const point = recoverPublicKey(digest, recovery, r, s)
    if (point === undefined) continue
    const key = singleKey(kind, compressPublicKey(point))
    if (!isSdkError(key) && equalBytes(key.address, address)) return key
  }
  return undefined
}

function verificationFailed({ chainId, sequence }: SignerContext): SdkError {
  return sdkError(
    'unauthorized',
    `signature verification failed; please verify account number (${ACCOUNT_NUMBER}), sequence (${sequence}) and ` +
      `chain-id (${chainId})`,
  )
}
