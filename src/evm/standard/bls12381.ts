import {
  isProductOfPairingsOne,
  mapToG1,
  mapToG2,
  multiplesOfG1,
  multiplesOfG2,
  type PointFault,
} from './bls12381Batches.ts'
import { createMcl, FieldCodec, FP_SIZE } from './mcl.ts'
import { type StandardPrecompile, toWord } from './standardPrecompile.ts'

/**
 * BLS12-381 in an instance of mcl, for the additions of EIP-2537; sums of multiples, pairings and maps have WebAssembly of their
 * own.
 */
export const mcl = createMcl('bls12381')
const { f } = mcl

const MODULUS = 0x1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf6730d2a0f6b0f6241eabfffeb153ffffb9feffffffffaaabn

const field = new FieldCodec(mcl, MODULUS, FP_SIZE)

/** Bytes of points in the input of EIP-2537: two field elements of 64 bytes, or four. */
const G1_LENGTH = 128
const G2_LENGTH = 256

const leftG1 = mcl.allocateG1()
const rightG1 = mcl.allocateG1()

/** 0x0b: the sum of two points of BLS12-381's G1 (EIP-2537), which need not be in the subgroup. */
export const bls12G1Add: StandardPrecompile = {
  gas: () => 375n,
  run(input) {
    if (input.length !== 256) return 'invalid input length'
    const bad = readG1(input, 0, leftG1) ?? readG1(input, 128, rightG1)
    if (bad !== undefined) return bad
    f.mclBnG1_add(leftG1, leftG1, rightG1)
    return writeG1(leftG1)
  },
}

const G1_TERM_LENGTH = G1_LENGTH + 32

/** 0x0c: the sum of points of BLS12-381's G1 times scalars (EIP-2537). */
export const bls12G1Msm: StandardPrecompile = {
  gas: (input) => msmGas(Math.floor(input.length / G1_TERM_LENGTH), 12_000, G1_DISCOUNTS),
  run(input) {
    if (input.length === 0 || input.length % G1_TERM_LENGTH !== 0) return 'invalid input length'
    const sum = multiplesOfG1(input)
    return typeof sum === 'string' ? BAD[sum] : sum
  },
}

const leftG2 = mcl.allocateG2()
const rightG2 = mcl.allocateG2()

/** 0x0d: the sum of two points of BLS12-381's G2 (EIP-2537), which need not be in the subgroup. */
export const bls12G2Add: StandardPrecompile = {
  gas: () => 600n,
  run(input) {
    if (input.length !== 512) return 'invalid input length'
    const bad = readG2(input, 0, leftG2) ?? readG2(input, 256, rightG2)
    if (bad !== undefined) return bad
    f.mclBnG2_add(leftG2, leftG2, rightG2)
    return writeG2(leftG2)
  },
}

const G2_TERM_LENGTH = G2_LENGTH + 32

/** 0x0e: the sum of points of BLS12-381's G2 times scalars (EIP-2537). */
export const bls12G2Msm: StandardPrecompile = {
  gas: (input) => msmGas(Math.floor(input.length / G2_TERM_LENGTH), 22_500, G2_DISCOUNTS),
  run(input) {
    if (input.length === 0 || input.length % G2_TERM_LENGTH !== 0) return 'invalid input length'
    const sum = multiplesOfG2(input)
    return typeof sum === 'string' ? BAD[sum] : sum
  },
}

const PAIR_LENGTH = G1_LENGTH + G2_LENGTH

/** 0x0f: whether a product of pairings of BLS12-381 is one (EIP-2537). */
export const bls12Pairing: StandardPrecompile = {
  gas: (input) => BigInt(37_700 + 32_600 * Math.floor(input.length / PAIR_LENGTH)),
  run(input) {
    if (input.length === 0 || input.length % PAIR_LENGTH !== 0) return 'invalid input length'
    const isOne = isProductOfPairingsOne(input)
    return typeof isOne === 'boolean' ? toWord(isOne) : BAD[isOne]
  },
}

/** 0x10: maps a field element to BLS12-381's G1 (EIP-2537, RFC 9380 with the cofactor cleared). */
export const bls12MapFpToG1: StandardPrecompile = {
  gas: () => 5_500n,
  run(input) {
    if (input.length !== 64) return 'invalid input length'
    const point = mapToG1(input)
    return typeof point === 'string' ? BAD[point] : point
  },
}

/** 0x11: maps an element of Fp2 to BLS12-381's G2 (EIP-2537, RFC 9380 with the cofactor cleared). */
export const bls12MapFp2ToG2: StandardPrecompile = {
  gas: () => 23_800n,
  run(input) {
    if (input.length !== 128) return 'invalid input length'
    const point = mapToG2(input)
    return typeof point === 'string' ? BAD[point] : point
  },
}

/** Per mille of the price of single multiplications, by the number of points from 1 to 128; the last holds for more (EIP-2537). */
const G1_DISCOUNTS: readonly number[] = [
  1000, 949, 848, 797, 764, 750, 738, 728, 719, 712, 705, 698, 692, 687, 682, 677, 673, 669, 665, 661, 658, 654, 651,
  648, 645, 642, 640, 637, 635, 632, 630, 627, 625, 623, 621, 619, 617, 615, 613, 611, 609, 608, 606, 604, 603, 601,
  599, 598, 596, 595, 593, 592, 591, 589, 588, 586, 585, 584, 582, 581, 580, 579, 577, 576, 575, 574, 573, 572, 570,
  569, 568, 567, 566, 565, 564, 563, 562, 561, 560, 559, 558, 557, 556, 555, 554, 553, 552, 551, 550, 549, 548, 547,
  547, 546, 545, 544, 543, 542, 541, 540, 540, 539, 538, 537, 536, 536, 535, 534, 533, 532, 532, 531, 530, 529, 528,
  528, 527, 526, 525, 525, 524, 523, 522, 522, 521, 520, 520, 519,
]
const G2_DISCOUNTS: readonly number[] = [
  1000, 1000, 923, 884, 855, 832, 812, 796, 782, 770, 759, 749, 740, 732, 724, 717, 711, 704, 699, 693, 688, 683, 679,
  674, 670, 666, 663, 659, 655, 652, 649, 646, 643, 640, 637, 634, 632, 629, 627, 624, 622, 620, 618, 615, 613, 611,
  609, 607, 606, 604, 602, 600, 598, 597, 595, 593, 592, 590, 589, 587, 586, 584, 583, 582, 580, 579, 578, 576, 575,
  574, 573, 571, 570, 569, 568, 567, 566, 565, 563, 562, 561, 560, 559, 558, 557, 556, 555, 554, 553, 552, 552, 551,
  550, 549, 548, 547, 546, 545, 545, 544, 543, 542, 541, 541, 540, 539, 538, 537, 537, 536, 535, 535, 534, 533, 532,
  532, 531, 530, 530, 529, 528, 528, 527, 526, 526, 525, 524, 524,
]

/** Returns the gas of a multi-scalar multiplication of `count` points; `price` is that of one (EIP-2537). */
function msmGas(count: number, price: number, discounts: readonly number[]): bigint {
  if (count === 0) return 0n
  return BigInt(Math.floor((count * price * discounts[Math.min(count, discounts.length) - 1]!) / 1000))
}

/** geth's messages for the faults of a point. */
const BAD = {
  top: 'invalid field element top bytes',
  element: 'invalid fp.Element encoding',
  curve: 'invalid point: not on curve',
  g1: 'g1 point is not on correct subgroup',
  g2: 'g2 point is not on correct subgroup',
} as const satisfies Record<PointFault, string>

/** Reads a field element of 64 bytes, whose first 16 are zero; returns geth's message for a fault. */
function readElement(input: Uint8Array, offset: number, address: number): string | undefined {
  for (let i = offset; i < offset + 16; i++) if (input[i] !== 0) return BAD.top
  return field.read(input, offset + 16, address) ? undefined : BAD.element
}

/** Reads a point on the curve to G1 at `address`; two zeros are the point at infinity. It may be outside of the subgroup. */
function readG1(input: Uint8Array, offset: number, address: number): string | undefined {
  const bad = readElement(input, offset, address) ?? readElement(input, offset + 64, address + FP_SIZE)
  if (bad !== undefined) return bad
  const z = address + 2 * FP_SIZE
  if (field.isZero(address) && field.isZero(address + FP_SIZE)) {
    mcl.bytes.fill(0, z, z + FP_SIZE)
    return undefined
  }
  field.setOne(z)
  return f.mclBnG1_isValid(address) === 1 ? undefined : BAD.curve
}

/** Reads a point like {@link readG1}; each coordinate is c0 + c1·i, c0 first. */
function readG2(input: Uint8Array, offset: number, address: number): string | undefined {
  let isZero = true
  for (let i = 0; i < 4; i++) {
    const element = address + i * FP_SIZE
    const bad = readElement(input, offset + i * 64, element)
    if (bad !== undefined) return bad
    if (isZero) isZero = field.isZero(element)
  }
  const z = address + 4 * FP_SIZE
  mcl.bytes.fill(0, z, z + 2 * FP_SIZE)
  if (isZero) return undefined
  field.setOne(z)
  return f.mclBnG2_isValid(address) === 1 ? undefined : BAD.curve
}

/** Returns the 128 bytes of the point at `address`, which becomes affine. */
function writeG1(address: number): Uint8Array {
  const output = new Uint8Array(G1_LENGTH)
  if (f.mclBnG1_isZero(address) === 1) return output
  f.mclBnG1_normalize(address, address)
  field.write(address, output, 16)
  field.write(address + FP_SIZE, output, 80)
  return output
}

/** Returns the 256 bytes of the point at `address`, which becomes affine. */
function writeG2(address: number): Uint8Array {
  const output = new Uint8Array(G2_LENGTH)
  if (f.mclBnG2_isZero(address) === 1) return output
  f.mclBnG2_normalize(address, address)
  for (let i = 0; i < 4; i++) field.write(address + i * FP_SIZE, output, 16 + i * 64)
  return output
}
