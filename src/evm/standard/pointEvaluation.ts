import { bytesToBigInt, hexToBytes, toBuffer } from '../../primitives/bytes.ts'
import { sha256 } from '../../primitives/hash.ts'
import { BLS_ORDER, isProven, setUpProofs } from './bls12381Batches.ts'
import type { StandardPrecompile } from './standardPrecompile.ts'

const LENGTH = 192
/** FIELD_ELEMENTS_PER_BLOB and BLS_MODULUS. */
const OUTPUT = hexToBytes(`${(4_096).toString(16).padStart(64, '0')}${BLS_ORDER.toString(16)}`)
const VERSION = 0x01

/** 0x0a: verifies a KZG proof (EIP-4844): versioned hash, z, y, commitment, proof. */
export const pointEvaluation: StandardPrecompile = {
  gas: () => 50_000n,
  run(input) {
    if (input.length !== LENGTH) return 'invalid input length'
    const versionedHash = sha256(input.subarray(96, 144))
    versionedHash[0] = VERSION
    if (toBuffer(versionedHash).compare(input, 0, 32) !== 0) return 'mismatched versioned hash'
    const z = bytesToBigInt(input.subarray(32, 64))
    const y = bytesToBigInt(input.subarray(64, 96))
    const isValid = z < BLS_ORDER && y < BLS_ORDER && isProven(input.subarray(96), z, y)
    return isValid ? OUTPUT.slice() : 'error verifying kzg proof'
  },
}

/** Generators of the groups (EIP-2537), negated: the 48 bytes of each coordinate. */
const MINUS_G1_GENERATOR = [
  '17f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac586c55e83ff97a1aeffb3af00adb22c6bb',
  '114d1d6855d545a8aa7d76c8cf2e21f267816aef1db507c96655b9d5caac42364e6f38ba0ecb751bad54dcd6b939c2ca',
]
const MINUS_G2_GENERATOR = [
  '024aa2b2f08f0a91260805272dc51051c6e47ad4fa403b02b4510b647ae3d1770bac0326a805bbefd48056c8c121bdb8',
  '13e02b6052719f607dacd3a088274f65596bd0d09920b61ab5da61bbdc7f5049334cf11213945d57e5ac7d055d042b7e',
  '0d1b3cc2c7027888be51d9ef691d77bcb679afda66c73f17f9ee3837a55024f78c71363275a75d75d86bab79f74782aa',
  '13fa4d4a0ad8b1ce186ed5061789213d993923066dddaf1040bc3ff59f825c78df74f2d75467e25e0f55f8a00fa030ed',
]
/** [τ]₂ of Ethereum's trusted setup (consensus-specs, trusted_setup_4096.json, g2_monomial[1]), decompressed. */
const TAU_G2 = [
  '185cbfee53492714734429b7b38608e23926c911cceceac9a36851477ba4c60b087041de621000edc98edada20c1def2',
  '15bfd7dd8cdeb128843bc287230af38926187075cbfbefa81009a2ce615ac53d2914e5870cb452d2afaaab24f3499f72',
  '014353bdb96b626dd7d5ee8599d1fca2131569490e28de18e82451a496a9c9794ce26d105941f383ee689bfbbb832a99',
  '1666c54b0a32529503432fcae0181b4bef79de09fc63671fda5ed1ba9bfa07899495346f3d7ac9cd23048ef30d0a154f',
]

setUpProofs(encoded([...MINUS_G1_GENERATOR, ...MINUS_G2_GENERATOR, ...TAU_G2]))

/** Coordinates of 64 bytes, as EIP-2537 has them. */
function encoded(coordinates: readonly string[]): Uint8Array {
  return hexToBytes(coordinates.map((coordinate) => coordinate.padStart(128, '0')).join(''))
}
