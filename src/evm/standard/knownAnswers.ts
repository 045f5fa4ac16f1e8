import { bigIntToBytes, bytesToHex, concatBytes, hexToBytes } from '../../primitives/bytes.ts'
import { sha256 } from '../../primitives/hash.ts'
import type { KnownAnswer } from '../../primitives/selfTest.ts'
import type { runStandardPrecompile } from './runStandardPrecompile.ts'

const words = (size: number, ...values: readonly bigint[]): Uint8Array =>
  concatBytes(...values.map((value) => bigIntToBytes(value, size)))

/** bn254: its field, the generators (EIP-197) and the first one negated. */
const BN_P = 0x30644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd47n
const BN_G1 = words(32, 1n, 2n)
const BN_NEGATED = words(32, 1n, BN_P - 2n)
const BN_G2 = words(
  32,
  0x198e9393920d483a7260bfb731fb5d25f1aa493335a9e71297e485b7aef312c2n,
  0x1800deef121f1e76426a00665e5c4479674322d4f75edadd46debd5cd992f6edn,
  0x090689d0585ff075ec9e99ad690c3395bc4b313370b38ef355acdadcd122975bn,
  0x12c85ea5db8c6deb4aab71808dcb408fe3d1e7690c43d37b4ce6cc0166fa7daan,
)

/** BLS12-381 in the encoding of EIP-2537, 64 bytes an integer. */
const BLS_P = 0x1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf6730d2a0f6b0f6241eabfffeb153ffffb9feffffffffaaabn
const BLS_X = 0x17f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac586c55e83ff97a1aeffb3af00adb22c6bbn
const BLS_Y = 0x08b3f481e3aaa0f1a09e30ed741d8ae4fcf5e095d5d00af600db18cb2c04b3edd03cc744a2888ae40caa232946c5e7e1n
const BLS_G1 = words(64, BLS_X, BLS_Y)
const BLS_NEGATED = words(64, BLS_X, BLS_P - BLS_Y)
const BLS_G2 = words(
  64,
  0x024aa2b2f08f0a91260805272dc51051c6e47ad4fa403b02b4510b647ae3d1770bac0326a805bbefd48056c8c121bdb8n,
  0x13e02b6052719f607dacd3a088274f65596bd0d09920b61ab5da61bbdc7f5049334cf11213945d57e5ac7d055d042b7en,
  0x0ce5d527727d6e118cc9cdc6da2e351aadfd9baa8cbdd3a76d429a695160d12c923ac9cc3baca289e193548608b82801n,
  0x0606c4a02ea734cc32acd2b02bc28b99cb3e287e85a763af267492ab572e99ab3f370d275cec1da1aaa9075ff05f79ben,
)
/** On the curves of G1 and G2, outside of the subgroups that a pairing takes. */
const BLS_OUTSIDE = words(
  64,
  4n,
  0x0a989badd40d6212b33cffc3f3763e9bc760f988c9926b26da9dd85e928483446346b8ed00e1de5d5ea93e354abe706cn,
)
const BLS_G2_OUTSIDE = words(
  64,
  1n,
  1n,
  0x02066bca274eb64b2410222895b74acec54cf001baf6c7aeeff616820743dce87eddb1700e7a2d717dc4cea5582195e1n,
  0x1934ffa59d993a4bcbe529440126a8af9f7bff4bc127e15ab9f75688bf07e7157d06cb8933608b225495cba14be0d33dn,
)
const SCALAR = words(32, 0x1234567890abcdef1234567890abcdef1234567890abcdef1234567890abcdefn)

/** A KZG proof that the polynomial 5·X + 3 is 58 at 11 (EIP-4844). */
const KZG_COMMITMENT = hexToBytes(
  'a45753e450de508f749f400354c97c17759bb9f8a6a6f60dff33f371eda17144a4ea3353ad9b5c570026d44f84f73a99',
)
const KZG_PROOF = hexToBytes(
  'b0e7791fb972fe014159aa33a98622da3cdc98ff707965e536d8636b5fcc5ac7a91a8c46e59a00dca575af0f18fb13dc',
)
const KZG = concatBytes(sha256(KZG_COMMITMENT).fill(1, 0, 1), words(32, 11n, 58n), KZG_COMMITMENT, KZG_PROOF)

/** A signature of P-256 (EIP-7951): r, s and the key. */
const P256 = words(
  32,
  0xd6f2e1964e01c37cffde27f4b48f6b2f0e5b9500b0e0d100a5d4de0e3048fa9an,
  0xc42d7f81522e3d762cc4a9ffa488b736de0ce617ec4c0baac73f86e57e27682cn,
  0xd65a93977caa3d1b081852ff57a79e465f1660577304baead505dd3a48589cf3n,
  0x50185e895372df6221ea3a137557e473fddb6755f05bd507c3c533fce9c91285n,
)
const p256 = (digest: number): Uint8Array => concatBytes(new Uint8Array(32).fill(digest), P256)

/** One call of a precompile; `answer` is the beginning of the sha256 of its output, or `failure`, which is an answer too. */
export interface PrecompileCall {
  readonly name: string
  /** the number that its address is */
  readonly number: number
  readonly input: Uint8Array
  readonly answer: string
}

const call = (number: number, name: string, input: Uint8Array, answer: string): PrecompileCall => ({
  name,
  number,
  input,
  answer,
})

/**
 * Each precompile on curves that runs in WebAssembly (`mcl-wasm`'s, assembly/curves/bls12381 or
 * assembly/curves/bn254), with inputs that it takes and inputs that it must refuse.
 */
export const PRECOMPILE_CALLS: readonly PrecompileCall[] = [
  call(6, 'addition on bn254', concatBytes(BN_G1, BN_G1), '28b9678b2da6969e'),
  call(6, 'addition on bn254', concatBytes(BN_G1, words(32, 1n, 3n)), 'failure'),
  call(7, 'multiplication on bn254', concatBytes(BN_G1, SCALAR), '63f7f90a337fdd90'),
  call(8, 'pairing on bn254', concatBytes(BN_G1, BN_G2, BN_NEGATED, BN_G2), 'ec4916dd28fc4c10'),
  call(10, 'KZG proof', KZG, '41981f51e7e4a8de'),
  call(11, 'addition on G1', concatBytes(BLS_G1, BLS_OUTSIDE), '5f881640ffb89baf'),
  call(11, 'addition on G1', concatBytes(BLS_G1, words(64, BLS_X, BLS_Y + 1n)), 'failure'),
  call(12, 'sum of multiples on G1', concatBytes(BLS_G1, SCALAR, BLS_NEGATED, words(32, 7n)), 'ee6c9a92db97cc72'),
  call(12, 'sum of multiples on G1', concatBytes(BLS_OUTSIDE, SCALAR), 'failure'),
  call(13, 'addition on G2', concatBytes(BLS_G2, BLS_G2), '87863eeb3c9d7ba3'),
  call(13, 'addition on G2', concatBytes(BLS_G2, words(64, 1n, 2n, 3n, 4n)), 'failure'),
  call(14, 'sum of multiples on G2', concatBytes(BLS_G2, SCALAR, BLS_G2, words(32, 7n)), '3d32fe44605e0e52'),
  call(14, 'sum of multiples on G2', concatBytes(BLS_G2_OUTSIDE, SCALAR), 'failure'),
  call(15, 'pairing on BLS12-381', concatBytes(BLS_G1, BLS_G2), '66687aadf862bd77'),
  call(15, 'pairing on BLS12-381', concatBytes(BLS_G1, BLS_G2, BLS_NEGATED, BLS_G2), 'ec4916dd28fc4c10'),
  call(15, 'pairing on BLS12-381', concatBytes(BLS_OUTSIDE, BLS_G2), 'failure'),
  call(16, 'map to G1', words(64, 7n), '92ad964a12bf9168'),
  call(17, 'map to G2', words(64, 7n, 8n), 'a8cd8bd67b57d32d'),
  call(256, 'signature of P-256', p256(0x11), 'ec4916dd28fc4c10'),
  call(256, 'signature of P-256', p256(0x12), 'e3b0c44298fc1c14'),
]

/** More than any of these calls takes. */
const GAS_LIMIT = 1_000_000n

/** Returns the known answers that an EVM thread checks when it starts. @param run runs a precompile */
export function precompileAnswers(run: typeof runStandardPrecompile): readonly KnownAnswer[] {
  return PRECOMPILE_CALLS.map(({ name, number, input, answer }) => ({
    what: `precompiles, ${name},`,
    expected: answer,
    run: () => {
      const { status, output } = run(bigIntToBytes(BigInt(number), 20), input, GAS_LIMIT, 'osaka')
      return status === 'success' ? bytesToHex(sha256(output).subarray(0, 8)).slice(2) : 'failure'
    },
  }))
}
