import { bytesKey, bytesKeyOf, bytesToHex, hexToBytes } from './bytes.ts'
import { decompressPublicKey, recoverPublicKey, SECP256K1_ORDER, verifySignature } from './secp256k1.ts'

/**
 * A computation with a known answer. The node calls some functions that no documentation promises, for their speed: private ones of
 * `Buffer`, the native binding of `secp256k1`, the WebAssembly inside `mcl-wasm`. One that another version lacks, or that answers
 * differently there, would make this node disagree with all others about blocks; so each thread that uses them tries them when it
 * starts, before it serves anything.
 */
export interface KnownAnswer {
  /** names the function for the operator */
  readonly what: string
  readonly run: () => string
  readonly expected: string
}

/** The start is refused: this node would compute other results than the network. */
export class SelfTestError extends Error {
  override readonly name = 'SelfTestError'
}

/** @param what names the function; `problem` says what it does */
export function selfTestError(what: string, problem: string, cause?: unknown): SelfTestError {
  const why = cause instanceof Error ? ` (${cause.message})` : ''
  const advice =
    'this node would disagree with the others: run npm ci, with the Node.js that docs/dependencies.md names'
  return new SelfTestError(`self-test: ${what} ${problem}${why}; ${advice}`, { cause })
}

/** @throws SelfTestError that names the function, and what to do, when an answer is wrong or cannot be computed */
export function checkKnownAnswers(answers: readonly KnownAnswer[]): void {
  for (const { what, run, expected } of answers) {
    let found: string
    try {
      found = run()
    } catch (error) {
      throw selfTestError(what, 'fails', error)
    }
    if (found !== expected)
      throw selfTestError(what, `returned ${found.slice(0, 80) || 'nothing'} instead of ${expected.slice(0, 80)}`)
  }
}

/** Every byte, between others that do not belong to it. */
const BYTES = Uint8Array.from({ length: 260 }, (_, i) => i - 2).subarray(2, 258)
const HEX = Array.from(BYTES, (byte) => byte.toString(16).padStart(2, '0')).join('')

/** Signed with the private key 1, whose public key is the base point of the curve; the nonce is that of RFC 6979. */
const DIGEST = new Uint8Array(32).fill(0x11)
const R = 0xe7c93726a865578504442b1a6827f676e0ed74bdff2be3960d1e253bbcfc4462n
const S = 0x6aa772b878bc912bdbb33a0014ec507c4b3896ea85aa914b74dee9b7ac3e56dan
const RECOVERY = 1
const BASE_X = '79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798'
const BASE_Y = '483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8'

function characters(text: string): string {
  return Array.from(text, (character) => character.charCodeAt(0)).join()
}

/**
 * Returns whether the signature verifies, and whether it does with another digest and with a high
 * s, as EIP-2 forbids.
 */
function verdicts(): string {
  const key = hexToBytes(`02${BASE_X}`)
  const signature = hexToBytes(R.toString(16) + S.toString(16))
  const highS = hexToBytes(R.toString(16) + (SECP256K1_ORDER - S).toString(16))
  const good = verifySignature(DIGEST, signature, key)
  return [good, verifySignature(DIGEST.with(0, 0), signature, key), verifySignature(DIGEST, highS, key)].join()
}

function hexOrNone(bytes: Uint8Array | undefined): string {
  return bytes === undefined ? 'none' : bytesToHex(bytes)
}

/** Known answers that every thread checks: keys of maps, hex, signatures. */
export const PRIMITIVE_ANSWERS: readonly KnownAnswer[] = [
  { what: 'latin1Slice of Buffer', run: () => characters(bytesKey(BYTES)), expected: BYTES.join() },
  {
    what: 'latin1Slice of Buffer',
    run: () => characters(bytesKeyOf(BYTES, 126, 131)),
    expected: '126,127,128,129,130',
  },
  { what: 'hexSlice of Buffer', run: () => bytesToHex(BYTES), expected: `0x${HEX}` },
  {
    what: 'ecdsaRecover of secp256k1',
    run: () => hexOrNone(recoverPublicKey(DIGEST, RECOVERY, R, S)),
    expected: `0x${BASE_X}${BASE_Y}`,
  },
  {
    what: 'ecdsaRecover of secp256k1',
    // An r that is the x of no point.
    run: () => hexOrNone(recoverPublicKey(DIGEST, RECOVERY, 5n, S)),
    expected: 'none',
  },
  { what: 'ecdsaVerify of secp256k1', run: verdicts, expected: 'true,false,false' },
  {
    what: 'publicKeyConvert of secp256k1',
    run: () => hexOrNone(decompressPublicKey(hexToBytes(`02${BASE_X}`))),
    expected: `0x${BASE_X}${BASE_Y}`,
  },
  {
    what: 'publicKeyConvert of secp256k1',
    run: () => hexOrNone(decompressPublicKey(hexToBytes(`02${'5'.padStart(64, '0')}`))),
    expected: 'none',
  },
]
